// A scenario runs in independent cells. The division changes neither a location nor the merged events.
import { describe, expect, it } from 'vitest';
import type { TraceEvent } from '../../../sim/log/trace-event.js';
import { CellRun } from '../../../sim/run/cell-run.js';
import { type Cell, cellsOf, undivided } from '../../../sim/run/cells.js';
import { MergedEvents } from '../../../sim/run/merged-events.js';
import { runScenario } from '../../../sim/run/run-scenario.js';
import { parseScenario } from '../../../sim/scenario/parse-scenario.js';
import type { Scenario } from '../../../sim/scenario/scenario.js';
import { sessionsOf } from '../../../sim/sessions/sessions-of.js';
import { casesOf } from '../../seeds.js';

const SITES = `
name: Three yards
seed: 3
start: 2026-06-01T12:00:00Z
duration: 10m
sites: { count: 3, chargers: 8, connectors: 7, permanentLimitKw: 150 }
sessions: { generate: { perDay: 20, shape: flat, energyKwh: [2, 10], stay: [10m, 40m] } }
vehicles: [{ name: car, share: 1, maxKw: 11, phases: 3 }]
`;
const CALLS = `actions:
  - { at: +3m, call: scheduleLocation, params: { locationId: site-2 }, body: { startTime: +5m, endTime: +9m, limitKw: 60, priority: 3 } }
  - { at: +3m, call: setPermanentLimit, params: { locationId: site-3 }, body: { limitKw: 90 } }
`;
const FAULTS = `faults:
  - { kind: loss, share: 0.2, from: +3m, until: +7m }
  - { kind: partition, for: [20s, 90s], every: [3m, 6m] }
  - { kind: reboot, every: [3m, 6m] }
  - { kind: serviceCrash, for: 10s, from: +6m }
  - { kind: databaseBusy, for: 10s, from: +7m }
`;
const CLUSTER = `actions:
  - { at: +2m, call: createCluster, body: { name: two, locationIds: [site-3, site-1], limitKw: 90 }, as: two }
  - { at: +4m, call: scheduleCluster, params: { clusterId: $two.clusterId }, body: { startTime: +5m, endTime: +9m, limitKw: 40, priority: 3 } }
  - { at: +4m, call: setPermanentLimit, params: { locationId: site-2 }, body: { limitKw: 90 } }
`;

function scenarioOf(more: string): Scenario {
  return parseScenario(SITES + more, 'yards.yaml');
}

function cells(scenario: Scenario): readonly Cell[] {
  return cellsOf(scenario, sessionsOf(scenario, scenario.seed));
}

async function eventsOf(cell: Cell): Promise<readonly TraceEvent[]> {
  const run = await CellRun.open(cell);
  try {
    const { events } = await run.advance(cell.scenario.endsAtMs);
    expect(run.end().violations).toEqual([]);
    return events;
  } finally {
    await run.close();
  }
}

describe('The division of a scenario', () => {
  it('groups neighbouring locations up to a hundred connectors, with their own calls, faults and visits', () => {
    const scenario = scenarioOf(CALLS + FAULTS);
    const [first, second, third, ...others] = cells(scenario);
    expect(others).toEqual([]);
    expect([first, second, third].map((cell) => cell?.scenario.connectors.length)).toEqual([56, 56, 56]);
    expect(first?.scenario.actions).toEqual([]);
    expect(second?.scenario.actions.map(({ operationId }) => operationId)).toEqual(['scheduleLocation']);
    expect(third?.scenario.actions.map(({ operationId }) => operationId)).toEqual(['setPermanentLimit']);
    const visits = sessionsOf(scenario, scenario.seed);
    expect([first, second, third].reduce((sum, cell) => sum + (cell?.visits.length ?? 0), 0)).toBe(
      visits.length,
    );
    for (const cell of [first, second, third])
      for (const { chargers } of cell?.scenario.faults ?? [])
        for (const { locationId } of chargers)
          expect(cell?.scenario.connectors.map((connector) => connector.locationId)).toContain(locationId);
  });

  it('keeps the locations of one grid line together, with the line', () => {
    const scenario = scenarioOf('grid: [{ name: street, locations: [site-1, site-3], resistanceOhm: 0.1 }]');
    const divided = cells(scenario).map((cell) => cell.scenario);
    expect(divided.map(({ grid }) => grid.map(({ name }) => name))).toEqual([['street'], []]);
    expect(
      divided.map(({ connectors }) => [...new Set(connectors.map(({ locationId }) => locationId))]),
    ).toEqual([['site-1', 'site-3'], ['site-2']]);
  });

  it('keeps cluster members together, and all locations of a tenant for calls that concern the tenant', () => {
    const of = (more: string) =>
      cells(scenarioOf(`actions:\n${more}`)).map(({ locationIds }) => [...locationIds]);
    const create =
      '  - { at: +5m, call: createCluster, body: { name: all, locationIds: [site-1, site-3] }, as: both }\n';
    const apart = [['site-1', 'site-3'], ['site-2']];
    expect(of(create)).toEqual(apart);
    expect(
      of(`${create}  - { at: +6m, call: getCluster, params: { clusterId: $both.clusterId } }\n`),
    ).toEqual(apart);
    const grown =
      'call: updateCluster, params: { clusterId: $both.clusterId }, body: { locationIds: [site-2] }';
    expect(of(`${create}  - { at: +6m, ${grown} }\n`)).toEqual([['site-1', 'site-2', 'site-3']]);
    expect(of('  - { at: +6m, call: listClusters }\n')).toEqual([['site-1', 'site-2', 'site-3']]);
    const unknown = 'call: getLocationLimits, params: { locationId: nobody }, status: 404';
    expect(of(`  - { at: +6m, ${unknown} }\n`)).toEqual([['site-1'], ['site-2'], ['site-3']]);
  });

  it('gives each cell the calls of its clusters, with the same hash on any number of threads', async () => {
    const scenario = scenarioOf(CLUSTER + FAULTS);
    const divided = cells(scenario);
    expect(divided.map((cell) => cell.scenario.actions.map(({ operationId }) => operationId))).toEqual([
      ['createCluster', 'scheduleCluster'],
      ['setPermanentLimit'],
    ]);
    const threads = [1, 2, 3].slice(0, casesOf(3, 2));
    const runs = await Promise.all(threads.map((workers) => runScenario(scenario, { workers })));
    expect(new Set(runs.map(({ hash }) => hash)).size).toBe(1);
    expect(runs[0]).toMatchObject({ failures: [], violations: [] });
  });

  it('changes no event of a location, with any faults, crashes and calls', async () => {
    const scenario = scenarioOf(CALLS + FAULTS);
    const whole = await eventsOf(undivided(scenario, sessionsOf(scenario, scenario.seed)));
    expect(whole.some((event) => event.kind === 'fault' && event.fault === 'serviceCrash')).toBe(true);
    for (const [i, cell] of cells(scenario).entries()) {
      const locationId = `site-${i + 1}`;
      const own = (events: readonly TraceEvent[]) =>
        events.filter((event) => 'locationId' in event && event.locationId === locationId);
      const divided = own(await eventsOf(cell));
      expect(divided.length).toBeGreaterThan(1_000);
      expect(divided).toEqual(own(whole));
    }
  });
});

describe('The merged events of cells', () => {
  it('are ordered by instant, cell and occurrence, and wait until no cell can add to them', () => {
    const told: string[] = [];
    const merged = new MergedEvents(2, (event) =>
      told.push(`${event.atMs} ${'name' in event ? event.name : ''}`),
    );
    const events = (...all: (readonly [number, string])[]): TraceEvent[] =>
      all.map(([atMs, name]) => ({ atMs, kind: 'action', name, status: 200 }));
    merged.add(1, events([1, 'd'], [2, 'e'], [5, 'f']));
    merged.add(0, events([2, 'b'], [2, 'a']));
    merged.emitBefore(5);
    expect(told.splice(0)).toEqual(['1 d', '2 b', '2 a', '2 e']);
    merged.add(0, events([5, 'g']));
    merged.emitBefore(6);
    expect(told).toEqual(['5 g', '5 f']);
    expect(() => merged.add(2, [])).toThrow(RangeError);
  });
});
