// Extension: the average import that a tariff bills stays below its target, over windows from the clock's quarters of
// an hour.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { locationLiveSchema } from '../../src/features/live-contract.js';
import { locationTimelineSchema } from '../../src/features/locations/contract.js';
import { hashSecret } from '../../src/secrets.js';
import { eventually } from '../eventually.js';
import { at, type OperatedService, runOperatedService } from './operator-answers.js';
import { HARBOUR, site, tenantWith } from './running-service.js';

const PEAK_SHAVING = { limitKw: 40, windowMs: 900_000 };

/** A site of 40 kW on average at a connection of 80 kW; its building takes 30 kW at most. */
function shaved(id: string) {
  return {
    ...site(id, { permanentLimitKw: 500 }),
    limitRules: { peakShaving: PEAK_SHAVING },
    siteMeter: {
      meterUuid: `${id}-meter`,
      mqttSecretHash: hashSecret('a meter'),
      covers: 'connection' as const,
      maxBuildingKw: 30,
      reserveKw: [2, 5] as const,
      pvRaisesHeadroom: false,
    },
  };
}

let service: OperatedService;
beforeAll(async () => {
  service = await runOperatedService([
    tenantWith(HARBOUR, [shaved('shop'), shaved('silent'), shaved('again'), site('plain')]),
  ]);
});
afterAll(() => service.stop());

const live = (id: string) => service.read(`/locations/${id}/live`, locationLiveSchema);

async function reads(id: string, powerW: number) {
  const body = { at: new Date(service.clock.nowMs()).toISOString(), powerW };
  expect((await service.call('PUT', `/locations/${id}/site-meter`, body)).status).toBe(200);
}

/** The meters read this every ten seconds. */
async function readFor(seconds: number, powerW: number, ...ids: readonly string[]) {
  for (let passed = 0; passed < seconds; passed += 10) {
    await service.clock.advance(10_000);
    for (const id of ids) await reads(id, powerW);
  }
}

describe('A location that keeps to an average', () => {
  it('leaves its chargers the rest of the window beside the building, with the reason', async () => {
    await reads('shop', 20_000);
    const seen = await live('shop');
    expect(seen).toMatchObject({ gridLimitKw: 15, gridLimitCause: { kind: 'peakShaving' } });
    expect(seen.peakShaving).toEqual({
      limitKw: 40,
      windowS: 900,
      windowStartsAt: at('12:00'),
      windowEndsAt: at('12:15'),
      usedKwh: 0,
      allowedKwh: 10,
      leavesKw: 15,
      nextLeavesKw: 15,
      explanation:
        'Of the 10 kWh that an average of 40.0 kW allows until 2026-06-01T12:15:00.000Z, 0 kWh are used: beside the building and its reserve chargers may use 15.0 kW for the rest of the window.',
    });
    expect((await live('plain')).peakShaving).toBeNull();
  });

  it('leaves more after less import, and shows in the timeline the begin of the next window', async () => {
    await readFor(600, 20_000, 'shop', 'again');
    const { peakShaving, gridLimitKw } = await live('shop');
    // 3.33 of 10 kWh in ten minutes leave 80 kW for the other five, the rating of the connection. The building has 20
    // of them, and its reserve 5.
    expect(peakShaving?.usedKwh).toBeCloseTo(3.33, 1);
    expect(peakShaving?.leavesKw).toBe(55);
    expect(gridLimitKw).toBe(peakShaving?.leavesKw);
    const { segments } = await service.read('/locations/shop/timeline', locationTimelineSchema);
    expect(segments.map(({ endTime, limitKw }) => [endTime, limitKw])).toEqual([
      [at('12:15'), gridLimitKw],
      [expect.any(String), 15],
    ]);
  });

  it('keeps to the first limit of the next window from 15 s before that on', async () => {
    await readFor(280, 20_000, 'shop', 'again');
    expect((await live('shop')).budgetKw).toBeGreaterThan(50);
    await readFor(10, 20_000, 'shop', 'again');
    expect((await live('shop')).gridLimitKw).toBeGreaterThan(50);
    await eventually(async () => expect((await live('shop')).budgetKw).toBe(15));
  });

  it('begins anew with the next quarter of an hour', async () => {
    await readFor(10, 20_000, 'shop', 'again');
    expect((await live('shop')).peakShaving).toMatchObject({
      windowStartsAt: at('12:15'),
      windowEndsAt: at('12:30'),
      usedKwh: 0,
      leavesKw: 15,
    });
  });

  it('counts a silent meter with the maximum of its building, and silent chargers with their entitlements', async () => {
    const { peakShaving } = await live('silent');
    // 30 kW of the building and twice 6 A are more than 40 kW on average.
    expect(peakShaving?.leavesKw).toBeLessThanOrEqual(10);
    expect(peakShaving?.explanation).toContain('beside the building');
  });

  it('is counted by the metrics', async () => {
    const text = await (await fetch(`${service.httpUrl}/metrics`)).text();
    expect(text).toContain('headroom_peak_shaving_locations{state="bound"} 3');
  });

  it('goes on after a restart with the recorded import, and the highest for the time without records', async () => {
    await readFor(300, 35_000, 'again');
    const before = (await live('again')).peakShaving?.usedKwh ?? 0;
    expect(before).toBeCloseTo((35 * 300) / 3600, 0);
    const restarted = await service.restart({ clock: service.clock }, async () => {
      await service.clock.advance(30_000);
    });
    try {
      const { body } = await restarted.call('GET', '/locations/again/live');
      // The chargers can draw 2 × 22 kW and a little more at a higher voltage, the building 30 kW.
      const { peakShaving } = locationLiveSchema.parse(body);
      const downKwh = (peakShaving?.usedKwh ?? 0) - before;
      expect(downKwh).toBeGreaterThan((74 * 30) / 3600);
      expect(downKwh).toBeLessThan((81 * 45) / 3600);
    } finally {
      await restarted.stop();
    }
  });
});
