// Prewarmed worlds of a rehearsal: an action after going back begins at the nearest one, and has the same future as
// without.
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { OpenCell } from '../../../sim/run/cell-hosts.js';
import { CellRun, type Deed } from '../../../sim/run/cell-run.js';
import { undivided } from '../../../sim/run/cells.js';
import { PrewarmedWorlds } from '../../../sim/run/prewarmed-worlds.js';
import type { DoneByHand } from '../../../sim/run/recorded-run.js';
import { rehearse } from '../../../sim/run/rehearse.js';
import { parseScenario } from '../../../sim/scenario/parse-scenario.js';

/** Two cars on a site with occasional losses of chargers, messages and the service. */
const scenario = parseScenario(
  `name: Depot
start: 2026-06-01T08:00:00Z
duration: 40m
sites: { count: 1, chargers: 2, connectors: 1, permanentLimitKw: 20 }
sessions:
  visits:
    - { connector: site-1-c1/1, arrives: "08:01", energyKwh: 100 }
    - { connector: site-1-c2/1, arrives: "08:02", energyKwh: 100 }
faults: heavy
`,
  'depot.yaml',
);
const { startsAtMs, endsAtMs } = scenario;
const at = (time: string) => Date.parse(`2026-06-01T${time}:00Z`);
const LIMIT = '/locations/site-1/limit';

async function rehearsalOf(spares: number) {
  const rehearsal = await rehearse(scenario, { spares });
  onTestFinished(() => rehearsal.close());
  return rehearsal;
}

/** Number of worlds that begin in this thread from now on. Prewarmed worlds run in another thread. */
function watchWorlds(): () => number {
  const spy = vi.spyOn(CellRun, 'open');
  onTestFinished(() => spy.mockRestore());
  return () => spy.mock.calls.length;
}

describe('A rehearsal with prewarmed worlds', () => {
  it('starts no world after it goes back, and has the future of a direct run', async () => {
    const rehearsal = await rehearsalOf(4);
    await rehearsal.travelTo(endsAtMs);
    await rehearsal.ready();
    const begun = watchWorlds();
    await rehearsal.rewindTo(at('08:25'));
    await rehearsal.call('PUT', LIMIT, { limitKw: 9 });
    await rehearsal.travelTo(endsAtMs);
    expect(begun()).toBe(0);

    const straight = await rehearsalOf(0);
    await straight.travelTo(at('08:25'));
    await straight.call('PUT', LIMIT, { limitKw: 9 });
    await straight.travelTo(endsAtMs);
    expect(rehearsal.hash()).toBe(straight.hash());
    expect(begun()).toBe(1);
  });

  it('repeats actions in its prewarmed worlds in advance, and discards forgotten actions', async () => {
    const rehearsal = await rehearsalOf(4);
    await rehearsal.travelTo(at('08:07'));
    await rehearsal.call('PUT', LIMIT, { limitKw: 15 });
    await rehearsal.travelTo(at('08:20'));
    await rehearsal.inflict({ kind: 'serviceCrash', for: '5s' });
    await rehearsal.travelTo(endsAtMs);
    const hash = rehearsal.hash();
    await rehearsal.ready();
    const begun = watchWorlds();
    for (const instant of ['08:33', '08:12'].map(at)) {
      await rehearsal.rewindTo(instant);
      await rehearsal.call('PUT', LIMIT, { limitKw: 9 });
      await rehearsal.advance(60_000);
      await rehearsal.ready();
    }
    await rehearsal.rewindTo(at('08:12'));
    await rehearsal.travelTo(at('08:20'));
    await rehearsal.inflict({ kind: 'serviceCrash', for: '5s' });
    await rehearsal.travelTo(endsAtMs);
    expect(rehearsal.hash()).toBe(hash);

    await rehearsal.rewindTo(at('08:07'));
    await rehearsal.travelTo(endsAtMs);
    expect(begun()).toBe(0);
    const untouched = await rehearsalOf(0);
    await untouched.travelTo(endsAtMs);
    expect(rehearsal.hash()).toBe(untouched.hash());
  });
});

describe('Prewarmed worlds', () => {
  const cell = undivided(scenario, []);
  const raise: Deed = { kind: 'faults', plan: [] };

  /** Worlds without events; `told` holds the calls to each. */
  function countWorlds(onAdvance: () => void = () => {}) {
    const [open, told]: [Set<OpenCell>, string[][]] = [new Set(), []];
    const news = { events: [], violations: 0 };
    const begin = async () => {
      const asked: string[] = [];
      told.push(asked);
      const world: OpenCell = {
        begun: news,
        advance: async (instant) => {
          onAdvance();
          asked.push(new Date(instant).toISOString().slice(11, 16));
          return news;
        },
        do: async () => {
          asked.push('deed');
          return { ...news, answer: undefined };
        },
        end: () => Promise.reject(new Error('nobody asks a spare world how it went')),
        close: async () => void open.delete(world),
      };
      open.add(world);
      return world;
    };
    return { begin, open, told };
  }

  const doneAt = (instant: number, nth: number): DoneByHand => ({
    at: { atMs: instant, events: 0 },
    nth,
    deed: { ...raise },
  });

  it('wait at even intervals up to now, one at each place, after any actions and uses', async () => {
    const { begin, open, told } = countWorlds();
    const spares = new PrewarmedWorlds(cell, begin, 4);
    spares.follow(cell, [], at('08:25'));
    await spares.ready();
    expect(told.map((asked) => asked.at(-1))).toEqual([undefined, '08:10', '08:20']);
    for (let nth = 0; nth < 5; nth++) {
      const done = [doneAt(at('08:05'), nth)];
      spares.follow(cell, done, endsAtMs);
      await spares.ready();
      expect(open.size).toBe(4);
      expect(told.at(-1)).toEqual(['08:05', 'deed', '08:10', '08:20', '08:30']);
      await spares.take(cell, done, endsAtMs)?.world.close();
    }
    await spares.close();
    expect(open.size).toBe(0);
  });

  it('are used if they have no other actions, at the requested instant or earlier', async () => {
    const { begin } = countWorlds();
    const spares = new PrewarmedWorlds(cell, begin, 4);
    const [done, other] = [doneAt(at('08:15'), 0), doneAt(at('08:15'), 0)];
    spares.follow(cell, [done], endsAtMs);
    await spares.ready();
    const takenAt = (deeds: DoneByHand[], time: string) => spares.take(cell, deeds, at(time))?.end.atMs;
    expect(spares.take(undivided(scenario, []), [done], endsAtMs)).toBeUndefined();
    expect(takenAt([other], '08:40')).toBe(at('08:10'));
    expect(takenAt([], '08:40')).toBe(startsAtMs);
    expect(takenAt([], '08:40')).toBeUndefined();
    expect(takenAt([done], '08:30')).toBe(at('08:30'));
    expect(takenAt([done], '08:30')).toBe(at('08:20'));
    await spares.close();
  });

  it('are given up if one cannot reach its place', async () => {
    const { begin, open, told } = countWorlds(() => {
      throw new Error('the thread ended');
    });
    const spares = new PrewarmedWorlds(cell, begin, 2);
    spares.follow(cell, [], endsAtMs);
    await spares.ready();
    expect(told).toHaveLength(2);
    expect(spares.take(cell, [], endsAtMs)?.end.atMs).toBe(startsAtMs);
    spares.follow(cell, [], endsAtMs);
    await spares.close();
    expect([told.length, open.size]).toEqual([2, 1]);
  });

  it('advance no further after they are closed', async () => {
    const closed: Promise<void>[] = [];
    const { begin, open, told } = countWorlds(() => closed.push(spares.close()));
    const spares = new PrewarmedWorlds(cell, begin, 2);
    spares.follow(cell, [], endsAtMs);
    await spares.ready();
    await Promise.all(closed);
    expect(told).toEqual([[], ['08:10']]);
    expect(open.size).toBe(0);
  });
});
