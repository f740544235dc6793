// A recorded day of two sites decides alike again from its record alone: no decision reads a clock or chance.
import { afterEach, describe, expect, it, vi } from 'vitest';
import { LocationSupervisor } from '../../machines/power/location-supervisor.js';
import { CellRun } from '../../sim/run/cell-run.js';
import { cellsOf } from '../../sim/run/cells.js';
import { parseScenario } from '../../sim/scenario/parse-scenario.js';
import { sessionsOf } from '../../sim/sessions/sessions-of.js';
import { minutesOf } from '../seeds.js';
import { type Life, MachineRecorder, replay } from './machine-record.js';

const DAY_MINUTES = 24 * 60;
const SHORTEST_MINUTES = 4 * 60;

/** Two sites on one cap: one with fuses and locks, one that the grid operator limits. Faults are heavy. */
const SCENARIO = `name: A recorded day
start: 2026-06-01T06:00:00Z
duration: 24h
provision:
  tenants:
    - tenantUuid: harbour
      name: Harbour Charging
      features: [energy-management]
      locations:
        - locationId: depot
          name: Depot
          permanentLimitKw: 40
          connection: { currentA: 63, voltageV: 230 }
          feeders: [{ name: hall, currentA: 32 }]
          chargers:
            - { controllerUuid: d1, feeder: hall, connectors: [{ connectorId: "1", phases: 3, maxCurrentA: 32 }] }
            - { controllerUuid: d2, feeder: hall, connectors: [{ connectorId: "1", phases: 1, maxCurrentA: 32, rotation: S }] }
            - { controllerUuid: d3, connectors: [{ connectorId: "1", phases: 3, maxCurrentA: 32 }] }
        - locationId: kiosk
          name: Kiosk
          permanentLimitKw: 22
          operator: { operatorUuid: grid, failsafeKw: 6, heartbeatS: 60 }
          chargers:
            - { controllerUuid: k1, connectors: [{ connectorId: "1", phases: 3, maxCurrentA: 32, failsafeA: 0 }] }
            - { controllerUuid: k2, connectors: [{ connectorId: "1", phases: 3, maxCurrentA: 16 }] }
sessions:
  generate: { perDay: 12, shape: workplace, energyKwh: [10, 40], stay: [40m, 4h] }
vehicles:
  - { name: city, share: 2, maxKw: 7.4, phases: 1 }
  - { name: van, share: 3, maxKw: 22, phases: 3, taper: none }
actions:
  - at: +5m
    call: createCluster
    body: { name: Transformer, locationIds: [depot, kiosk], limitKw: 30 }
  - at: +10m
    call: scheduleConnector
    params: { controllerUuid: d1, connectorId: "1" }
    body: { startTime: "07:00", endTime: "08:30", limitKw: 11 }
  - at: +12m
    call: scheduleConnector
    params: { controllerUuid: d3, connectorId: "1" }
    body: { startTime: "08:00", endTime: "09:15", limitKw: 14 }
  - at: +15m
    call: scheduleLocation
    params: { locationId: depot }
    body: { startTime: "07:30", endTime: "08:15", limitKw: 6, priority: 5 }
  - at: +3h
    call: setPermanentLimit
    params: { locationId: depot }
    body: { limitKw: 30 }
faults: heavy
`;

let recorder: MachineRecorder | undefined;

afterEach(() => {
  recorder?.stop();
  vi.restoreAllMocks();
});

/** Records every supervisor of the first `minutes` of the day. */
async function recordedDay(minutes: number): Promise<readonly Life[]> {
  const scenario = parseScenario(SCENARIO, 'recorded-day.yaml', { seed: 1, durationMs: minutes * 60_000 });
  recorder = new MachineRecorder();
  for (const cell of cellsOf(scenario, sessionsOf(scenario, 1))) {
    const run = await CellRun.open(cell, { isJudged: false });
    await run.advance(scenario.endsAtMs);
    await run.close();
  }
  recorder.stop();
  return recorder.lives;
}

interface Decided {
  readonly outcome: 'decided';
  readonly grants: readonly { readonly grant: { readonly epoch: number; readonly reason: string } }[];
  readonly unattainable: string | undefined;
}

function decisionsOf({ entries }: Life): readonly Decided[] {
  return entries.flatMap((entry) =>
    entry.kind === 'event' && entry.event.type === 'decision.due' ? (entry.result as Decided) : [],
  );
}

/** The differences between each life and its replay. The term is an input of the supervisor's construction. */
function differencesIn(lives: readonly Life[]) {
  return lives.flatMap((life) => {
    const [first] = decisionsOf(life).flatMap(({ grants }) => grants);
    return replay(life, first?.grant.epoch ?? 1);
  });
}

describe('A recorded day', () => {
  it('is decided alike by the machine alone: grants, alarms and the next decision', async () => {
    const lives = await recordedDay(minutesOf(DAY_MINUTES, SHORTEST_MINUTES));
    const decisions = lives.flatMap(decisionsOf);
    const reasons = new Set(decisions.flatMap(({ grants }) => grants.map(({ grant }) => grant.reason)));
    // Without these the day would show little.
    expect(lives.length).toBeGreaterThan(2);
    expect(decisions.every(({ outcome }) => outcome === 'decided')).toBe(true);
    expect(decisions.some(({ unattainable }) => unattainable !== undefined)).toBe(true);
    expect([...reasons]).toEqual(expect.arrayContaining(['lock', 'clusterShare', 'waiting']));
    expect(differencesIn(lives)).toEqual([]);
  });

  it.each([
    ['a clock', () => performance.now()],
    ['chance', () => Math.random()],
  ])('is not decided alike if a decision reads %s', async (_, read) => {
    const { decide } = LocationSupervisor.prototype;
    vi.spyOn(LocationSupervisor.prototype, 'decide').mockImplementation(function (
      this: LocationSupervisor,
      ...args
    ) {
      const decision = decide.apply(this, args);
      return { ...decision, nextAtMs: decision.nextAtMs + read() };
    });
    expect(differencesIn(await recordedDay(10))).not.toEqual([]);
  });
});
