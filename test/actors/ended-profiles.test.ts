// Ended profiles have no actor, so that a site that runs for years does not collect them.
import { describe, expect, it } from 'vitest';
import { connectorKey } from '../../machines/values/ids.js';
import { connectorActorOf } from '../../src/actors/directory.js';
import { CRANE, createHarbour, HARBOUR, ROWS } from './harbour.js';

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
    const harbour = createHarbour(ROWS);
    const holder = () => actorOf(harbour)?.getSnapshot();
    expect(holder()?.context.profiles.size).toBe(1);
    const children = Object.keys(holder()?.children ?? {}).length;
    harbour.clock.advance(60_000);
    expect(holder()?.context.stack).toHaveLength(1);
    expect(holder()?.context.profiles.size).toBe(0);
    expect(Object.keys(holder()?.children ?? {})).toHaveLength(children - 1);
  });
});
