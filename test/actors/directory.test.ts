// A command can arrive after a boundary falls due and before its timer fires. The boundary still takes effect.
import { beforeEach, describe, expect, it } from 'vitest';
import { createHarbour, type Harbour } from './harbour.js';

const LOCK_ENDS_IN_MS = 30_000;
const LIMIT_ENDS_IN_MS = 60_000;

let harbour: Harbour;
beforeEach(() => {
  harbour = createHarbour();
});

function submission(now: number) {
  const profile = { priority: 0, limitKw: 7, startsAtMs: now + 1_000_000, endsAtMs: now + 2_000_000 };
  return { type: 'profile.submitted', profile, now } as const;
}

describe('an event for a location whose boundary is due, but not processed yet', () => {
  it.each([
    ['a profile of the location', (now: number) => submission(now)],
    ['a permanent limit', (now: number) => ({ type: 'permanentLimit.set', limitKw: 45, now }) as const],
  ])('still lets a connector be unlocked at the end of its window (section 3.1): %s', (_, eventAt) => {
    const { clock, directory, effects, quay } = harbour;
    clock.jump(LOCK_ENDS_IN_MS);
    directory.sendToLocation(quay(), eventAt(clock.nowMs()));
    clock.advance(1_000);
    expect(effects).toContainEqual({ type: 'connector.unlocked', key: 'crane/1' });
  });

  it('still lets the location fall back, and its cluster share anew (sections 2.8, 3.1): a profile of a connector', () => {
    const { clock, directory, effects, quay } = harbour;
    clock.jump(LIMIT_ENDS_IN_MS);
    const event = submission(clock.nowMs());
    directory.sendToLocation(quay(), { type: 'connector.event', key: 'crane/1', event });
    clock.advance(1_000);
    expect(effects).toContainEqual({ type: 'effectiveLimit.changed', effectiveLimitKw: 50 });
    expect(quay().actor.getSnapshot().context.limit.limitKw).toBe(20);
  });

  it('sets the next boundary all the same', () => {
    const { clock, directory, effects, quay } = harbour;
    clock.jump(LOCK_ENDS_IN_MS);
    directory.sendToLocation(quay(), submission(clock.nowMs()));
    clock.advance(LIMIT_ENDS_IN_MS - LOCK_ENDS_IN_MS);
    expect(effects).toContainEqual({ type: 'effectiveLimit.changed', effectiveLimitKw: 50 });
  });
});
