// Detects whether a charger keeps to its limit (R8).
import { beforeEach, describe, expect, it } from 'vitest';
import { createCompliance, foldCompliance } from '../../machines/power/compliance.js';
import type { Connector } from '../../machines/power/connector.js';
import type { LocationSupervisor } from '../../machines/power/location-supervisor.js';
import { createConnectorActor, decideWith } from './connector-actor.js';
import { budgetOf, newSupervisor, placeInReach, SPEC } from './location-parts.js';

describe('A charger that draws more than (limit + 0.5 A) × 1.10 (rule 8)', () => {
  it('is non-compliant after 7 s, not before', () => {
    const compliance = createCompliance();
    for (const atMs of [0, 3_000, 6_999]) expect(foldCompliance(compliance, 116, 100, atMs)).toBe(false);
    expect(compliance.isNonCompliant).toBe(false);
    expect(foldCompliance(compliance, 116, 100, 7_000)).toBe(true);
    expect(compliance.isNonCompliant).toBe(true);
    expect(foldCompliance(compliance, 116, 100, 17_000)).toBe(false);
  });

  it.each([
    [115, 100],
    [5, 0],
    [71, 60],
  ])('is not one that draws %d of %d tenths of an ampere', (drawn, entitled) => {
    const compliance = createCompliance();
    for (let atMs = 0; atMs < 60_000; atMs += 1_000) foldCompliance(compliance, drawn, entitled, atMs);
    expect(compliance.isNonCompliant).toBe(false);
    for (let atMs = 60_000; atMs < 70_000; atMs += 1_000)
      foldCompliance(compliance, drawn + 1, entitled, atMs);
    expect(compliance.isNonCompliant).toBe(true);
  });

  it('is forgiven excess that passes within 7 s, however often', () => {
    const compliance = createCompliance();
    for (let atMs = 0; atMs < 600_000; atMs += 5_000) {
      foldCompliance(compliance, atMs % 10_000 === 0 ? 320 : 100, 100, atMs);
    }
    expect(compliance.isNonCompliant).toBe(false);
  });

  it('is trusted again after keeping to its limit for a minute without a break', () => {
    const compliance = createCompliance();
    for (const atMs of [0, 7_000]) foldCompliance(compliance, 320, 100, atMs);
    for (const atMs of [10_000, 60_000]) foldCompliance(compliance, 100, 100, atMs);
    foldCompliance(compliance, 320, 100, 65_000);
    for (const atMs of [70_000, 129_999]) expect(foldCompliance(compliance, 100, 100, atMs)).toBe(false);
    expect(foldCompliance(compliance, 100, 100, 130_000)).toBe(true);
    expect(compliance.isNonCompliant).toBe(false);
  });
});

describe('A connector that did not comply', () => {
  const BUDGET_W = 12_000;
  let supervisor: LocationSupervisor;
  let hb: number;

  beforeEach(() => {
    supervisor = newSupervisor();
    hb = 0;
  });

  /**
   * Reports a draw of `drawnA` every 10 s from `fromMs` on, with an acknowledgement of each limit if `takes`. Returns
   * whether the charger counts as compliant afterwards.
   */
  function isTrustedAfter(drawnA: number, fromMs: number, forMs: number, takes = true): boolean {
    const connector = supervisor.connectors.get('quay/1');
    if (connector === undefined) throw new Error('no connector');
    for (let nowMs = fromMs; nowMs <= fromMs + forMs; nowMs += 10_000) {
      const seq = takes ? connector.account.lastSeq : 0;
      const powerW = drawnA * 690;
      const reading = { boot: 'a', hb: ++hb, status: 'Charging', powerW, epoch: 1, seq, limitA: 6 } as const;
      supervisor.meters.record(connector.telemetry.slot, reading, nowMs);
      supervisor.receive(connector, reading, { now: nowMs, nowMs });
      decideWith(supervisor, budgetOf(BUDGET_W), nowMs);
    }
    return !connector.account.isWorstCase;
  }

  function place(
    provisioned: { readonly maxCurrentA?: number; readonly isDistrusted?: boolean },
    nowMs: number,
  ) {
    const { maxCurrentA = SPEC.maxCurrentA, isDistrusted } = provisioned;
    const actor = createConnectorActor('quay/1');
    actor.send({ type: 'meter.received' });
    const promised = { limitTenthsA: 320, thenTenthsA: 0, lease: 'heartbeat' } as const;
    const spec = { ...SPEC, maxCurrentA };
    const connector = supervisor.place({ key: 'quay/1', spec, promised, isDistrusted }, actor, nowMs);
    supervisor.describe(connector, { failsafeA: 0, lease: 'heartbeat', keepsThen: true, boot: 'a' }, nowMs);
    return connector;
  }

  it('does not over a restart either, while it draws the maximum that was reserved for it on disk', () => {
    place({ isDistrusted: true }, 0);
    // A stored limit may be in force for 71.2 s.
    for (let nowMs = 0; nowMs < 100_000; nowMs += 10_000)
      expect(isTrustedAfter(32, nowMs, 0, false)).toBe(false);
    expect(isTrustedAfter(6, 100_000, 60_000)).toBe(true);
  });

  it('is trusted a minute after its first limit since a restart, if it keeps to it', () => {
    place({ isDistrusted: true }, 0);
    expect(isTrustedAfter(6, 0, 60_000)).toBe(false);
    expect(isTrustedAfter(6, 70_000, 0)).toBe(true);
  });

  it('does not with another rating either', () => {
    place({}, 0);
    expect(isTrustedAfter(32, 0, 300_000)).toBe(false);
    place({ maxCurrentA: 25 }, 301_000);
    expect(isTrustedAfter(25, 302_000, 10_000)).toBe(false);
  });
});

describe('A connector that turns out not to comply after its lease has ended', () => {
  it('gets its last limit not again where the others leave no room, although its maximum is reserved (R8)', () => {
    const supervisor = newSupervisor();
    const at = (nowMs: number) => ({ now: nowMs, nowMs });
    const [late, other] = ['late', 'other'].map((key) => placeInReach(supervisor, key));
    if (late === undefined || other === undefined) throw new Error('no connectors');
    const heartbeats = new Map<Connector, number>();
    const report = (connector: Connector, drawnA: number, nowMs: number) => {
      const hb = (heartbeats.get(connector) ?? 0) + 1;
      heartbeats.set(connector, hb);
      const { lastSeq: seq } = connector.account;
      const limitA = (connector.granted.sentTenthsA ?? 0) / 10;
      const powerW = drawnA * 690;
      const reading = { boot: 'a', hb, status: 'Charging', powerW, epoch: 1, seq, limitA } as const;
      supervisor.meters.record(connector.telemetry.slot, reading, nowMs);
      supervisor.receive(connector, reading, at(nowMs));
    };
    for (const nowMs of [0, 10_000, 20_000]) {
      for (const connector of [late, other]) report(connector, 0, nowMs);
      decideWith(supervisor, budgetOf(15_000), nowMs);
    }
    const sentTenthsA = late.granted.sentTenthsA ?? 0;
    expect(sentTenthsA).toBeGreaterThan(90);
    for (let nowMs = 30_000; nowMs <= 100_000; nowMs += 10_000) {
      report(other, 9, nowMs);
      supervisor.renew(other, nowMs);
      supervisor.ledger.release(nowMs);
    }
    expect(late.account.bounds).toEqual([0, 0, 0]);
    // The maximum of the other leaves no room, and then the first one draws more than any limit of it, too.
    for (const connector of [other, late])
      for (const afterMs of [1_000, 9_000]) report(connector, 30, 100_000 + afterMs);
    expect([other, late].map(({ account }) => account.isWorstCase)).toEqual([true, true]);
    expect(supervisor.renew(late, 109_000)).toBeUndefined();
    expect(late.granted.sentTenthsA).toBe(sentTenthsA);
  });
});
