// What a location does with a heartbeat when something of ours is broken.
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { createHarbour, type Harbour } from '../harbour.js';

let harbour: Harbour;
let hb: number;

/** A regular heartbeat of the crane, and what comes of it. */
async function beat(): Promise<void> {
  const { meter } = harbour.quay().connectors.get('crane/1') ?? {};
  meter?.record({ powerW: 5000, boot: 'b', hb: ++hb, status: 'Charging' }, harbour.clock.monotonicMs());
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
    const { supervisor } = harbour.quay().enforcement;
    const broken = vi.spyOn(supervisor, 'decide').mockImplementation(() => {
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

describe('enforcement that was stopped', () => {
  it('answers no heartbeat any more: the chargers belong to whoever took over', async () => {
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
