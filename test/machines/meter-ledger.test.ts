// The meter ledger: exact cases of the MQTT contract, and random histories against a simple model.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MeterLedger, type MeterReading, type MeterSlot } from '../../machines/power/meter-ledger.js';

const STALE_AFTER_MS = 30_000;

function ledgerOf(...keys: string[]) {
  const ledger = new MeterLedger(STALE_AFTER_MS);
  return { ledger, slots: keys.map((key) => ledger.addConnector(key)) };
}

function oneConnector() {
  const ledger = new MeterLedger(STALE_AFTER_MS);
  return { ledger, slot: ledger.addConnector('q1-a/1') };
}

describe('the measured power', () => {
  it('is the sum of the last readings', () => {
    const { ledger, slots } = ledgerOf('a/1', 'a/2', 'b/1');
    slots.forEach((slot, i) => {
      ledger.record(slot, { powerW: 1_000 * (i + 1) }, i);
    });
    expect(ledger.measuredW).toBe(6_000);
    for (const slot of slots) ledger.record(slot, { powerW: 7 }, 10);
    expect(ledger.measuredW).toBe(21);
  });

  it('leaves out a connector while it is silent or gone, and counts it again with its next reading', () => {
    const { ledger, slot } = oneConnector();
    ledger.record(slot, { powerW: 7_360 }, 0);
    ledger.expire(STALE_AFTER_MS, () => {});
    expect([slot.isFresh, slot.powerW, ledger.measuredW]).toEqual([false, 7_360, 0]);
    ledger.recordState(slot, { online: false }, 0);
    expect([slot.isFresh, ledger.measuredW]).toEqual([false, 0]);
    ledger.record(slot, { powerW: 5_000 }, STALE_AFTER_MS);
    expect([slot.isFresh, ledger.measuredW]).toEqual([true, 5_000]);
    ledger.recordState(slot, { online: false }, 0);
    ledger.removeConnector(slot);
    expect(ledger.measuredW).toBe(0);
  });

  it('loses a connector that is removed, which then refuses everything', () => {
    const { ledger, slot } = oneConnector();
    ledger.record(slot, { powerW: 7_360 }, 0);
    ledger.removeConnector(slot);
    ledger.removeConnector(slot);
    expect([ledger.measuredW, slot.isCurrent]).toEqual([0, false]);
    expect(ledger.record(slot, { powerW: 1 }, 1)).toBe('refused');
    expect(ledger.recordState(slot, { online: true, boot: 'b' }, 0)).toBe('refused');
    expect(ledger.measuredW).toBe(0);
    ledger.expire(STALE_AFTER_MS, () => expect.fail('it falls silent though it is gone'));
  });

  it('refuses a state that is no newer than another of its boot, and takes a last will at any time', () => {
    const { ledger, slot } = oneConnector();
    const state = (boot: string, seqNo?: number) =>
      ledger.recordState(slot, { online: seqNo !== undefined, boot, seqNo }, 0);
    expect([state('a', 1), state('a', 2), state('a', 1), state('a', 2)]).toEqual([
      'accepted',
      'accepted',
      'refused',
      'refused',
    ]);
    expect([state('a'), state('a', 2), state('a', 3)]).toEqual(['accepted', 'refused', 'accepted']);
    expect([state('b', 1), state('a', 9)]).toEqual(['accepted', 'refused']);
  });
});

describe('which values are new', () => {
  it('refuses a doubled and an overtaken value of the same boot', () => {
    const { ledger, slot } = oneConnector();
    ledger.record(slot, { powerW: 10, boot: 'x', hb: 5 }, 0);
    expect(ledger.record(slot, { powerW: 99, boot: 'x', hb: 5 }, 1)).toBe('refused');
    expect(ledger.record(slot, { powerW: 99, boot: 'x', hb: 4 }, 2)).toBe('refused');
    expect([slot.powerW, slot.receivedAtMs, ledger.measuredW]).toEqual([10, 0, 10]);
    expect(ledger.record(slot, { powerW: 11, boot: 'x', hb: 6 }, 3)).toBe('accepted');
  });

  it('takes a new boot from its first heartbeat on, and nothing of the old one after it', () => {
    const { ledger, slot } = oneConnector();
    ledger.record(slot, { powerW: 10, boot: 'x', hb: 500 }, 0);
    expect(ledger.record(slot, { powerW: 20, boot: 'y', hb: 1 }, 1)).toBe('accepted');
    expect(ledger.record(slot, { powerW: 99, boot: 'x', hb: 501 }, 2)).toBe('refused');
    expect(ledger.recordState(slot, { online: false, boot: 'x' }, 0)).toBe('refused');
    expect([slot.powerW, slot.isFresh]).toEqual([20, true]);
  });

  it('retires a boot as soon as the charger announces another', () => {
    const { ledger, slot } = oneConnector();
    ledger.record(slot, { powerW: 10, boot: 'x', hb: 5 }, 0);
    ledger.recordState(slot, { online: true, boot: 'y' }, 0);
    expect(ledger.record(slot, { powerW: 99, boot: 'x', hb: 6 }, 2)).toBe('refused');
    expect(ledger.record(slot, { powerW: 20, boot: 'y', hb: 0 }, 3)).toBe('accepted');
  });

  it('takes a boot again that a late message of an older one retired, once that one is silent', () => {
    const { ledger, slot } = oneConnector();
    ledger.record(slot, { powerW: 20, boot: 'y', hb: 1 }, 0);
    ledger.recordState(slot, { online: false, boot: 'x' }, 0);
    expect(ledger.record(slot, { powerW: 20, boot: 'y', hb: 2 }, STALE_AFTER_MS - 1)).toBe('refused');
    expect(ledger.record(slot, { powerW: 20, boot: 'y', hb: 3 }, STALE_AFTER_MS)).toBe('resumed');
    expect(ledger.record(slot, { powerW: 20, boot: 'y', hb: 4 }, STALE_AFTER_MS + 1)).toBe('accepted');
    expect(ledger.record(slot, { powerW: 99, boot: 'x', hb: 9 }, STALE_AFTER_MS + 2)).toBe('refused');
  });

  it('gives a charger that just started time for its first value: until then a late one of the earlier boot changes nothing', () => {
    const { ledger, slot } = oneConnector();
    ledger.record(slot, { powerW: 20, boot: 'x', hb: 9 }, 0);
    ledger.recordState(slot, { online: false, boot: 'x' }, 1);
    const startedAtMs = STALE_AFTER_MS + 5;
    ledger.recordState(slot, { online: true, boot: 'y' }, startedAtMs);
    expect(ledger.record(slot, { powerW: 20, boot: 'x', hb: 10 }, startedAtMs + 1)).toBe('refused');
    expect(ledger.record(slot, { powerW: 10, boot: 'y', hb: 1 }, startedAtMs + 2)).toBe('resumed');

    const silent = oneConnector();
    silent.ledger.record(silent.slot, { powerW: 20, boot: 'x', hb: 9 }, 0);
    silent.ledger.recordState(silent.slot, { online: true, boot: 'y' }, startedAtMs);
    const isSilentMs = startedAtMs + STALE_AFTER_MS;
    expect(silent.ledger.record(silent.slot, { powerW: 20, boot: 'x', hb: 10 }, isSilentMs)).not.toBe(
      'refused',
    );
  });

  it('takes every value of a charger that sends powerW alone', () => {
    const { ledger, slot } = oneConnector();
    for (const powerW of [1, 2, 2, 3]) expect(ledger.record(slot, { powerW }, 0)).not.toBe('refused');
    expect(slot.powerW).toBe(3);
  });

  it('takes a lower heartbeat of a charger without boot ids once the old count fell silent', () => {
    const { ledger, slot } = oneConnector();
    ledger.record(slot, { powerW: 10, hb: 500 }, 0);
    expect(ledger.record(slot, { powerW: 20, hb: 1 }, STALE_AFTER_MS - 1)).toBe('refused');
    expect(ledger.record(slot, { powerW: 20, hb: 1 }, STALE_AFTER_MS)).toBe('accepted');
    expect(ledger.record(slot, { powerW: 30, hb: 1 }, 2 * STALE_AFTER_MS)).toBe('refused');
  });

  it('remembers a bounded number of boots', () => {
    const { ledger, slot } = oneConnector();
    for (let boot = 0; boot < 10; boot++) ledger.record(slot, { powerW: boot, boot: `boot ${boot}` }, boot);
    expect(ledger.record(slot, { powerW: 99, boot: 'boot 1' }, 20)).toBe('refused');
    expect(ledger.record(slot, { powerW: 99, boot: 'boot 0' }, 20)).toBe('accepted');
  });
});

describe('a fresh reading', () => {
  it('is fresh no longer exactly three heartbeats after it came', () => {
    const { ledger, slot } = oneConnector();
    expect(slot.isFresh).toBe(false);
    expect(ledger.record(slot, { powerW: 1 }, 5_000)).toBe('resumed');
    expect(ledger.record(slot, { powerW: 1 }, 5_000)).toBe('accepted');
    const silent: string[] = [];
    ledger.expire(34_999, ({ key }) => silent.push(key));
    expect([slot.isFresh, silent]).toEqual([true, []]);
    ledger.expire(35_000, ({ key }) => silent.push(key));
    ledger.expire(35_000, ({ key }) => silent.push(key));
    expect([slot.isFresh, silent]).toEqual([false, ['q1-a/1']]);
  });

  it('ends with a goodbye, and only a value brings another: being there is not enough', () => {
    const { ledger, slot } = oneConnector();
    ledger.record(slot, { powerW: 1 }, 0);
    ledger.recordState(slot, { online: true }, 0);
    expect(slot.isFresh).toBe(true);
    ledger.recordState(slot, { online: false }, 0);
    ledger.recordState(slot, { online: true }, 0);
    expect(slot.isFresh).toBe(false);
    expect(ledger.record(slot, { powerW: 1 }, 4)).toBe('resumed');
    expect(slot.isFresh).toBe(true);
  });

  it('survives a clock that goes back: nothing turns stale early, nothing hangs', () => {
    const { ledger, slots } = ledgerOf('a/1', 'a/2');
    const [first, second] = slots as [MeterSlot, MeterSlot];
    ledger.record(first, { powerW: 1 }, 100_000);
    ledger.record(second, { powerW: 1 }, 40_000);
    expect(second.receivedAtMs).toBe(100_000);
    const stale: string[] = [];
    ledger.expire(129_999, ({ key }) => stale.push(key));
    expect(stale).toEqual([]);
    ledger.expire(130_000, ({ key }) => stale.push(key));
    expect(stale).toEqual(['a/1', 'a/2']);
  });
});

// ---------------------------------------------------------------- random histories against a simple model

/** Keeps all accepted readings and searches them at every query. */
class Account {
  powerW = 0;
  receivedAtMs: number | undefined;
  boot: string | undefined;
  hb: number | undefined;
  /** The charger reported this boot in its state. */
  saidAtMs: number | undefined;
  readonly retired = new Set<string>();
  /** The charger signed off after the last value, or it was dropped as silent. */
  isGone = true;

  isFreshAt(nowMs: number): boolean {
    return !this.isGone && this.receivedAtMs !== undefined && nowMs - this.receivedAtMs < STALE_AFTER_MS;
  }

  isNews({ boot, hb }: MeterReading, nowMs: number): boolean {
    if (boot !== undefined && boot !== this.boot) {
      const receivedAtMs = [this.receivedAtMs, this.saidAtMs].filter((each) => each !== undefined);
      const isSilent = receivedAtMs.every((each) => nowMs - each >= STALE_AFTER_MS);
      return isSilent || !this.retired.has(boot);
    }
    if (hb === undefined || this.hb === undefined || hb > this.hb) return true;
    return boot === undefined && hb < this.hb && !this.isFreshAt(nowMs);
  }

  startBoot(boot: string | undefined, saidAtMs?: number): void {
    if (boot === undefined || boot === this.boot) return;
    this.saidAtMs = saidAtMs;
    if (this.boot !== undefined) this.retired.add(this.boot);
    this.retired.delete(boot);
    this.boot = boot;
    this.hb = undefined;
  }
}

const readings = fc.record(
  {
    powerW: fc.integer({ min: -50_000, max: 400_000 }),
    boot: fc.constantFrom('x', 'y', 'z'),
    hb: fc.integer({ min: 0, max: 6 }),
    limitA: fc.constantFrom(0, 6, 16),
  },
  { requiredKeys: ['powerW'] },
);
const steps = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('value' as const), reading: readings }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('state' as const),
      online: fc.boolean(),
      boot: fc.option(fc.constantFrom('x', 'y', 'z'), { nil: undefined }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('expire' as const) }) },
);
const histories = fc.array(
  fc.record({
    step: steps,
    connector: fc.integer({ min: 0, max: 2 }),
    afterMs: fc.constantFrom(0, 1, 9_999, 15_000, 30_000),
  }),
  { maxLength: 40 },
);

describe('any history', () => {
  it('gives the sum and the fresh readings that a naive account gives', () => {
    fc.assert(
      fc.property(histories, (history) => {
        const { ledger, slots } = ledgerOf('a/1', 'a/2', 'b/1');
        const accounts = new Map(slots.map((slot) => [slot, new Account()]));
        let nowMs = 0;
        for (const { step, connector, afterMs } of history) {
          nowMs += afterMs;
          const slot = slots[connector] as MeterSlot;
          const account = accounts.get(slot) as Account;
          if (step.kind === 'value') {
            const isNews = account.isNews(step.reading, nowMs);
            const result = ledger.record(slot, step.reading, nowMs);
            expect(result !== 'refused').toBe(isNews);
            if (isNews) {
              account.startBoot(step.reading.boot);
              account.hb = step.reading.hb ?? account.hb;
              account.powerW = step.reading.powerW;
              account.receivedAtMs = nowMs;
              account.isGone = false;
            }
          } else if (step.kind === 'state') {
            const isNews = step.boot === undefined || !account.retired.has(step.boot);
            const result = ledger.recordState(slot, { online: step.online, boot: step.boot }, nowMs);
            expect(result !== 'refused').toBe(isNews);
            if (isNews) {
              account.startBoot(step.boot, step.online ? nowMs : undefined);
              if (!step.online) account.isGone = true;
            }
          } else {
            const due = [...accounts].filter(([each, { isGone }]) => !isGone && each.isFresh);
            const silent = due.filter(([, each]) => !each.isFreshAt(nowMs)).map(([each]) => each.key);
            const sent: string[] = [];
            ledger.expire(nowMs, ({ key }) => sent.push(key));
            expect(sent.sort()).toEqual(silent.sort());
            for (const [each, expected] of accounts) expect(each.isFresh).toBe(expected.isFreshAt(nowMs));
          }
          const all = [...accounts];
          const fresh = all.filter(([each]) => each.isFresh);
          expect(ledger.measuredW).toBe(fresh.reduce((sum, [, { powerW }]) => sum + powerW, 0));
          const receivedAtMs = fresh.map(([, { receivedAtMs = 0 }]) => receivedAtMs);
          expect(ledger.oldestReadingAtMs()).toBe(fresh.length > 0 ? Math.min(...receivedAtMs) : undefined);
        }
      }),
      { numRuns: 400 },
    );
  });
});
