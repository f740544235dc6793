// Time travel through a scenario of many connectors: an action at one location leaves the recordings of the others
// unchanged.
import fc from 'fast-check';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { CellRun } from '../../../sim/run/cell-run.js';
import { rehearse } from '../../../sim/run/rehearse.js';
import { runFutures, runScenario } from '../../../sim/run/run-scenario.js';
import { branched, parseBranch, parseScenario } from '../../../sim/scenario/parse-scenario.js';
import { casesOf, onlyInCi } from '../../seeds.js';

type Rehearsal = Awaited<ReturnType<typeof rehearse>>;

/** Three cells, because two of these sites have more connectors than fit into one cell. */
const scenario = parseScenario(
  `name: Three yards
seed: 5
start: 2026-06-01T12:00:00Z
duration: 6m
sites: { count: 3, chargers: 8, connectors: 7, permanentLimitKw: 150 }
sessions: { generate: { perDay: 20, shape: flat, energyKwh: [2, 10], stay: [10m, 40m] } }
vehicles: [{ name: car, share: 1, maxKw: 11, phases: 3 }]
actions:
  - { at: +1m, call: setPermanentLimit, params: { locationId: site-3 }, body: { limitKw: 90 } }
faults:
  - { kind: loss, share: 0.2, from: +2m, until: +3m }
  - { kind: reboot, every: [3m, 6m] }
`,
  'yards.yaml',
);
const { startsAtMs, endsAtMs } = scenario;
const MINUTE_MS = 60_000;
const [second, third, fourth] = [2, 3, 4].map((minutes) => startsAtMs + minutes * MINUTE_MS) as [
  number,
  number,
  number,
];
const CLUSTER = { name: 'yards', locationIds: ['site-1', 'site-2'], limitKw: 30 };
const lowered = { call: 'setPermanentLimit', params: { locationId: 'site-2' }, body: { limitKw: 40 } };

async function rehearsalOf(workers = 1): Promise<Rehearsal> {
  const rehearsal = await rehearse(scenario, { workers });
  onTestFinished(() => rehearsal.close());
  return rehearsal;
}

/** The locations of each world that begins from now on in this thread. */
function watchWorlds(): string[] {
  const begun: string[] = [];
  const open = CellRun.open.bind(CellRun);
  const spy = vi.spyOn(CellRun, 'open').mockImplementation((cell, settings) => {
    begun.push([...cell.locationIds].join());
    return open(cell, settings);
  });
  onTestFinished(() => spy.mockRestore());
  return begun;
}

describe('A rehearsal of many connectors', () => {
  it('has the hash of its run and the same states, with any number of threads', async () => {
    const { hash } = await runScenario(scenario);
    const rehearsals = await Promise.all([1, 2, 3].slice(0, casesOf(3, 2)).map(rehearsalOf));
    for (const rehearsal of rehearsals) {
      await rehearsal.travelTo(third);
      await rehearsal.travelTo(endsAtMs);
      expect(rehearsal.hash()).toBe(hash);
      expect(rehearsal.at(third)).toEqual(rehearsals[0]?.at(third));
    }
    const { locations } = rehearsals[0]?.at(third) ?? {};
    expect(locations?.map(({ locationId }) => locationId)).toEqual(['site-1', 'site-2', 'site-3']);
  });

  it('runs only the cells of an action again', async () => {
    const rehearsal = await rehearsalOf();
    await rehearsal.travelTo(endsAtMs);
    const begun = watchWorlds();
    await rehearsal.rewindTo(second);
    await rehearsal.call('PUT', '/locations/site-2/limit', { limitKw: 40 });
    expect(begun.splice(0)).toEqual(['site-2']);
    await rehearsal.travelTo(third);
    await rehearsal.inflict({ kind: 'partition', chargers: ['site-2-c1'], for: '1m' });
    await rehearsal.travelTo(endsAtMs);
    expect(begun).toEqual([]);
    expect(rehearsal.at(endsAtMs).locations.map(({ limitW }) => limitW)).toEqual([150_000, 40_000, 90_000]);
    await rehearsal.rewindTo(third);
    await rehearsal.inflict({ kind: 'serviceCrash', for: '5s' });
    expect(begun.sort()).toEqual(['site-1', 'site-2', 'site-3']);
  });

  it('shares unchanged cells with a branch, in any order of travel', async () => {
    const rehearsal = await rehearsalOf();
    await rehearsal.travelTo(second);
    const begun = watchWorlds();
    const branch = await rehearsal.branch({ actions: [{ at: '+1m', ...lowered }] });
    onTestFinished(() => branch.close());
    await Promise.all([branch, rehearsal].map((future) => future.travelTo(endsAtMs)));
    expect(begun.splice(0)).toEqual(['site-2']);
    expect(branch.at(endsAtMs).locations.map(({ limitW }) => limitW)).toEqual([150_000, 40_000, 90_000]);
    expect(rehearsal.at(endsAtMs).locations.map(({ limitW }) => limitW)).toEqual([150_000, 150_000, 90_000]);
    // An action in a cell of both futures changes only one of them.
    const hash = branch.hash();
    await rehearsal.call('PUT', '/locations/site-1/limit', { limitKw: 20 });
    await rehearsal.advance(MINUTE_MS);
    await branch.advance(MINUTE_MS);
    expect(begun).toEqual(['site-1']);
    expect(rehearsal.at(rehearsal.nowMs()).locations[0]?.powerW).toBeLessThanOrEqual(20_000);
    expect(branch.at(branch.nowMs()).locations[0]?.powerW).toBeGreaterThan(20_000);
    await branch.rewindTo(endsAtMs);
    expect(branch.hash()).toBe(hash);
  });

  it('couples the members of a cluster, and separates them before its creation', async () => {
    const rehearsal = await rehearsalOf();
    await rehearsal.travelTo(third);
    const hash = rehearsal.hash();
    const [before, beside] = rehearsal.at(third).locations;
    expect((before?.powerW ?? 0) + (beside?.powerW ?? 0)).toBeGreaterThan(30_000);
    const begun = watchWorlds();
    const { status, body } = await rehearsal.call('POST', '/clusters', CLUSTER);
    expect(status).toBe(201);
    expect(begun.splice(0)).toEqual(['site-1,site-2']);
    await rehearsal.travelTo(fourth);
    const { clusterId } = body as { readonly clusterId: string };
    expect((await rehearsal.call('GET', `/clusters/${clusterId}`)).body).toMatchObject({ limitKw: 30 });
    const [first, other] = rehearsal.at(fourth).locations;
    expect((first?.powerW ?? 0) + (other?.powerW ?? 0)).toBeLessThanOrEqual(30_000);
    expect(begun).toEqual([]);

    await rehearsal.rewindTo(third);
    expect(rehearsal.hash()).toBe(hash);
    await rehearsal.travelTo(endsAtMs);
    expect(rehearsal.hash()).toBe((await runScenario(scenario)).hash);
  });

  it('couples the locations of several clusters, and finds each of two clusters of one instant', async () => {
    const rehearsal = await rehearsalOf();
    await rehearsal.travelTo(second);
    const hash = rehearsal.hash();
    const begun = watchWorlds();
    const made = async (locationIds: readonly string[]) => {
      const { body } = await rehearsal.call('POST', '/clusters', { name: 'some', locationIds, limitKw: 60 });
      return (body as { readonly clusterId: string }).clusterId;
    };
    const membersOf = async (id: string) => (await rehearsal.call('GET', `/clusters/${id}`)).body;
    const outer = await made(['site-3', 'site-1']);
    const inner = await made(['site-2']);
    expect(begun.splice(0)).toEqual(['site-1,site-3']);
    expect(await membersOf(outer)).toMatchObject({ clusterId: outer, locationIds: ['site-3', 'site-1'] });
    expect(await membersOf(inner)).toMatchObject({ clusterId: inner, locationIds: ['site-2'] });
    await rehearsal.travelTo(third);
    const { body } = await rehearsal.call('GET', '/clusters');
    expect(body).toMatchObject({ clusters: [{ clusterId: expect.any(String) }, {}] });
    expect(begun.splice(0)).toEqual(['site-1,site-2,site-3']);
    expect(await membersOf(inner)).toMatchObject({ locationIds: ['site-2'] });
    await rehearsal.rewindTo(second + 1);
    expect(await membersOf(outer)).toMatchObject({ locationIds: ['site-3', 'site-1'] });
    expect(begun.splice(0)).toEqual(['site-1,site-3']);
    await rehearsal.rewindTo(second);
    expect(rehearsal.hash()).toBe(hash);
    expect((await rehearsal.call('GET', `/clusters/${outer}`)).status).toBe(404);
  });

  it('sends calls for unknown locations to the first location, and couples nothing', async () => {
    const rehearsal = await rehearsalOf();
    const begun = watchWorlds();
    await rehearsal.travelTo(second);
    const statuses: number[] = [];
    for (const path of ['/locations/nobody/limits', '/chargers/nobody/connectors/1/limits', '/%zz/x'])
      statuses.push((await rehearsal.call('GET', path)).status);
    expect(statuses).toEqual([404, 404, 404]);
    expect(begun).toEqual([]);
  });

  it('branches into a future with coupled locations', async () => {
    const rehearsal = await rehearsalOf();
    await rehearsal.travelTo(second);
    const added = { actions: [{ at: '+1m', call: 'createCluster', body: CLUSTER }] };
    const branch = await rehearsal.branch(added);
    onTestFinished(() => branch.close());
    expect(branch.nowMs()).toBe(second);
    await branch.travelTo(endsAtMs);
    const whole = branched(scenario, parseBranch(JSON.stringify(added), 'branch', scenario, second));
    expect(branch.hash()).toBe((await runScenario(whole)).hash);
  });

  it('can be read after it is closed, and refuses to advance', async () => {
    const rehearsal = await rehearse(scenario, { workers: 2 });
    await rehearsal.travelTo(second);
    const hash = rehearsal.hash();
    await rehearsal.close();
    await rehearsal.close();
    expect(rehearsal.hash()).toBe(hash);
    await expect(rehearsal.advance(1)).rejects.toThrow('closed');
  });
});

/** An action by hand, at a whole number of half minutes. */
interface Step {
  readonly half: number;
  readonly what: 'limit' | 'schedule' | 'partition' | 'serviceCrash' | 'cluster' | 'list';
  readonly site: number;
  /** The rehearsal followed the recording to its end and went back before this step. */
  readonly isReturned: boolean;
}

const steps = fc.array(
  fc.record<Step>({
    half: fc.integer({ min: 0, max: 11 }),
    what: fc.constantFrom(
      'limit',
      'schedule',
      'partition',
      'limit',
      'schedule',
      'serviceCrash',
      'cluster',
      'list',
    ),
    site: fc.integer({ min: 1, max: 3 }),
    isReturned: fc.boolean(),
  }),
  { minLength: 1, maxLength: 4 },
);

async function take(rehearsal: Rehearsal, { half, what, site }: Step): Promise<void> {
  const instant = startsAtMs + (half * MINUTE_MS) / 2;
  if (instant > rehearsal.nowMs()) await rehearsal.travelTo(instant);
  const window = { startTime: new Date(instant + 30_000), endTime: new Date(instant + 90_000), limitKw: 50 };
  if (what === 'limit') await rehearsal.call('PUT', `/locations/site-${site}/limit`, { limitKw: 30 + half });
  else if (what === 'schedule') await rehearsal.call('POST', `/locations/site-${site}/schedules`, window);
  else if (what === 'cluster')
    await rehearsal.call('POST', '/clusters', { ...CLUSTER, locationIds: [`site-${site}`, 'site-2'] });
  else if (what === 'list') await rehearsal.call('GET', '/clusters');
  else if (what === 'serviceCrash') await rehearsal.inflict({ kind: what, for: '5s' });
  else await rehearsal.inflict({ kind: what, chargers: [`site-${site}-c3`], for: '40s' });
}

const byTime = (all: readonly Step[]) => [...all].sort((a, b) => a.half - b.half);

/**
 * One rehearsal with `threads` does `forgotten`, goes back to the beginning and does `done`. It ends like one that did
 * only `done`.
 */
async function expectTheSame(
  forgotten: readonly Step[],
  done: readonly Step[],
  threads: number,
): Promise<void> {
  const rehearsal = await rehearse(scenario, { workers: threads });
  const straight = await rehearse(scenario);
  try {
    for (const step of byTime(forgotten)) await take(rehearsal, step);
    await rehearsal.rewindTo(startsAtMs);
    for (const step of byTime(done)) {
      const instant = startsAtMs + (step.half * MINUTE_MS) / 2;
      // Going back to the very instant of earlier steps would forget them.
      if (step.isReturned && instant > rehearsal.nowMs()) {
        await rehearsal.travelTo(endsAtMs);
        await rehearsal.rewindTo(instant);
      }
      await take(rehearsal, step);
      await take(straight, step);
    }
    await rehearsal.travelTo(endsAtMs);
    await straight.travelTo(endsAtMs);
    expect(rehearsal.hash()).toBe(straight.hash());
    expect(rehearsal.summary()).toEqual(straight.summary());
  } finally {
    await rehearsal.close();
    await straight.close();
  }
}

describe('Actions that are forgotten and repeated', () => {
  it('give the timeline of a direct run', async () => {
    await fc.assert(
      fc.asyncProperty(steps, steps, (forgotten, done) => expectTheSame(forgotten, done, 1)),
      { numRuns: casesOf(4) },
    );
  });

  it.each([2, 3])('give the timeline of a direct run with %i threads', onlyInCi(), async (threads) => {
    const isReturned = true;
    const done: readonly Step[] = [
      { half: 2, what: 'limit', site: 2, isReturned },
      { half: 5, what: 'partition', site: 3, isReturned },
      { half: 6, what: 'cluster', site: 1, isReturned: false },
      { half: 7, what: 'schedule', site: 2, isReturned: false },
    ];
    await expectTheSame([{ half: 3, what: 'serviceCrash', site: 1, isReturned }], done, threads);
  });
});

describe('Two futures that run together', () => {
  it('equal separate runs, and run their common cells once', async () => {
    const text = JSON.stringify({ actions: [{ at: '+1m', ...lowered }] });
    const otherwise = branched(scenario, parseBranch(text, 'branch', scenario, second));
    const begun = watchWorlds();
    const together = await runFutures([{ scenario }, { scenario: otherwise }]);
    expect(begun.splice(0).sort()).toEqual(['site-1', 'site-2', 'site-2', 'site-3']);
    const alone = [await runScenario(scenario), await runScenario(otherwise)];
    expect(together.map(({ hash, counts, violations }) => ({ hash, counts, violations }))).toEqual(
      alone.map(({ hash, counts, violations }) => ({ hash, counts, violations })),
    );
    expect(together[0]?.hash).not.toBe(together[1]?.hash);
  });
});
