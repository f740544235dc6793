// An acknowledgement of a limit while a newer one is in transit. It counts only if the charger's limit is at most both
// of them.
import { expect, it } from 'vitest';
import { decideWith } from './connector-actor.js';
import { budgetOf, newSupervisor, placeInReach } from './location-parts.js';

/** 32 A on three phases, at 230 V and at 253 V. The higher voltage counts while none is measured (R11). */
const DRAWN_W = 22_080;
const RESERVED_W = 24_288;

/** A charger at 32 A that was sent a pause, and the same again after it did not answer. */
function site() {
  const supervisor = newSupervisor();
  const connector = placeInReach(supervisor, 'one');
  let hb = 0;
  const hear = (nowMs: number, said: { readonly seq?: number; readonly limitA?: number } = {}) => {
    const reading = { boot: 'a', hb: ++hb, status: 'Charging', powerW: DRAWN_W, epoch: 1, ...said } as const;
    supervisor.meters.record(connector.telemetry.slot, reading, nowMs);
    supervisor.receive(connector, reading, { now: nowMs, nowMs });
  };
  const took = (seq: number, appliedA: number | undefined, nowMs: number) =>
    supervisor.applyAck(connector, { epoch: 1, seq, boot: 'a', result: 'APPLIED', appliedA }, nowMs);
  hear(0);
  decideWith(supervisor, budgetOf(50_000), 0);
  took(1, 32, 100);
  hear(10_000, { seq: 1, limitA: 32 });
  decideWith(supervisor, budgetOf(0), 10_100);
  hear(12_500, { seq: 1, limitA: 32 });
  supervisor.renew(connector, 12_500);
  expect([connector.account.lastSeq, connector.granted.sentTenthsA]).toEqual([3, 0]);
  /** After the release of all ended entitlements. */
  const reservedW = () => {
    supervisor.ledger.release(23_000);
    return supervisor.reservedW;
  };
  return { hear, took, reservedW };
}

it('A charger that acknowledges the lower limit, and applies more, has given nothing up', () => {
  const { took, reservedW } = site();
  expect(took(2, 32, 12_600)).toBe('taken');
  expect(reservedW()).toBe(RESERVED_W);
});

it('A heartbeat that reports this has the same effect', () => {
  const { hear, reservedW } = site();
  hear(12_600, { seq: 2, limitA: 32 });
  expect(reservedW()).toBe(RESERVED_W);
});

it('A charger at no more than that has given up the excess, with or without a reported limit', () => {
  for (const appliedA of [0, undefined]) {
    const { took, reservedW } = site();
    expect(took(2, appliedA, 12_600)).toBe('news');
    expect(reservedW()).toBe(0);
  }
});
