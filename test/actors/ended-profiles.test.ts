// Ended profiles have no actor, so that a site that runs for years does not collect them.
import { describe, expect, it } from 'vitest';
import { connectorKey } from '../../machines/values/ids.js';
import { connectorActorOf } from '../../src/actors/directory.js';
import { CRANE, createHarbour, HARBOUR, ROWS, START_MS } from './harbour.js';

const BEGINS_MS = START_MS + 10_000;
const LATER = {
  ...ROWS,
  profiles: ROWS.profiles.map((profile) => ({ ...profile, startsAtMs: BEGINS_MS })),
};

describe('A profile that has ended', () => {
  it.each([
    ['location', (harbour: ReturnType<typeof createHarbour>) => harbour.quay().actor],
    [
      'connector',
      (harbour: ReturnType<typeof createHarbour>) => connectorActorOf(harbour.quay(), connectorKey(CRANE)),
    ],
    [
      'organization',
      (harbour: ReturnType<typeof createHarbour>) =>
        harbour.directory.tenants.get(HARBOUR)?.organization.actor,
    ],
  ])('has no actor any more: of a %s', (_, actorOf) => {
    const harbour = createHarbour(LATER);
    const holder = () => actorOf(harbour)?.getSnapshot();
    harbour.clock.advance(BEGINS_MS - START_MS);
    expect(holder()?.context.profiles.size).toBe(1);
    const children = Object.keys(holder()?.children ?? {}).length;
    harbour.clock.advance(60_000);
    expect(holder()?.context.stack).toHaveLength(1);
    expect(holder()?.context.profiles.size).toBe(0);
    expect(Object.keys(holder()?.children ?? {})).toHaveLength(children - 1);
  });

  it('never had one if it had begun before the start', () => {
    const { context, children } = createHarbour(ROWS).quay().actor.getSnapshot();
    expect(context.limit.effectiveLimitKw).toBe(ROWS.profiles[0]?.limitKw);
    expect([context.profiles.size, Object.keys(children).length]).toEqual([0, 1]);
  });
});
