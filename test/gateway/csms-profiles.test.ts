// The part of a grant that CSMS profiles leave in force, by the rules of OCPP.
import { describe, expect, it } from 'vitest';
import { type CsmsProfile, CsmsProfiles } from '../../src/gateway/ocpp/csms-profiles.js';

const HOUR_MS = 3_600_000;
const NOON_MS = Date.UTC(2026, 5, 1, 12);
const CONNECTOR = { evse: 1, phases: 3, voltageV: 230, transaction: undefined } as const;

function profile(over: Partial<CsmsProfile> = {}): CsmsProfile {
  return {
    id: 1,
    evse: 1,
    stackLevel: 0,
    purpose: 'default',
    kind: 'absolute',
    unit: 'A',
    startsAtMs: NOON_MS,
    periods: [{ startS: 0, limit: 16 }],
    ...over,
  };
}

function kept(profiles: readonly CsmsProfile[]): CsmsProfiles {
  return new CsmsProfiles({ profiles, transactions: [] });
}

function at(profiles: CsmsProfiles, atMs: number, connector: object = {}): number {
  return profiles.lowestA({ ...CONNECTOR, ...connector }, atMs, atMs);
}

describe('A profile of a management system', () => {
  it('limits from its start on, and not before it nor after its duration', () => {
    const profiles = kept([profile({ durationS: 3_600 })]);
    expect([-1, 0, HOUR_MS - 1, HOUR_MS].map((ms) => at(profiles, NOON_MS + ms))).toEqual([
      Number.POSITIVE_INFINITY,
      16,
      16,
      Number.POSITIVE_INFINITY,
    ]);
  });

  it('counts with its lowest limit within a span, since a lease has one limit', () => {
    const periods = [
      { startS: 0, limit: 16 },
      { startS: 60, limit: 8 },
      { startS: 90, limit: 20 },
    ];
    const profiles = kept([profile({ periods })]);
    const lowest = (fromS: number, untilS: number) =>
      profiles.lowestA(CONNECTOR, NOON_MS + 1000 * fromS, NOON_MS + 1000 * untilS);
    expect([lowest(0, 59), lowest(0, 60), lowest(30, 180), lowest(90, 180)]).toEqual([16, 8, 8, 20]);
  });

  it('of a higher stack level goes before one of a lower, and one of the transaction before any default', () => {
    const profiles = kept([profile({ id: 1, stackLevel: 1 })]);
    profiles.put(profile({ id: 2, stackLevel: 2, periods: [{ startS: 0, limit: 20 }] }));
    expect(at(profiles, NOON_MS)).toBe(20);
    const ofTransaction = { purpose: 'transaction', transaction: 7, stackLevel: 0 } as const;
    profiles.put(profile({ id: 3, ...ofTransaction, periods: [{ startS: 0, limit: 10 }] }));
    expect(at(profiles, NOON_MS, { transaction: 7 })).toBe(10);
    expect(at(profiles, NOON_MS)).toBe(20);
  });

  it('repeats every day or week, counts from the begin of a transaction, or in watts of the phases or of DC', () => {
    const night = [
      { startS: 0, limit: 6 },
      { startS: 7_200, limit: 32 },
    ];
    const daily = kept([profile({ kind: 'daily', periods: night })]);
    expect(at(daily, NOON_MS + 24 * HOUR_MS)).toBe(6);
    expect(at(daily, NOON_MS + 26 * HOUR_MS)).toBe(32);
    expect(daily.lowestA(CONNECTOR, NOON_MS + 23.9 * HOUR_MS, NOON_MS + 24.1 * HOUR_MS)).toBe(6);
    const weekly = kept([profile({ kind: 'weekly', periods: night })]);
    expect(at(weekly, NOON_MS + 24 * HOUR_MS)).toBe(32);
    expect(at(weekly, NOON_MS + 168 * HOUR_MS)).toBe(6);
    const relative = kept([profile({ kind: 'relative', periods: night })]);
    expect(at(relative, NOON_MS, { transaction: 5 })).toBe(6);
    expect(at(relative, NOON_MS + 2 * HOUR_MS, { transaction: 5 })).toBe(32);
    const dc = { wattsPerA: 600, leastW: 0, mostW: 50_000, maxVoltageV: 500 };
    const atCar = kept([profile({ unit: 'W', periods: [{ startS: 0, limit: 6_000 }] })]);
    expect(at(atCar, NOON_MS, { dc })).toBe(10);
    expect(at(kept([profile({ periods: [{ startS: 0, limit: 24 }] })]), NOON_MS, { dc })).toBe(20);
    const watts = kept([profile({ unit: 'W', periods: [{ startS: 0, limit: 11_040 }] })]);
    expect(at(watts, NOON_MS)).toBe(16);
  });

  it('counts from the begin of a transaction however late it was set, and after a restart of the gateway', () => {
    const periods = [
      { startS: 0, limit: 32 },
      { startS: 1_800, limit: 8 },
    ];
    const profiles = new CsmsProfiles();
    profiles.began(1, 7, NOON_MS);
    profiles.put(profile({ kind: 'relative', periods }));
    const again = new CsmsProfiles(profiles.kept);
    for (const each of [profiles, again]) expect(at(each, NOON_MS + HOUR_MS, { transaction: 7 })).toBe(8);
    expect(at(again, NOON_MS + HOUR_MS, { transaction: 8 })).toBe(32);
  });

  it('that came with a remote start is that of the next transaction, and ends with it', () => {
    const profiles = new CsmsProfiles();
    profiles.put(profile({ evse: 0, purpose: 'transaction' }));
    expect(at(profiles, NOON_MS)).toBe(Number.POSITIVE_INFINITY);
    expect(at(profiles, NOON_MS, { transaction: 7 })).toBe(16);
    expect(at(profiles, NOON_MS, { transaction: 8 })).toBe(Number.POSITIVE_INFINITY);
    expect(profiles.all).toEqual([]);
  });

  it("that came with a remote start is nobody else's where no transaction began in time", () => {
    const waiting = profile({ purpose: 'transaction', waitsUntilMs: NOON_MS + HOUR_MS });
    const limitAfter = (ms: number) => at(kept([waiting]), NOON_MS + ms, { transaction: 7 });
    expect([HOUR_MS - 1, HOUR_MS].map(limitAfter)).toEqual([16, Number.POSITIVE_INFINITY]);
  });

  it('of a transaction is forgotten once another begins there, however many there are', () => {
    const profiles = kept([profile(), profile({ id: 2, evse: 2, stackLevel: 1 })]);
    for (let transaction = 1; transaction <= 200; transaction++) {
      profiles.began(1, transaction, NOON_MS);
      const of = { purpose: 'transaction', transaction } as const;
      expect(profiles.put(profile({ id: 2 + transaction, ...of }))).toBe(true);
    }
    profiles.began(2, 'other', NOON_MS);
    expect(profiles.all.map(({ id }) => id)).toEqual([1, 2, 202]);
  });

  it('outlasts a time in which its transaction is unknown, as after a start of the charger', () => {
    const profiles = kept([profile({ purpose: 'transaction', transaction: 7 })]);
    expect(at(profiles, NOON_MS, { transaction: 7 })).toBe(16);
    expect(at(profiles, NOON_MS)).toBe(Number.POSITIVE_INFINITY);
    expect(at(profiles, NOON_MS, { transaction: 7 })).toBe(16);
  });

  it('is cleared by a matching filter, and replaced by its id or its place in the stack', () => {
    const profiles = kept([profile(), profile({ id: 2, stackLevel: 5 })]);
    profiles.put(profile({ id: 3, stackLevel: 5 }));
    expect(profiles.all.map(({ id }) => id)).toEqual([1, 3]);
    expect(profiles.clear({ id: 9 })).toBe(0);
    expect(profiles.clear({ stackLevel: 5 })).toBe(1);
    expect(profiles.clear({})).toBe(1);
  });

  it('is refused where there are more than any system sets', () => {
    const profiles = new CsmsProfiles();
    for (let i = 0; i < 100; i++) expect(profiles.put(profile({ id: i, stackLevel: i }))).toBe(true);
    expect(profiles.put(profile({ id: 100, stackLevel: 100 }))).toBe(false);
  });
});
