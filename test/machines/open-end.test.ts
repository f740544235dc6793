// A charger that may keep a limit for longer than its lease, for example because its clock is about to be set. Its
// grants count until then (R41).
import { expect, it } from 'vitest';
import { Ledger, leaseToStore } from '../../machines/ledger/ledger.js';
import type { MeterReading } from '../../machines/power/meter-ledger.js';
import { decideWith } from './connector-actor.js';
import { budgetOf, newSupervisor, placeInReach } from './location-parts.js';

const LIMIT_W = 13_000;
const DAY_MS = 86_400_000;

/** Two chargers that share the limit, each with a lease. */
function site() {
  const supervisor = newSupervisor();
  let hb = 0;
  const [one, other] = [placeInReach(supervisor, 'one'), placeInReach(supervisor, 'other')];
  const hear = (connector: typeof one, nowMs: number, said: Partial<MeterReading> = {}) => {
    const limitA = (connector.granted.sentTenthsA ?? 0) / 10;
    const own = { epoch: 1, seq: connector.account.lastSeq, limitA, powerW: 690 * limitA };
    const reading = { boot: 'a', hb: ++hb, status: 'Charging', ...own, ...said } as const;
    supervisor.meters.record(connector.telemetry.slot, reading, nowMs);
    return supervisor.receive(connector, reading, { now: nowMs, nowMs });
  };
  const decide = (nowMs: number) => decideWith(supervisor, budgetOf(LIMIT_W), nowMs);
  const ack = (connector: typeof one, nowMs: number) => {
    const { lastSeq: seq } = connector.account;
    supervisor.applyAck(connector, { epoch: 1, seq, boot: 'a', result: 'APPLIED' }, nowMs);
  };
  hear(one, 0);
  hear(other, 0);
  decide(5_000);
  ack(one, 6_000);
  ack(other, 6_000);
  return { supervisor, one, other, hear, decide, ack };
}

it('Its limit stays reserved, however long it is silent, until it has applied a newer one', () => {
  const { supervisor, one, other, hear, decide, ack } = site();
  const shared = [one.granted.sentTenthsA, other.granted.sentTenthsA];
  hear(one, 10_000, { isEndOpen: true });
  one.actor.send({ type: 'meter.missed' });
  supervisor.lose(one);
  hear(other, DAY_MS);
  decide(DAY_MS);
  expect([one.account.boundTenthsA, other.granted.sentTenthsA]).toEqual(shared);

  one.actor.send({ type: 'meter.received' });
  hear(one, DAY_MS + 1_000, { epoch: 0, seq: 0, limitA: 0, status: 'Available', powerW: 0 });
  decide(DAY_MS + 1_000);
  ack(one, DAY_MS + 2_000);
  hear(other, DAY_MS + 12_000);
  decide(DAY_MS + 12_000);
  expect(one.account.boundTenthsA).toBe(0);
  expect(other.granted.sentTenthsA).toBeGreaterThan(shared[1] ?? 0);
});

it('The limit of a charger that does not report so is free once its lease is over', () => {
  const { supervisor, one, other, hear, decide } = site();
  const sharedTenthsA = other.granted.sentTenthsA ?? 0;
  hear(one, 10_000);
  one.actor.send({ type: 'meter.missed' });
  supervisor.lose(one);
  hear(other, DAY_MS);
  decide(DAY_MS);
  expect(other.granted.sentTenthsA).toBeGreaterThan(sharedTenthsA);
});

it('It is answered at once, even shortly after a limit, and a start of the service waits for its message, too', () => {
  const { supervisor, one, hear } = site();
  hear(one, 8_000);
  expect(supervisor.renew(one, 8_000)).toBeUndefined();
  expect(leaseToStore(one.account)).toBe('heartbeat');
  hear(one, 8_100, { isEndOpen: true });
  expect(supervisor.renew(one, 8_100)?.grant).toMatchObject({
    ref: one.telemetry.hb,
    limitTenthsA: one.granted.sentTenthsA,
  });
  expect(leaseToStore(one.account)).toBe('none');
});

it('Its own acknowledgement gives it no end again, however late that comes', () => {
  const { supervisor, one, hear, decide, ack } = site();
  const { boundTenthsA } = one.account;
  supervisor.setStored(one, { limitTenthsA: 320, thenTenthsA: 320, ttlMs: 100_000, phases: 3 });
  hear(one, 10_000);
  decide(10_000);
  const { lastSeq } = one.account;
  hear(one, 11_000);
  expect(supervisor.renew(one, 25_000)?.grant.seq).toBe(lastSeq + 1);
  hear(one, 26_000, { seq: lastSeq, isEndOpen: true });
  ack(one, 27_000);
  supervisor.ledger.release(DAY_MS);
  expect(one.account.boundTenthsA).toBe(boundTenthsA);
});

it('Counting from its heartbeats gives it no end again, if the charger reports it only then', () => {
  for (const isEndOpen of [false, true]) {
    const ledger = new Ledger({ heartbeatMs: 10_000, ttlMs: 60_000, settleMs: 10_000 });
    const spec = {
      maxTenthsA: 320,
      milliwattsPerTenth: 69_000,
      failsafeTenthsA: 0,
      lease: 'receipt',
    } as const;
    const account = ledger.add('one', { ...spec, keepsThen: true });
    account.grant({ limitTenthsA: 160, thenTenthsA: 0, receivedAtMs: 0, budgetW: LIMIT_W });
    if (isEndOpen) account.openEnd();
    account.describe({ lease: 'heartbeat', keepsThen: true }, 1_000);
    ledger.release(71_200);
    expect(account.boundTenthsA).toBe(isEndOpen ? 160 : 0);
  }
});

it('So it is with the oldest of many that are lower and lower, which are kept as one', () => {
  const ledger = new Ledger({ heartbeatMs: 10_000, ttlMs: 60_000, settleMs: 10_000 });
  const spec = { maxTenthsA: 320, milliwattsPerTenth: 69_000, failsafeTenthsA: 0, lease: 'receipt' } as const;
  const account = ledger.add('one', { ...spec, keepsThen: true });
  const give = (limitTenthsA: number) =>
    account.grant({ limitTenthsA, thenTenthsA: 0, receivedAtMs: 0, budgetW: LIMIT_W });
  give(180);
  account.openEnd();
  for (let lower = 179; lower > 150; lower--) give(lower);
  account.describe({ lease: 'heartbeat', keepsThen: true }, 1_000);
  ledger.release(71_200);
  expect(account.boundTenthsA).toBe(180);
});

it('The answer leaves once that is on disk, a lower limit at once, and no later one waits', () => {
  const { supervisor, one, hear } = site();
  supervisor.setStored(one, { limitTenthsA: 320, thenTenthsA: 320, ttlMs: 100_000, phases: 3 });
  supervisor.setStoredLease(one, 'heartbeat');
  hear(one, 8_100);
  expect(supervisor.renew(one, 26_000)?.mustStore).toBe(false);
  hear(one, 27_000, { isEndOpen: true });
  const [lower] = decideWith(supervisor, budgetOf(10_000), 27_000).grants.filter(
    ({ connector }) => connector === one,
  );
  expect(lower?.mustStore).toBe(false);
  hear(one, 28_000, { isEndOpen: true });
  expect(supervisor.renew(one, 28_000)?.mustStore).toBe(true);
  supervisor.setStoredLease(one, 'none');
  hear(one, 29_000, { isEndOpen: true });
  expect(supervisor.renew(one, 29_000)?.mustStore).toBe(false);
});

it('Its first report asks for a decision, which writes it, whatever the answer does', () => {
  const { one, hear } = site();
  hear(one, 8_000);
  const said = [false, true, true, false].map((isEndOpen, i) => hear(one, 9_000 + i, { isEndOpen }));
  expect(said).toEqual([false, true, false, false]);
});
