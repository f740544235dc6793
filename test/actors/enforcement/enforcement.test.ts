// A location's decisions while a decision fails, at the end of a window, and after another node took over.
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { supervisorOf } from '../../../src/actors/directory.js';
import { CRANE, createHarbour, HARBOUR, type Harbour, QUAY, ROWS } from '../harbour.js';

let harbour: Harbour;
let hb: number;

/** Records one regular heartbeat of the crane and lets its effects happen. */
async function beat(): Promise<void> {
  const reading = { powerW: 5000, boot: 'b', hb: ++hb, status: 'Charging' } as const;
  harbour.meterOf(QUAY, CRANE).record(reading, harbour.clock.monotonicMs());
  harbour.clock.advance(5_000);
  await new Promise(setImmediate);
  harbour.clock.advance(5_000);
}

beforeEach(() => {
  harbour = createHarbour();
  hb = 0;
});

describe('a location whose decisions fail', () => {
  it('renews nobody either, so that its chargers fall back, and goes on once they succeed', async () => {
    const { grants } = harbour;
    harbour.enforcement.start();
    for (let i = 0; i < 2; i++) await beat();
    expect(grants.length).toBeGreaterThanOrEqual(2);
    const broken = vi.spyOn(supervisorOf(harbour.quay()), 'decide').mockImplementation(() => {
      throw new Error('a defect');
    });
    harbour.enforcement.decideSoon(harbour.quay());
    harbour.clock.advance(200);
    expect(broken).toHaveBeenCalled();
    const before = grants.length;
    for (let i = 0; i < 3; i++) await beat();
    expect(grants).toHaveLength(before);
    broken.mockRestore();
    for (let i = 0; i < 2; i++) await beat();
    expect(grants.length).toBeGreaterThan(before);
  });
});

describe('a decision that cannot be carried out', () => {
  it('is a defect of its location, and the next decision is carried out', async () => {
    const { clock, directory, grants, defects, enforcement, quay } = harbour;
    const defect = new Error('a defect');
    enforcement.start();
    for (let i = 0; i < 2; i++) await beat();
    const broken = vi.spyOn(grants, 'push').mockImplementation(() => {
      throw defect;
    });
    directory.sendToLocation(quay(), { type: 'permanentLimit.set', limitKw: 5, now: clock.nowMs() });
    clock.advance(200);
    broken.mockRestore();
    expect(defects).toEqual([defect]);
    const before = grants.length;
    for (let i = 0; i < 2; i++) await beat();
    expect(grants.length).toBeGreaterThan(before);
  });
});

describe('a decision at the instant at which a window ends', () => {
  it('is made under the limit of after it, however late the timer that ends the window', async () => {
    const [pier, quay] = ROWS.locations;
    if (pier === undefined || quay === undefined) throw new Error('there are two locations');
    harbour = createHarbour({
      ...ROWS,
      locations: [pier, { ...quay, permanentLimitKw: 5 }],
      clusters: [],
      profiles: ROWS.profiles.filter(({ target }) => target.kind === 'location'),
    });
    const { clock, grants, enforcement } = harbour;
    enforcement.start();
    for (let i = 0; i < 5; i++) await beat();
    // The scheduler has not read its clock yet, as if another timer of the same instant fired first.
    clock.jump((ROWS.profiles[0]?.endsAtMs ?? 0) - clock.nowMs());
    enforcement.decideSoon(harbour.quay());
    clock.advance(200);
    await new Promise(setImmediate);
    await beat();
    const allowed = grants.map(({ limitTenthsA }) => limitTenthsA * 3 * 23);
    expect(Math.max(...allowed)).toBeGreaterThan(0);
    expect(Math.max(...allowed)).toBeLessThanOrEqual(5_000);
  });
});

describe('enforcement that was stopped', () => {
  it('answers no heartbeat any more: the chargers belong to the new owner', async () => {
    const { grants, enforcement } = harbour;
    enforcement.start();
    for (let i = 0; i < 2; i++) await beat();
    const before = grants.length;
    expect(before).toBeGreaterThanOrEqual(2);
    enforcement.stop();
    for (let i = 0; i < 2; i++) await beat();
    expect(grants).toHaveLength(before);
  });
});

describe('the alarm of a charger that is not there', () => {
  const kinds = () => [...harbour.quay().alarms.values()].map(({ kind }) => kind);

  function look(): void {
    harbour.clock.advance(30_000);
    harbour.enforcement.missSilent(harbour.quay(), harbour.clock.monotonicMs());
  }

  it('ends where its connector, or its location, is set INACTIVE, and begins again where it is ACTIVE', () => {
    const become = (changed: (typeof ROWS.locations)[number]) =>
      harbour.recovery.reconcile(
        HARBOUR,
        { ...ROWS, locations: [changed, ...ROWS.locations.slice(0, 1)] },
        harbour.clock.nowMs(),
      );
    const { record } = harbour.quay();
    look();
    expect(kinds()).toEqual(['OFFLINE']);
    become({ ...record, status: 'INACTIVE' });
    look();
    expect(kinds()).toEqual([]);
    become(record);
    look();
    expect(kinds()).toEqual(['OFFLINE']);
    become({
      ...record,
      connectors: record.connectors.map((each) => ({ ...each, status: 'INACTIVE' as const })),
    });
    look();
    expect(kinds()).toEqual([]);
  });
});
