// A location on a calm day, with working links: R7 to R9 and the division of power.
import { describe, expect, it } from 'vitest';
import { CALM } from './hostile-charger.js';
import { HORIZON_MS } from './supervised-site.js';
import { SupervisorRig } from './supervisor-rig.js';

const TRAITS = { ...CALM, failsafeTenthsA: 60 };
/** One ampere on three phases, W. */
const AMPERE_W = 690;

/** A calm site after five minutes. Each charger has a car that wants all available power. */
function siteOf(count: number, limitA: number, lowestA = limitA): SupervisorRig {
  const chargers = Array.from({ length: count }, (_, i) => ({ ...TRAITS, key: `quay/${i}` }));
  const rig = new SupervisorRig(1, chargers, [500_000, lowestA * AMPERE_W]);
  for (const place of rig.places) place.charger.wantsTenthsA = 320;
  rig.run(60_000);
  // The limit is announced a lease ahead, so that leases have their full length.
  rig.limitFrom(rig.agenda.nowMs + HORIZON_MS, limitA * AMPERE_W);
  rig.run(300_000);
  return rig;
}

function pass(rig: SupervisorRig, ms: number): void {
  rig.run(rig.agenda.nowMs + ms);
}

function limitsOf(rig: SupervisorRig): number[] {
  return rig.places.map(({ charger }) => charger.limitTenthsA);
}

function placeOf(rig: SupervisorRig, i: number): SupervisorRig['places'][number] {
  const place = rig.places[i];
  if (place === undefined) throw new Error(`no place ${i}`);
  return place;
}

/** Cuts the charger off in both directions. */
function cutOff(place: SupervisorRig['places'][number]): void {
  place.up.mode = 'cut';
  place.down.mode = 'cut';
}

describe('A location on a calm day', () => {
  it('shares its limit fairly, and uses all of it', () => {
    const limits = limitsOf(siteOf(4, 60));
    for (const limit of limits) {
      expect(limit).toBeGreaterThanOrEqual(140);
      expect(limit).toBeLessThanOrEqual(150);
    }
  });

  it('sends at most 8 limits a minute to a connector when nothing changes', () => {
    const rig = siteOf(4, 60);
    const before = rig.happened.grants;
    pass(rig, 600_000);
    expect(rig.happened.grants - before).toBeLessThanOrEqual(4 * 8 * 10);
    // A lease is renewed long before it ends.
    expect(rig.happened.grants - before).toBeGreaterThanOrEqual(4 * 5 * 10);
  });

  it('lowers at once, and gives the power to others only when it is free', () => {
    const rig = siteOf(2, 30, 12);
    rig.limitFrom(rig.agenda.nowMs, 12 * AMPERE_W);
    pass(rig, 1_500);
    expect(Math.max(...limitsOf(rig))).toBeLessThanOrEqual(60);
  });

  it('gives the power that a full battery frees to others within 60 s', () => {
    const rig = siteOf(2, 40);
    placeOf(rig, 0).charger.wantsTenthsA = 60;
    pass(rig, 60_000);
    const [full, other] = limitsOf(rig);
    expect(full).toBeLessThanOrEqual(80);
    expect(other).toBeGreaterThanOrEqual(310);
  });

  it('gives a car its share again within 30 s when it wants more', () => {
    const rig = siteOf(2, 40);
    const { charger } = placeOf(rig, 0);
    charger.wantsTenthsA = 60;
    pass(rig, 120_000);
    charger.wantsTenthsA = 320;
    pass(rig, 30_000);
    expect(Math.min(...limitsOf(rig))).toBeGreaterThanOrEqual(180);
  });

  it('keeps the fail-safe of a charger that vanished, and gives the rest to others once its lease has ended (rule 7)', () => {
    const rig = siteOf(2, 38);
    cutOff(placeOf(rig, 0));
    pass(rig, 55_000);
    expect(limitsOf(rig)[1]).toBeLessThanOrEqual(190);
    pass(rig, 60_000);
    expect(limitsOf(rig)).toEqual([60, 320]);
  });

  it('runs a lock up to its limit while others share the rest', () => {
    const rig = siteOf(3, 40);
    rig.lock(placeOf(rig, 0), 22 * 0.69);
    pass(rig, 40_000);
    const [locked, ...others] = limitsOf(rig);
    expect(locked).toBe(220);
    for (const limit of others) expect(limit).toBeGreaterThanOrEqual(80);
  });

  it('pauses everybody else before a lock is lowered, fail-safes included, and never lowers it below 6 A (3)', () => {
    const rig = siteOf(3, 40, 18);
    rig.lock(placeOf(rig, 0), 30 * 0.69);
    rig.limitFrom(rig.agenda.nowMs, 30 * AMPERE_W);
    pass(rig, 60_000);
    expect(limitsOf(rig)).toEqual([300, 0, 0]);
    rig.limitFrom(rig.agenda.nowMs, 18 * AMPERE_W);
    pass(rig, 60_000);
    expect(limitsOf(rig)).toEqual([180, 0, 0]);
  });

  it('keeps locks at 6 A if even their floors do not fit, and reports it (4)', () => {
    const rig = siteOf(3, 40, 10);
    for (const place of rig.places) rig.lock(place, 22);
    rig.limitFrom(rig.agenda.nowMs, 10 * AMPERE_W);
    pass(rig, 60_000);
    expect(limitsOf(rig)).toEqual([60, 60, 60]);
    expect(rig.happened.unattainable).toBeGreaterThan(0);
  });

  it('reserves the maximum of a charger that does not keep to its limit; the others make room (rule 8)', () => {
    const rig = siteOf(2, 40);
    const { charger } = placeOf(rig, 0);
    charger.drawsAnywayTenthsA = 320;
    pass(rig, 60_000);
    const connector = rig.site?.supervisor.connectors.get(charger.traits.key);
    expect(connector?.decided.reason).toBe('nonCompliant');
    expect(connector?.account.boundTenthsA).toBe(320);
    expect(limitsOf(rig)[1]).toBeLessThanOrEqual(80);
  });
});
