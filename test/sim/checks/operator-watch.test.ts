// The check of the grid operator's limit (P18) takes the orders that the service must take, and no others.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { hostileSiteOf } from '../../../sim/world/hostile-site.js';
import { createWorld, type World } from '../../../sim/world/world.js';
import { toInstant } from '../../../src/wire/instants.js';

const START_MS = Date.parse('2026-06-01T00:00:00Z');
const MINUTE_MS = 60_000;
/** Its grid operator is lost after ten minutes of silence, and one that is back without an order ends the fail-safe as late. */
const LIMITED_SEED = 4;
const SILENT_MS = 11 * MINUTE_MS;

describe('The check of the grid operator', () => {
  let world: World;
  let sentAt: string;

  beforeEach(async () => {
    const { tenants, visitorsOf } = hostileSiteOf(LIMITED_SEED, 1);
    world = await createWorld({ tenants, visitorsOf, seed: 1, startMs: START_MS });
    await world.advance(MINUTE_MS);
    sentAt = toInstant(world.nowMs());
    await tell({ isActive: true, limitKw: 59, durationS: 3_600, sentAt });
  });

  afterEach(() => world.close());

  async function tell(order: object): Promise<void> {
    const { status } = await world.call('PUT', '/locations/south/operator-limit', {
      source: 'grid',
      ...order,
    });
    expect(status).toBe(200);
  }

  /** What the service says of the limit a minute later, in which the check has asked as well. */
  async function heldLater(): Promise<unknown> {
    await world.advance(MINUTE_MS);
    expect(world.violations).toEqual([]);
    const { body } = await world.call('GET', '/locations/south/operator-limit');
    return body;
  }

  it('expects the later of two orders of one instant that differ', async () => {
    await tell({ isActive: true, limitKw: 20, sentAt });
    expect(await heldLater()).toMatchObject({ state: 'LIMITED', limitKw: 20 });
  });

  it('expects no order from before the loss, whatever it says of the instant of the last one (LPC-918)', async () => {
    await world.advance(SILENT_MS);
    await tell({ isActive: true, limitKw: 59, sentAt });
    expect(await heldLater()).toMatchObject({ state: 'FAILSAFE', limitKw: 15 });
    await tell({ sentAt: toInstant(world.nowMs()) });
    await world.advance(SILENT_MS);
    await tell({ isActive: true, limitKw: 20, sentAt });
    expect(await heldLater()).toMatchObject({ state: 'UNLIMITED_AUTONOMOUS' });
  });

  it('expects a newer order after the loss', async () => {
    await world.advance(SILENT_MS);
    await tell({ isActive: true, limitKw: 20, sentAt: toInstant(world.nowMs()) });
    expect(await heldLater()).toMatchObject({ state: 'LIMITED', limitKw: 20 });
  });
});
