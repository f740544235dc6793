// Checks without zod accept no message that zod refuses or changes.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ackSchema, meterSchema } from '../../src/wire/mqtt.js';
import { quickCheckOf } from '../../src/wire/quick-check.js';

const METER = {
  v: 1,
  boot: 'b-1',
  hb: 17,
  at: '2026-06-01T17:00:00.000Z',
  status: 'Charging',
  session: 's-1',
  idTag: 'card',
  powerW: 7360,
  currentA: [10.6, 10.7, -10.7],
  voltageV: [230.1, 229.9, 230],
  energyWh: 123456,
  socPercent: 50,
  epoch: 2,
  seq: 3,
  limitA: 16,
  limitW: 11_000,
  leaseLeftS: 41.5,
  isEndOpen: false,
};
const ACK = { v: 1, boot: 'b-1', epoch: 2, seq: 3, result: 'APPLIED', appliedA: 16, appliedW: 11_000 };

const EDGES = [
  -1,
  -0,
  0,
  1.5,
  64,
  255,
  10_000,
  10_000_001,
  2 ** 53,
  Number.POSITIVE_INFINITY,
  '',
  'x'.repeat(65),
  'Charging',
  'STALE',
];

/** Values as `JSON.parse` returns them. */
const values = fc.oneof(
  fc.constantFrom(...EDGES),
  fc.jsonValue(),
  fc.array(fc.double({ noNaN: true, min: -20_000, max: 20_000 }), { minLength: 2, maxLength: 4 }),
);

describe.each([
  { name: 'meter', schema: meterSchema, plain: METER },
  { name: 'ack', schema: ackSchema, plain: ACK },
])('the quick check of $name', ({ schema, plain }) => {
  const isPlain = quickCheckOf(schema);
  const names = [...Object.keys(schema.shape), 'other', '__proto__', 'constructor'];

  it('accepts all plain fields at once', () => {
    expect(schema.safeParse(plain).data).toEqual(plain);
    expect(isPlain(plain)).toBe(true);
  });

  it('accepts nothing that zod refuses or changes', () => {
    const changes = fc.array(fc.tuple(fc.constantFrom(...names), values), { maxLength: 4 });
    const without = fc.subarray(Object.keys(plain), { maxLength: 3 });
    let accepted = 0;
    fc.assert(
      fc.property(changes, without, (changed, left) => {
        const kept = Object.entries(plain).filter(([name]) => !left.includes(name));
        const message: unknown = Object.fromEntries([...kept, ...changed]);
        if (!isPlain(message)) return;
        accepted++;
        expect(schema.safeParse(message).data).toStrictEqual(message);
      }),
      { numRuns: 3_000 },
    );
    expect(accepted).toBeGreaterThan(100);
  });

  it('leaves other texts and unknown fields to zod', () => {
    for (const message of [undefined, null, 1, 'x', [], [plain], {}, { ...plain, other: 1 }])
      expect(isPlain(message)).toBe(false);
  });
});

it('leaves declared needs to zod', () => {
  expect(quickCheckOf(meterSchema)({ ...METER, chargingPreferences: { energyNeedKwh: 5 } })).toBe(false);
});

it('leaves a schema with a rule about several fields to zod', () => {
  const ruled = ackSchema.refine(({ epoch, seq }) => epoch < seq);
  expect(quickCheckOf(ruled)(ACK)).toBe(false);
});
