// The highest fallback that may be sent to an unverified charger while its maximum is reserved.
import { expect, it } from 'vitest';
import type { ConnectorDescription } from '../../machines/ledger/entitlements.js';
import type { GrantTiming } from '../../machines/ledger/grant.js';
import { BeyondGrants, Ledger } from '../../machines/ledger/ledger.js';
import { mostThenOf } from '../../machines/power/unverified-chargers.js';

const TIMING: GrantTiming = { heartbeatMs: 10_000, ttlMs: 60_000, settleMs: 10_000 };
const MILLIWATTS = 3 * 230 * 100;
const CHARGER: ConnectorDescription = {
  maxTenthsA: 320,
  failsafeTenthsA: 0,
  milliwattsPerTenth: MILLIWATTS,
  lease: 'heartbeat',
  keepsThen: true,
};

/** Two chargers on a fuse of 30 A. One has an entitlement of 25 A, and the maximum of the other is reserved. */
function siteOf({ capacityTenthsA = 300 } = {}) {
  const ledger = new Ledger(TIMING);
  ledger.limitCircuitPhases([capacityTenthsA]);
  const circuitPhasesOfPhases = [[0], [0], [0]];
  const other = ledger.add('quay/1', { ...CHARGER, circuitPhasesOfPhases });
  other.grant({ limitTenthsA: 250, thenTenthsA: 0, receivedAtMs: 0, budgetW: 50_000 });
  const unreliable = ledger.add('quay/2', { ...CHARGER, circuitPhasesOfPhases });
  unreliable.setWorstCase(true);
  const most = (roomW: number) =>
    mostThenOf(unreliable, 60, { ledger, beyond: BeyondGrants.of([unreliable]), roomW });
  return { ledger, other, unreliable, most };
}

it('is nothing more than before while another holds the needed power, by the limit or on the fuse', () => {
  const { unreliable, most } = siteOf();
  // 25 A and 6 A are 21.4 kW.
  expect(most(21_389)).toBe(0);
  expect(most(50_000)).toBe(0);
  expect(siteOf({ capacityTenthsA: 310 }).most(21_390)).toBe(320);
  expect(siteOf({ capacityTenthsA: 310 }).most(21_389)).toBe(0);
  unreliable.describe({ failsafeTenthsA: 60 });
  expect(most(0)).toBe(320);
});

it('is no more than its last limit, whatever it reports of its own', () => {
  const { unreliable, most } = siteOf();
  // Its profile is lost, so the charger falls back to its maximum until it reports a new one.
  unreliable.describe({ failsafeTenthsA: 320, keepsThen: false });
  unreliable.restarted();
  expect(most(21_389)).toBe(0);
  unreliable.grant({ limitTenthsA: 0, thenTenthsA: 60, receivedAtMs: 0, budgetW: 50_000 });
  expect(most(0)).toBe(320);
});

it('is its fail-safe once the other has let go, and for one that can be relied upon', () => {
  const { ledger, other, unreliable, most } = siteOf();
  ledger.release(100_000);
  expect(other.boundW).toBe(0);
  expect(most(4_140)).toBe(320);
  expect(most(4_139)).toBe(0);
  unreliable.setWorstCase(false);
  expect(most(0)).toBe(320);
});
