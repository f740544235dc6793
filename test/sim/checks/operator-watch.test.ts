// The check of the grid operator's limit (P18) accepts exactly the orders that the service must accept.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { OperatorWatch } from '../../../sim/checks/operator-watch.js';
import { createReached } from '../../../sim/checks/reached.js';
import { hostileSiteOf } from '../../../sim/world/hostile-site.js';
import { LimitOracle } from '../../../sim/world/limit-oracle.js';
import { createWorld, type World } from '../../../sim/world/world.js';
import { toInstant } from '../../../src/wire/instants.js';

const START_MS = Date.parse('2026-06-01T00:00:00Z');
const MINUTE_MS = 60_000;
/**
 * The grid operator of this seed is lost after ten minutes of silence. Its fail-safe ends as late after a return
 * without an order.
 */
const LIMITED_SEED = 4;
const SILENT_MS = 11 * MINUTE_MS;

describe('The check of the grid operator’s limit', () => {
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

  /** The service's answer about the limit, a minute later. The check has queried it by then as well. */
  async function heldLater(): Promise<unknown> {
    await world.advance(MINUTE_MS);
    expect(world.violations).toEqual([]);
    const { body } = await world.call('GET', '/locations/south/operator-limit');
    return body;
  }

  it('expects the later of two different orders with the same instant', async () => {
    await tell({ isActive: true, limitKw: 20, sentAt });
    expect(await heldLater()).toMatchObject({ state: 'LIMITED', limitKw: 20 });
  });

  it('expects no order from before the loss, even with the instant of the last order (LPC-918)', async () => {
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

describe('The check of an unanswered order', () => {
  const ORDER = { source: 'grid', isActive: true, limitKw: 19, sentAt: toInstant(START_MS) };
  const CALL = { method: 'PUT', path: '/locations/south/operator-limit', body: ORDER } as const;

  /** Reports of the check if the service answers `held` after the next look. */
  async function reportsOf(status: 0 | 400, held: object): Promise<readonly string[]> {
    const details: string[] = [];
    let nowMs = START_MS;
    let isAsked = false;
    let next = () => {};
    let inquiry = Promise.resolve();
    const watch = new OperatorWatch({
      tenants: hostileSiteOf(LIMITED_SEED, 1).tenants,
      drawnW: () => 0,
      allowedW: (_, limitW) => limitW,
      nowMs: () => nowMs,
      horizonMs: 71_200,
      isServiceUp: () => true,
      oracle: new LimitOracle(),
      ask: async () => ({ status: 200, body: held }),
      soon(work) {
        isAsked = true;
        inquiry = work();
      },
      at(atMs, work) {
        next = () => {
          nowMs = atMs;
          work();
        };
      },
      reached: createReached(),
      report({ target, detail }) {
        if (target === 'south') details.push(detail);
      },
    });
    watch.called(CALL, { status, body: {} });
    while (!isAsked) next();
    await inquiry;
    return details;
  }

  it('accepts the state that the service reports, with or without the order', async () => {
    expect(await reportsOf(0, { state: 'LIMITED', limitKw: 19 })).toEqual([]);
    expect(await reportsOf(0, { state: 'INIT', limitKw: 15 })).toEqual([]);
  });

  it('reports another limit, and the limit of a refused order', async () => {
    expect(await reportsOf(0, { state: 'LIMITED', limitKw: 18 })).toHaveLength(1);
    expect(await reportsOf(400, { state: 'LIMITED', limitKw: 19 })).toHaveLength(1);
  });
});
