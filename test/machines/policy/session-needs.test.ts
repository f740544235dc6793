// The need of a car from its declarations, or else from its battery.
import { describe, expect, it } from 'vitest';
import { needOf } from '../../../machines/policy/session-needs.js';

const charged = { socPercent: 40, deliveredWh: 3_000 };
const battery = { batteryWh: 60_000, targetSocPercent: 80 };

describe('The need of a car without a declared energy', () => {
  it('is the delivered energy and the share of its battery that is missing to the target', () => {
    expect(needOf({ declared: { charger: battery }, charged }).energyWh).toBe(27_000);
    expect(needOf({ declared: { charger: { batteryWh: 60_000 } }, charged }).energyWh).toBe(39_000);
  });

  it('takes battery and target from different sources', () => {
    const declared = { api: { targetSocPercent: 50 }, charger: battery, default: { batteryWh: 10 } };
    expect(needOf({ declared, charged })).toEqual({ ...battery, targetSocPercent: 50, energyWh: 9_000 });
  });

  it('is the delivered energy if the battery has more than the target', () => {
    expect(needOf({ declared: { api: battery }, charged: { ...charged, socPercent: 90 } }).energyWh).toBe(
      3_000,
    );
  });

  it('gives way to an energy that any source declares', () => {
    const declared = { api: battery, default: { energyWh: 5_000 } };
    expect(needOf({ declared, charged }).energyWh).toBe(5_000);
  });

  it('is unknown without a battery or a state of charge', () => {
    expect(needOf({ declared: { api: { targetSocPercent: 80 } }, charged }).energyWh).toBeUndefined();
    expect(needOf({ declared: { api: battery }, charged: undefined }).energyWh).toBeUndefined();
  });
});
