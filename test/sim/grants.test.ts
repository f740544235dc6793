// The charger's side of the grant protocol: accepted and refused limits, and the exact instants of fallbacks.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ConnectorId } from '../../machines/values/ids.js';
import { HUNGRY } from '../../sim/charger/traffic.js';
import { chargerRig, connector } from './charger-rig.js';

const CAR_FOLLOWS_S = 9;

describe('A grant at a virtual charger', () => {
  it('is acknowledged after the hardware applies it, and repeated in a heartbeat', () => {
    const { limit, acks, meters, pass, heldA, drawnA } = chargerRig();
    limit(16);
    pass(0.9);
    expect([acks, heldA()]).toEqual([[], 6]);
    pass(0.1);
    expect(acks).toEqual([{ v: 1, boot: 'boot-1', epoch: 1, seq: 1, result: 'APPLIED', appliedA: 16 }]);
    pass(10);
    expect(meters.at(-1)).toMatchObject({ epoch: 1, seq: 1, limitA: 16, leaseLeftS: expect.any(Number) });
    expect(drawnA()).toBe(16);
  });

  it('is preceded by the fail-safe, with epoch and seq 0', () => {
    const { meters, pass, drawnA } = chargerRig({ connectors: [connector('1', { failsafeA: 8 })] });
    expect(meters[0]).toMatchObject({ epoch: 0, seq: 0, limitA: 8 });
    expect(meters[0]).not.toHaveProperty('leaseLeftS');
    pass(30);
    expect(drawnA()).toBe(8);
  });

  it('suspends the car within 5 s at 0 A, and lets it charge again with more', () => {
    const { limit, meters, pass, drawnA } = chargerRig();
    pass(20);
    limit(0);
    pass(1);
    expect(meters.at(-1)?.status).toBe('SuspendedEVSE');
    pass(5);
    expect(drawnA()).toBe(0);
    limit(10);
    pass(CAR_FOLLOWS_S);
    expect([meters.at(-1)?.status, drawnA()]).toEqual(['Charging', 10]);
  });

  it('stops a stubborn car permanently at 0 A, which suspends itself at a later offer', () => {
    const { limit, meters, pass, drawnA } = chargerRig({ traffic: { ...HUNGRY, stubbornShare: 1 } });
    limit(16);
    pass(20);
    expect([meters.at(-1)?.status, drawnA()]).toEqual(['Charging', 16]);
    limit(0);
    pass(10);
    limit(16);
    pass(20);
    expect([meters.at(-1)?.status, drawnA()]).toEqual(['SuspendedEV', 0]);
    limit(0);
    pass(10);
    expect(meters.at(-1)?.status).toBe('SuspendedEVSE');
  });

  it('is refused between 0 and 6 A, and reduced to the maximum above it', () => {
    const { limit, acks, pass, heldA } = chargerRig();
    limit(3);
    limit(10, { thenA: 5 });
    expect(acks.map(({ result }) => result)).toEqual(['REJECTED', 'REJECTED']);
    limit(99);
    pass(2);
    expect(acks.at(-1)).toMatchObject({ result: 'APPLIED', appliedA: 32 });
    expect(heldA()).toBe(32);
  });

  it('needs no hardware change as a renewal, and is acknowledged at once', () => {
    const { limit, acks, pass } = chargerRig();
    limit(16);
    pass(5);
    limit(16);
    expect(acks.map(({ seq, result }) => [seq, result])).toEqual([
      [1, 'APPLIED'],
      [2, 'APPLIED'],
    ]);
  });

  it('is not delayed by later grants: the newest applies at the time of the first', () => {
    const { limit, acks, pass, heldA } = chargerRig({ traits: { pilotDelayMs: 5000 } });
    for (const limitA of [16, 15, 14, 13, 12]) {
      limit(limitA);
      pass(1);
    }
    expect(heldA()).toBe(12);
    expect(acks.map(({ seq }) => seq)).toEqual([5]);
  });

  it('is followed within the 10 s of charger and car together, by any car', () => {
    const { limit, pass, drawnA } = chargerRig({
      connectors: [connector('1', { maxCurrentA: 500, failsafeA: 500 })],
      traits: { pilotDelayMs: 5000 },
    });
    pass(200);
    expect(drawnA()).toBe(500);
    limit(6);
    pass(10);
    expect(drawnA()).toBe(6);
  });
});

describe('The fence of a virtual charger', () => {
  const answersOf = (rig: ReturnType<typeof chargerRig>) => rig.acks.map(({ result }) => result);

  it('refuses a limit with a lower or equal number or for another boot, without effect', () => {
    const rig = chargerRig();
    rig.limit(16, { epoch: 3, seq: 7 });
    rig.pass(2);
    const before = rig.charger.limits();
    rig.limit(32, { epoch: 3, seq: 7 });
    rig.limit(32, { epoch: 3, seq: 6 });
    rig.limit(32, { epoch: 2, seq: 99 });
    rig.limit(32, { epoch: 9, seq: 9, boot: 'boot-0' });
    rig.limit(32, { epoch: 9, seq: 9, boot: '' });
    expect(answersOf(rig)).toEqual(['APPLIED', 'STALE', 'STALE', 'STALE', 'STALE', 'STALE']);
    expect(rig.charger.limits()).toEqual(before);
    rig.limit(20, { epoch: 4, seq: 1 });
    rig.pass(2);
    expect(rig.acks.at(-1)).toMatchObject({ epoch: 4, seq: 1, result: 'APPLIED' });
  });

  it('applies to each connector separately', () => {
    const rig = chargerRig({ connectors: [connector('1'), connector('2')] });
    rig.limit(16, { epoch: 3, seq: 7, ref: 1 }, '1');
    rig.limit(10, { epoch: 3, seq: 1, ref: 1 }, '2');
    rig.pass(2);
    expect(answersOf(rig)).toEqual(['APPLIED', 'APPLIED']);
    expect(rig.charger.limits().map(({ limitA }) => limitA)).toEqual([16, 10]);
  });

  it('remains after the lease ends, and ends with the process', () => {
    const rig = chargerRig();
    rig.limit(16, { epoch: 3, seq: 7 });
    rig.pass(100);
    rig.limit(32, { epoch: 3, seq: 7 });
    expect(rig.acks.at(-1)?.result).toBe('STALE');
    rig.charger.reboot('boot-2', rig.nowMs());
    rig.pass(1);
    rig.limit(32, { epoch: 3, seq: 7 });
    rig.limit(12, { epoch: 1, seq: 1, boot: 'boot-2' });
    rig.pass(2);
    expect(answersOf(rig).slice(-2)).toEqual(['STALE', 'APPLIED']);
  });

  it('gives duplicate and reordered messages no effect (P7, P8)', () => {
    const message = fc.record({
      epoch: fc.integer({ min: 0, max: 3 }),
      seq: fc.integer({ min: 0, max: 5 }),
      limitA: fc.constantFrom(0, 6, 10, 16, 32),
      boot: fc.constantFrom('boot-1', 'boot-1', 'boot-1', 'boot-0'),
      ref: fc.integer({ min: 0, max: 3 }),
      waitS: fc.constantFrom(0, 0, 0.3, 2, 11),
    });
    fc.assert(
      fc.property(fc.array(message, { maxLength: 30 }), (messages) => {
        const rig = chargerRig();
        let [epoch, seq] = [-1, -1];
        for (const { waitS, ...fields } of messages) {
          const answered = rig.acks.length;
          const before = rig.charger.limits()[0];
          rig.limit(fields.limitA, fields);
          const isNews = fields.epoch > epoch || (fields.epoch === epoch && fields.seq > seq);
          if (!isNews || fields.boot !== 'boot-1') {
            expect(rig.acks.slice(answered).map(({ result }) => result)).toEqual(['STALE']);
            expect(rig.charger.limits()[0]).toEqual(before);
          }
          const refused = rig.acks.slice(answered).some(({ result }) => result !== 'APPLIED');
          if (!refused) ({ epoch, seq } = fields);
          rig.pass(waitS);
          const held = rig.charger.limits()[0];
          expect(held?.epoch ?? 0).toBeLessThanOrEqual(Math.max(0, epoch));
        }
        const applied = rig.acks.filter(({ result }) => result === 'APPLIED');
        for (const [i, ack] of applied.entries()) {
          const former = applied[i - 1];
          if (former === undefined) continue;
          expect(ack.epoch > former.epoch || (ack.epoch === former.epoch && ack.seq > former.seq)).toBe(true);
        }
      }),
      { numRuns: 200 },
    );
  });
});

describe('The lease of a virtual charger', () => {
  /** Whole milliseconds from now until the connector leaves its present limit. */
  function heldForMs({ charger, nowMs, pass, heldA }: ReturnType<typeof chargerRig>): number {
    const [fromMs, limitA] = [nowMs(), heldA()];
    while (heldA() === limitA) {
      pass(Math.max(1, charger.nextDueMs(nowMs()) - nowMs()) / 1000);
      if (nowMs() - fromMs > 1e6) return Number.POSITIVE_INFINITY;
    }
    return nowMs() - fromMs;
  }

  it('starts when the heartbeat is sent, with any delay of the grant', () => {
    const rig = chargerRig({ traits: { pilotDelayMs: 0 } });
    rig.pass(40);
    const first = rig.meters[0]?.hb ?? 0;
    rig.limit(16, { ref: first, ttlS: 60 });
    expect(rig.heldA()).toBe(16);
    expect(heldForMs(rig)).toBe(20_000);
    expect(rig.heldA()).toBe(6);
  });

  it('makes a grant EXPIRED without effect if it ends before the grant arrives', () => {
    const rig = chargerRig();
    rig.pass(60);
    rig.limit(16, { ref: 1, ttlS: 60, seq: 5 });
    expect(rig.acks.at(-1)).toMatchObject({ seq: 5, result: 'EXPIRED', appliedA: 6 });
    rig.limit(16, { seq: 4 });
    rig.pass(2);
    expect(rig.acks.at(-1)).toMatchObject({ seq: 4, result: 'APPLIED' });
  });

  it('cannot start with an unsent heartbeat, and has expired with a forgotten one', () => {
    const rig = chargerRig();
    rig.limit(16, { ref: 2 });
    rig.limit(16, { ref: 0 });
    expect(rig.acks.map(({ result }) => result)).toEqual(['REJECTED', 'EXPIRED']);
    rig.pass(1000);
    rig.limit(16, { ref: 1, ttlS: 1_000_000 });
    expect(rig.acks.at(-1)?.result).toBe('EXPIRED');
  });

  it('lasts while every heartbeat renews it', () => {
    const rig = chargerRig();
    for (let i = 0; i < 60; i++) {
      rig.limit(16);
      rig.pass(10);
    }
    expect(rig.heldA()).toBe(16);
    expect(rig.acks.every(({ result }) => result === 'APPLIED')).toBe(true);
    expect(rig.meters.slice(-5).every(({ seq = 0 }) => seq > 0)).toBe(true);
  });

  it('applies thenA when it ends, with a report by the state and a value with zeros', () => {
    const rig = chargerRig();
    rig.limit(16, { thenA: 9 });
    rig.pass(2);
    expect(rig.states.at(-1)?.connectors?.[0]).toMatchObject({ failsafeA: 9 });
    rig.pass(58);
    expect(rig.heldA()).toBe(16);
    rig.pass(2);
    expect(rig.meters.at(-1)).toMatchObject({ epoch: 0, seq: 0, limitA: 9 });
    expect(rig.charger.limits()[0]?.reason).toBe('failsafe');
    rig.pass(5);
    expect(rig.drawnA()).toBe(9);
  });

  it.each([
    [0.02, 61_200],
    [-0.02, 58_800],
    [0, 60_000],
  ])('counts by the clock of the charger: with a drift of %d it lasts %d ms', (driftShare, lastsMs) => {
    const rig = chargerRig({ traits: { driftShare, pilotDelayMs: 0 } });
    rig.limit(16);
    expect(heldForMs(rig)).toBe(lastsMs);
  });

  it('starts when the grant arrives at a charger that counts from receipt', () => {
    const rig = chargerRig({ traits: { lease: 'receipt', pilotDelayMs: 0 } });
    expect(rig.states[0]?.connectors?.[0]?.lease).toBe('receipt');
    rig.pass(500);
    rig.limit(16, { ref: 0 });
    expect(heldForMs(rig)).toBe(60_000);
  });

  it('is absent for a charger without leases: unlimited first, then at its last limit until a restart', () => {
    const rig = chargerRig({ traits: { lease: 'none' } });
    expect(rig.states[0]?.connectors?.[0]).toMatchObject({ lease: 'none', failsafeA: 32 });
    rig.limit(16, { ref: 0 });
    rig.pass(2);
    expect(heldForMs(rig)).toBe(Number.POSITIVE_INFINITY);
    rig.charger.reboot('boot-2', rig.nowMs());
    expect(rig.heldA()).toBe(32);
  });

  it('permits no draw above the largest limit in force (P1 for one charger)', () => {
    const step = fc.record({
      limitA: fc.constantFrom(0, 6, 8, 16, 32),
      ttlS: fc.constantFrom(5, 20, 60),
      waitS: fc.constantFrom(0.2, 1, 3, 9, 15, 70),
      isLost: fc.boolean(),
    });
    const traits = fc.record({
      driftShare: fc.constantFrom(-0.02, 0, 0.02),
      pilotDelayMs: fc.constantFrom(0, 1000, 5000),
      misbehaviours: fc.constantFrom([], ['late-reaction'] as const),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 12 }), traits, (steps, given) => {
        // The pilot delay may run on the charger's slow clock, too.
        const rig = chargerRig({ traits: { ...given, pilotDelayMs: given.pilotDelayMs / 1.02 } });
        const promised: { limitA: number; untilMs: number; seq: number }[] = [];
        const settleMs = 10_000;
        for (const { limitA, ttlS, waitS, isLost } of steps) {
          if (!isLost) {
            const hb = rig.meters.at(-1);
            const { seq } = rig.limit(limitA, { ttlS });
            const sentAtMs = Date.parse(hb?.at ?? '') - Date.UTC(2026, 5, 1);
            promised.push({ limitA, seq, untilMs: sentAtMs + Math.ceil(1020 * ttlS) + settleMs });
          }
          for (let passedS = 0; passedS < waitS; passedS += 0.2) {
            const heard = rig.acks.length;
            rig.pass(0.2);
            for (const { seq, result } of rig.acks.slice(heard)) {
              if (result !== 'APPLIED') continue;
              for (const one of promised)
                if (one.seq < seq) one.untilMs = Math.min(one.untilMs, rig.nowMs() + settleMs);
            }
            const inForce = promised.filter(({ untilMs }) => rig.nowMs() < untilMs).map((one) => one.limitA);
            expect(rig.drawnA()).toBeLessThanOrEqual(Math.max(6, ...inForce) + 1e-9);
          }
        }
      }),
      { numRuns: 150 },
    );
  });
});

describe('A virtual charger that restarts', () => {
  it('starts at the newest applied thenA, reports it, and counts heartbeats from 1', () => {
    const rig = chargerRig();
    rig.limit(16, { thenA: 0 });
    rig.pass(2);
    rig.charger.reboot('boot-2', rig.nowMs());
    rig.pass(1);
    expect(rig.heldA()).toBe(0);
    expect(rig.states.at(-1)).toMatchObject({ boot: 'boot-2', connectors: [{ failsafeA: 0 }] });
    expect(rig.meters.at(-1)).toMatchObject({ boot: 'boot-2', hb: 1, epoch: 0, seq: 0, limitA: 0 });
    rig.pass(9);
    expect(rig.drawnA()).toBe(0);
  });

  it('starts at its configured and reported fail-safe if it cannot keep thenA', () => {
    const rig = chargerRig({ traits: { misbehaviours: ['forget-then'] } });
    rig.limit(16, { thenA: 0 });
    rig.pass(2);
    expect(rig.states.at(-1)?.connectors?.[0]).toMatchObject({ failsafeA: 6 });
    rig.charger.reboot('boot-2', rig.nowMs());
    expect(rig.heldA()).toBe(6);
    rig.pass(1);
    rig.limit(16, { thenA: 0, boot: 'boot-2', seq: 1 });
    rig.pass(70);
    expect(rig.heldA()).toBe(0);
  });

  it('keeps its meter register and its plugged-in car', () => {
    const rig = chargerRig();
    rig.pass(100);
    const before = rig.charger.readings()[0];
    rig.charger.reboot('boot-2', rig.nowMs());
    expect(rig.charger.readings()[0]).toEqual(before);
  });
});

describe('The messages of a virtual charger', () => {
  it('include its state and a value of every connector at once after sync', () => {
    const rig = chargerRig({ connectors: ['1', '2', '3'].map((id) => connector(id)) });
    rig.pass(25);
    const [states, meters] = [rig.states.length, rig.meters.length];
    rig.sync();
    expect(rig.states.length - states).toBe(1);
    expect(rig.meters.slice(meters).map(({ topic }) => topic.at(-7))).toEqual(['1', '2', '3']);
  });

  it('include a value of each connector in every period of its own clock without changes', () => {
    const rig = chargerRig({ traits: { driftShare: 0.02 } });
    rig.pass(300);
    const times = rig.meters.slice(-10).map(({ at }) => Date.parse(at ?? ''));
    expect(new Set(times.slice(1).map((at, i) => at - (times[i] ?? 0)))).toEqual(new Set([10_200]));
  });

  it('number at most five a second and twenty at once, with acks first', () => {
    const ids = ['1', '2', '3', '4', '5', '6', '7'];
    const rig = chargerRig({ connectors: ids.map((id) => connector(id)) });
    for (let i = 0; i < 300; i++) {
      for (const id of ids) rig.limit(6 + ((i * 7) % 26), { ref: 1, ttlS: 600 }, id);
      rig.pass(1);
    }
    const said = rig.saidAtMs;
    for (const [i, atMs] of said.entries()) {
      const withinMs = (said[i + 20] ?? Number.POSITIVE_INFINITY) - atMs;
      expect(withinMs).toBeGreaterThan(0);
    }
    const windowS = 300;
    expect(said.length).toBeLessThanOrEqual(20 + 5 * windowS);
    expect(new Set(rig.acks.map(({ result }) => result))).toEqual(new Set(['APPLIED']));
  });

  it.each([true, false])(
    'include a bounded number of acks, and none after a lost connection (%s)',
    (broke) => {
      const rig = chargerRig();
      for (let seq = 1; seq <= 1000; seq++) {
        rig.charger.receiveLimit(
          '1' as ConnectorId,
          {
            v: 1,
            epoch: 1,
            seq,
            boot: 'boot-0',
            ref: 1,
            ttlS: 60,
            limitA: 6,
            limitW: 1,
            thenA: 6,
            reason: 'lock',
          },
          0,
        );
      }
      if (broke) rig.charger.connected(0);
      rig.pass(300);
      expect(rig.acks).toHaveLength(broke ? 0 : 40);
    },
  );
});
