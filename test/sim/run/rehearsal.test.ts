// Time travel through a scenario: past states can be viewed, and entered again unchanged.
import { describe, expect, it, onTestFinished } from 'vitest';
import { CellRun } from '../../../sim/run/cell-run.js';
import { undivided } from '../../../sim/run/cells.js';
import { rehearse } from '../../../sim/run/rehearse.js';
import { runScenario } from '../../../sim/run/run-scenario.js';
import { parseScenario } from '../../../sim/scenario/parse-scenario.js';
import type { Scenario } from '../../../sim/scenario/scenario.js';

const MINUTE_MS = 60_000;

/** Two cars with unlimited demand on 20 kW; the site loses 10 kW for ten minutes. */
function depot(faults = 'none', duration = '2h'): Scenario {
  return parseScenario(
    `name: Depot
start: 2026-06-01T08:00:00Z
duration: ${duration}
sites: { count: 1, chargers: 2, connectors: 1, permanentLimitKw: 20 }
sessions:
  visits:
    - { connector: site-1-c1/1, arrives: "08:01", energyKwh: 100 }
    - { connector: site-1-c2/1, arrives: "08:02", energyKwh: 100 }
actions:
  - at: "08:05"
    call: scheduleLocation
    params: { locationId: site-1 }
    body: { startTime: "08:30", endTime: "08:40", limitKw: 10, priority: 4 }
faults: ${faults}
`,
    'depot.yaml',
  );
}

async function rehearsalOf(subject: Parameters<typeof rehearse>[0]) {
  const rehearsal = await rehearse(subject);
  onTestFinished(() => rehearsal.close());
  return rehearsal;
}

const at = (time: string) => Date.parse(`2026-06-01T${time}Z`);
const lowered = {
  limitKw: 8,
  priority: 9,
  startTime: '2026-06-01T08:10:00Z',
  endTime: '2026-06-01T09:30:00Z',
};

describe('A rehearsal', () => {
  it('has no more pending events with two weeks of faults than with two hours', async () => {
    async function waiting(duration: string): Promise<number> {
      const run = await CellRun.open(undivided(depot('heavy', duration), []));
      onTestFinished(() => run.close());
      return run.waiting;
    }
    expect(await waiting('14d')).toBe(await waiting('2h'));
  });

  it('executes the calls and faults of its scenario as a run does, instant by instant', async () => {
    const scenario = { ...depot('light'), endsAtMs: at('08:35:00') };
    const rehearsal = await rehearsalOf(scenario);
    await rehearsal.travelTo(at('08:29:59.999'));
    expect(rehearsal.at(at('08:29:59.999')).locations).toMatchObject([{ limitW: 20_000 }]);
    await rehearsal.advance(1);
    expect(rehearsal.nowMs()).toBe(at('08:30:00'));
    expect(rehearsal.at(at('08:30:00')).locations).toMatchObject([{ locationId: 'site-1' }]);
    await rehearsal.travelTo(at('08:35:00'));
    expect(rehearsal.at(at('08:35:00')).locations).toMatchObject([{ limitW: 10_000 }]);
    expect(rehearsal.hash()).toBe((await runScenario(scenario)).hash);
  });

  it('repeats earlier actions after it goes back, and forgets later ones', async () => {
    const rehearsal = await rehearsalOf(depot('heavy'));
    await rehearsal.travelTo(at('08:04:00'));
    const { status } = await rehearsal.call('PUT', '/locations/site-1/limit', { limitKw: 16 });
    expect(status).toBe(200);
    await rehearsal.travelTo(at('08:06:00'));
    await rehearsal.inflict({ kind: 'serviceCrash', for: '5s' });
    await rehearsal.travelTo(at('08:12:00'));
    const then = rehearsal.at(at('08:12:00'));
    const hash = rehearsal.hash();
    await rehearsal.call('POST', '/locations/site-1/schedules', lowered);
    await rehearsal.travelTo(at('08:20:00'));
    expect(rehearsal.at(at('08:20:00')).locations).toMatchObject([{ limitW: 8_000 }]);

    await rehearsal.rewindTo(at('08:12:00'));
    expect(rehearsal.nowMs()).toBe(at('08:12:00'));
    expect(rehearsal.hash()).toBe(hash);
    expect(rehearsal.at(at('08:12:00'))).toEqual(then);
    await rehearsal.travelTo(at('08:20:00'));
    expect(rehearsal.at(at('08:20:00')).locations).toMatchObject([{ limitW: 16_000 }]);
    const { body } = await rehearsal.call('GET', '/locations/site-1/limits');
    expect(body).toMatchObject({ permanentLimitKw: 16, profiles: [{ limitKw: 10, status: 'SCHEDULED' }] });
  });

  it('runs both alternatives from one instant', async () => {
    const rehearsal = await rehearsalOf(depot());
    const until = at('08:20:00');
    await rehearsal.travelTo(at('08:10:00'));
    await rehearsal.travelTo(until);
    const without = rehearsal.at(until).locations[0]?.powerW ?? 0;
    await rehearsal.rewindTo(at('08:10:00'));
    await rehearsal.call('POST', '/locations/site-1/schedules', lowered);
    await rehearsal.travelTo(until);
    const lower = rehearsal.at(until).locations[0]?.powerW ?? 0;
    expect(without).toBeGreaterThan(15_000);
    expect(lower).toBeLessThanOrEqual(8_000);
    expect(rehearsal.violations()).toEqual([]);
  });

  it('keeps the state of every instant, of one connector on request', async () => {
    const rehearsal = await rehearsalOf(depot());
    const seen = new Map<number, unknown>();
    for (let minute = 1; minute <= 12; minute++) {
      await rehearsal.advance(MINUTE_MS);
      seen.set(rehearsal.nowMs(), rehearsal.at(rehearsal.nowMs()));
    }
    for (const [instant, state] of seen) expect(rehearsal.at(instant)).toEqual(state);
    const alone = rehearsal.at(at('08:10:00'), { controllerUuid: 'site-1-c2', connectorId: '1' });
    expect(alone.locations.flatMap(({ connectors }) => connectors)).toMatchObject([
      { controllerUuid: 'site-1-c2', status: 'Charging' },
    ]);
  });

  it('refuses an instant that it has not reached or has passed', async () => {
    const rehearsal = await rehearsalOf(depot());
    await rehearsal.advance(MINUTE_MS);
    expect(() => rehearsal.at(at('08:02:00'))).toThrow('2026-06-01T08:02:00.000Z is outside the run so far');
    expect(() => rehearsal.at(at('07:59:00'))).toThrow(RangeError);
    await expect(rehearsal.rewindTo(at('08:02:00'))).rejects.toThrow(RangeError);
    await expect(rehearsal.travelTo(at('08:00:30'))).rejects.toThrow('rewindTo goes back');
  });

  it('repeats its recorded events to the same hash, and then continues', async () => {
    const rehearsal = await rehearsalOf(depot('heavy'));
    const hashes = new Map<number, string>();
    const instants = ['08:03:00', '08:07:30.123', '08:12:00', '08:20:00'].map(at);
    for (const instant of instants) {
      await rehearsal.travelTo(instant);
      hashes.set(instant, rehearsal.hash());
    }
    await rehearsal.rewindTo(at('08:03:00'));
    expect(rehearsal.nowMs()).toBe(at('08:03:00'));
    for (const instant of instants) {
      await rehearsal.travelTo(instant);
      expect(rehearsal.hash()).toBe(hashes.get(instant));
    }
    await rehearsal.travelTo(at('08:31:00'));
    const straight = await rehearsalOf(depot('heavy'));
    await straight.travelTo(at('08:31:00'));
    expect(rehearsal.hash()).toBe(straight.hash());
  });

  it('runs a world to the instant of an action, with the future of a direct run', async () => {
    const rehearsal = await rehearsalOf(depot('heavy'));
    await rehearsal.travelTo(at('08:20:00'));
    await rehearsal.rewindTo(at('08:10:00'));
    await rehearsal.call('POST', '/locations/site-1/schedules', lowered);
    await rehearsal.travelTo(at('08:25:00'));
    const straight = await rehearsalOf(depot('heavy'));
    await straight.travelTo(at('08:10:00'));
    await straight.call('POST', '/locations/site-1/schedules', lowered);
    await straight.travelTo(at('08:25:00'));
    expect(rehearsal.hash()).toBe(straight.hash());
    expect(rehearsal.summary()).toEqual(straight.summary());
  });

  it('refuses an action if the past cannot be repeated, and stays at its instant', async () => {
    let worlds = 0;
    const scenario = depot();
    // Each world has another meter period. The seed does not determine this period, so the past cannot repeat.
    const rehearsal = await rehearsalOf({
      ...scenario,
      get meterPeriodMs() {
        return 10_000 + 1_000 * worlds++;
      },
    });
    await rehearsal.advance(10 * MINUTE_MS);
    await rehearsal.rewindTo(at('08:05:00'));
    const hash = rehearsal.hash();
    await expect(rehearsal.call('PUT', '/locations/site-1/limit', { limitKw: 16 })).rejects.toThrow(
      /The past cannot be repeated: it differs at 2026-06-01T08:0\d/,
    );
    expect(rehearsal.nowMs()).toBe(at('08:05:00'));
    expect(rehearsal.hash()).toBe(hash);
  });

  it('branches into two independent futures from one instant', async () => {
    const rehearsal = await rehearsalOf(depot('heavy'));
    await rehearsal.travelTo(at('08:04:00'));
    await rehearsal.call('PUT', '/locations/site-1/limit', { limitKw: 16 });
    await rehearsal.travelTo(at('08:10:00'));
    const lowering = { call: 'scheduleLocation', params: { locationId: 'site-1' } };
    const branch = await rehearsal.branch({
      actions: [
        { at: '+1m', ...lowering, body: { startTime: '+2m', endTime: '+1h', limitKw: 8, priority: 9 } },
      ],
      faults: [{ kind: 'serviceCrash', for: '5s', from: '+5m' }],
    });
    onTestFinished(() => branch.close());
    expect([branch.nowMs(), branch.hash()]).toEqual([at('08:10:00'), rehearsal.hash()]);
    expect(branch.at(at('08:06:00'))).toEqual(rehearsal.at(at('08:06:00')));

    await Promise.all([rehearsal, branch].map((future) => future.travelTo(at('08:25:00'))));
    const limitsW = [rehearsal, branch].map((future) => future.at(at('08:20:00')).locations[0]?.limitW);
    expect(limitsW).toEqual([16_000, 8_000]);
    const energyWh = [rehearsal, branch].map((future) => future.summary().locations[0]?.energyWh ?? 0);
    expect(energyWh[1]).toBeLessThan(energyWh[0] ?? 0);
    expect([...rehearsal.violations(), ...branch.violations()]).toEqual([]);

    const undisturbed = await rehearsalOf(depot('heavy'));
    await undisturbed.travelTo(at('08:04:00'));
    await undisturbed.call('PUT', '/locations/site-1/limit', { limitKw: 16 });
    await undisturbed.travelTo(at('08:25:00'));
    expect(rehearsal.hash()).toBe(undisturbed.hash());
    // The branch is back before the fork, and its own actions are still ahead.
    const hash = branch.hash();
    await branch.rewindTo(at('08:06:00'));
    await branch.travelTo(at('08:25:00'));
    expect(branch.hash()).toBe(hash);
  });

  it('reports the errors of a fault, and applies nothing of it', async () => {
    const rehearsal = await rehearsalOf(depot());
    await rehearsal.travelTo(at('08:04:00'));
    const hash = rehearsal.hash();
    await expect(rehearsal.inflict({ kind: 'loss', share: 2 })).rejects.toThrow(
      /faults\[0\]\.share: is 2; must be a number from 0 to 1/,
    );
    await expect(rehearsal.inflict({ kind: 'reboot', chargers: ['site-1-c9'] })).rejects.toThrow(
      /chargers\[0\]: is "site-1-c9", which this scenario does not have/,
    );
    await expect(rehearsal.inflict({ kind: 'clockDrift', share: 0.01 })).rejects.toThrow(
      'it must stand in the scenario',
    );
    expect(rehearsal.hash()).toBe(hash);
  });

  it('applies charger faults from now on, for their duration', async () => {
    const rehearsal = await rehearsalOf(depot());
    await rehearsal.travelTo(at('08:10:00'));
    await rehearsal.inflict({ kind: 'partition', chargers: ['site-1-c2'], for: '2m' });
    await rehearsal.inflict({ kind: 'loss', share: 1, chargers: ['site-1-c1'], until: '+3m' });
    await rehearsal.travelTo(at('08:11:00'));
    const faults = (instant: number) =>
      rehearsal.at(instant).faults.map(({ fault, target }) => [fault, target]);
    expect(faults(at('08:11:00'))).toEqual([
      ['partition', 'site-1-c2'],
      ['loss', 'site-1-c1'],
    ]);
    await rehearsal.travelTo(at('08:14:00'));
    expect(faults(at('08:12:30'))).toEqual([['loss', 'site-1-c1']]);
    expect(faults(at('08:14:00'))).toEqual([]);
  });
});
