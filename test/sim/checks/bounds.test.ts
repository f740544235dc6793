// Memory and queues of a long-lived world stay bounded: heap, pending messages and the service's rows (P13).
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { hostileSiteOf } from '../../../sim/world/hostile-site.js';
import { createWorld } from '../../../sim/world/world.js';

const HOUR_MS = 3_600_000;
const MOST_GROWTH_BYTES = 4_000_000;

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

function usedBytes(): number {
  collect();
  return process.memoryUsage().heapUsed;
}

it('keeps the heap of a warm world bounded for hours (P13)', async () => {
  const { tenants, visitorsOf } = hostileSiteOf(1, 3);
  const world = await createWorld({
    tenants,
    visitorsOf,
    seed: 1,
    startMs: Date.parse('2026-06-01T00:00:00Z'),
  });
  try {
    await world.advance(2 * HOUR_MS);
    const warmBytes = usedBytes();
    await world.advance(3 * HOUR_MS);
    expect(usedBytes() - warmBytes).toBeLessThan(MOST_GROWTH_BYTES);
    expect(world.agenda.length).toBeLessThan(100 * world.runs.length);
    expect(world.violations).toEqual([]);
  } finally {
    await world.close();
  }
});
