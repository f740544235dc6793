// A late message from before the end of a lease is no reason for a higher limit: the charger no longer draws that
// current.
import { expect, it } from 'vitest';
import type { MeterReading } from '../../machines/power/meter-ledger.js';
import { decideWith } from './connector-actor.js';
import { budgetOf, newSupervisor, placeInReach } from './location-parts.js';

const LIMIT_W = 13_000;
/** A lease and the settling time. */
const OVER_AT_MS = 75_000;

it('A charger without a lease is not sent 6 A for a current that it reports late, until the others have made room', () => {
  const supervisor = newSupervisor();
  let hb = 0;
  const [late, other] = [placeInReach(supervisor, 'late'), placeInReach(supervisor, 'other')];
  const hear = (connector: typeof late, nowMs: number, said: Partial<MeterReading>) => {
    const reading = { boot: 'a', hb: ++hb, status: 'Charging', powerW: 0, ...said } as const;
    supervisor.meters.record(connector.telemetry.slot, reading, nowMs);
    supervisor.receive(connector, reading, { now: nowMs, nowMs });
  };
  const toldA = (connector: typeof late, nowMs: number) => {
    const { grants } = decideWith(supervisor, budgetOf(LIMIT_W), nowMs);
    const sent = grants.find((each) => each.connector === connector);
    return sent && sent.grant.limitTenthsA / 10;
  };
  hear(late, 0, { limitA: 0 });
  hear(other, 0, { limitA: 0 });
  const shareA = toldA(late, 5_000);
  expect(shareA).toBeGreaterThan(7);
  late.actor.send({ type: 'meter.missed' });
  supervisor.lose(late);
  hear(other, OVER_AT_MS, { limitA: shareA });
  expect(toldA(other, OVER_AT_MS)).toBeGreaterThan(14);

  late.actor.send({ type: 'meter.received' });
  supervisor.describe(late, { failsafeA: 0, lease: 'none', keepsThen: true, boot: 'a' }, OVER_AT_MS + 1_000);
  hear(late, OVER_AT_MS + 1_000, { limitA: shareA });
  expect(toldA(late, OVER_AT_MS + 2_000)).toBe(0);
  expect(other.granted.sentTenthsA).toBe(0);
  // The other charger has followed its lower limit, so there is remaining capacity.
  const ack = {
    epoch: 1,
    seq: other.account.lastSeq,
    boot: 'a',
    result: 'APPLIED',
    appliedA: undefined,
  } as const;
  supervisor.applyAck(other, ack, OVER_AT_MS + 2_000);
  hear(late, OVER_AT_MS + 13_000, { limitA: 0 });
  expect(toldA(late, OVER_AT_MS + 14_000)).toBe(6);
});
