// The meter ledger: exact cases of the MQTT contract, and any history against a naive account of it.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  createMeterLedger,
  type Link,
  type MeterReading,
  type MeterSlot,
  type RecordResult,
  type Throttle,
} from '../../machines/meter-ledger.js';

const STALE_AFTER_MS = 30_000;

function ledgerOf(...keys: string[]) {
  const ledger = createMeterLedger(STALE_AFTER_MS);
  return { ledger, slots: keys.map((key) => ledger.addConnector(key, 32)) };
}

function oneConnector() {
  const ledger = createMeterLedger(STALE_AFTER_MS);
  return { ledger, slot: ledger.addConnector('q1-a/1', 32) };
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

  it('leaves out a connector while it is stale or offline, and counts it again with its next reading', () => {
    const { ledger, slot } = oneConnector();
    ledger.record(slot, { powerW: 7_360 }, 0);
    ledger.expire(STALE_AFTER_MS, () => {});
    expect([slot.link, slot.powerW, ledger.measuredW]).toEqual(['stale', 7_360, 0]);
    ledger.recordState(slot, false, undefined);
    expect([slot.link, ledger.measuredW]).toEqual(['offline', 0]);
    ledger.record(slot, { powerW: 5_000 }, STALE_AFTER_MS);
    expect([slot.link, ledger.measuredW]).toEqual(['online', 5_000]);
    ledger.recordState(slot, false, undefined);
    ledger.removeConnector(slot);
    expect(ledger.measuredW).toBe(0);
  });

  it('loses a connector that is removed, which then refuses everything', () => {
    const { ledger, slot } = oneConnector();
    ledger.record(slot, { powerW: 7_360 }, 0);
    ledger.removeConnector(slot);
    ledger.removeConnector(slot);
    expect([ledger.measuredW, slot.isCurrent, ledger.nextStaleAtMs()]).toEqual([0, false, undefined]);
    expect(ledger.record(slot, { powerW: 1 }, 1)).toBe('refused');
    expect(ledger.recordState(slot, true, 'b')).toBe('refused');
    expect(ledger.measuredW).toBe(0);
    expect(ledger.connector('q1-a/1')).toBeUndefined();
  });

  it('has one place per connector', () => {
    const { ledger } = oneConnector();
    expect(() => ledger.addConnector('q1-a/1', 32)).toThrow('q1-a/1');
  });
});

describe('what is news', () => {
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
    expect(ledger.recordState(slot, false, 'x')).toBe('refused');
    expect([slot.powerW, slot.link]).toEqual([20, 'online']);
  });

  it('retires a boot as soon as the charger announces another', () => {
    const { ledger, slot } = oneConnector();
    ledger.record(slot, { powerW: 10, boot: 'x', hb: 5 }, 0);
    ledger.recordState(slot, true, 'y');
    expect(ledger.record(slot, { powerW: 99, boot: 'x', hb: 6 }, 2)).toBe('refused');
    expect(ledger.record(slot, { powerW: 20, boot: 'y', hb: 0 }, 3)).toBe('accepted');
  });

  it('takes a boot again that a late message of an older one retired, once that one is silent', () => {
    const { ledger, slot } = oneConnector();
    ledger.record(slot, { powerW: 20, boot: 'y', hb: 1 }, 0);
    ledger.recordState(slot, false, 'x');
    expect(ledger.record(slot, { powerW: 20, boot: 'y', hb: 2 }, STALE_AFTER_MS - 1)).toBe('refused');
    expect(ledger.record(slot, { powerW: 20, boot: 'y', hb: 3 }, STALE_AFTER_MS)).toBe('changed');
    expect(ledger.record(slot, { powerW: 20, boot: 'y', hb: 4 }, STALE_AFTER_MS + 1)).toBe('accepted');
    expect(ledger.record(slot, { powerW: 99, boot: 'x', hb: 9 }, STALE_AFTER_MS + 2)).toBe('refused');
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

describe('the link', () => {
  it('is offline before anything is heard, and silent connectors are counted', () => {
    const { ledger, slots } = ledgerOf('a/1', 'a/2', 'a/3');
    expect(slots.map((slot) => ledger.linkAt(slot, 0))).toEqual(['offline', 'offline', 'offline']);
    for (const slot of slots.slice(0, 2)) ledger.record(slot, { powerW: 1 }, 1_000);
    expect(ledger.silentCountAt(1_000)).toBe(1);
    expect(ledger.silentCountAt(31_000)).toBe(3);
  });

  it('turns stale exactly three heartbeats after the last value', () => {
    const { ledger, slot } = oneConnector();
    expect(ledger.record(slot, { powerW: 1 }, 5_000)).toBe('changed');
    expect(ledger.nextStaleAtMs()).toBe(35_000);
    expect(ledger.linkAt(slot, 34_999)).toBe('online');
    expect(ledger.linkAt(slot, 35_000)).toBe('stale');
    const stale: string[] = [];
    ledger.expire(35_000, ({ key }) => stale.push(key));
    ledger.expire(35_000, ({ key }) => stale.push(key));
    expect(stale).toEqual(['q1-a/1']);
    expect(ledger.nextStaleAtMs()).toBeUndefined();
  });

  it('needs a value to be online again after the charger was lost', () => {
    const { ledger, slot } = oneConnector();
    ledger.record(slot, { powerW: 1 }, 0);
    expect(ledger.recordState(slot, true, undefined)).toBe('accepted');
    expect(slot.link).toBe('online');
    expect(ledger.recordState(slot, false, undefined)).toBe('changed');
    expect(ledger.recordState(slot, true, undefined)).toBe('changed');
    expect(slot.link).toBe('stale');
    expect(ledger.record(slot, { powerW: 1 }, 4)).toBe('changed');
    expect(slot.link).toBe('online');
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

describe('the throttle', () => {
  it.each([
    [undefined, 'free'],
    [32, 'free'],
    [40, 'free'],
    [31.9, 'limited'],
    [6.1, 'limited'],
    [6, 'minimum'],
    [0.1, 'minimum'],
    [0, 'paused'],
  ] satisfies [number | undefined, Throttle][])('at limitA %s is %s', (limitA, throttle) => {
    const { ledger, slot } = oneConnector();
    ledger.record(slot, { powerW: 0 }, 0);
    const result = ledger.record(slot, { powerW: 0, limitA }, 1);
    expect(slot.throttle).toBe(throttle);
    expect(result).toBe(throttle === 'free' ? 'accepted' : 'changed');
  });
});

// ---------------------------------------------------------------- any history against a naive account

/** Everything that was ever accepted, searched through at every question. */
class Account {
  powerW = 0;
  receivedAtMs: number | undefined;
  boot: string | undefined;
  hb: number | undefined;
  readonly retired = new Set<string>();
  isOffline = true;
  needsValue = false;
  /** What a machine knows that is told of `changed` and of expiry only. */
  told: { link: Link; throttle: Throttle } = { link: 'offline', throttle: 'free' };

  linkAt(nowMs: number): Link {
    if (this.isOffline) return 'offline';
    const isOld = this.receivedAtMs === undefined || nowMs - this.receivedAtMs >= STALE_AFTER_MS;
    return this.needsValue || isOld ? 'stale' : 'online';
  }

  isNews({ boot, hb }: MeterReading, nowMs: number): boolean {
    if (boot !== undefined && boot !== this.boot) {
      const isSilent = this.receivedAtMs === undefined || nowMs - this.receivedAtMs >= STALE_AFTER_MS;
      return isSilent || !this.retired.has(boot);
    }
    if (hb === undefined || this.hb === undefined || hb > this.hb) return true;
    return boot === undefined && hb < this.hb && this.linkAt(nowMs) !== 'online';
  }

  startBoot(boot: string | undefined): void {
    if (boot === undefined || boot === this.boot) return;
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
    limitA: fc.constantFrom(0, 6, 16, 32),
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

function tell(account: Account, slot: MeterSlot, result: RecordResult): void {
  if (result === 'changed') account.told = { link: slot.link, throttle: slot.throttle };
}

describe('any history', () => {
  it('gives the total, links and modes that a naive account gives', () => {
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
            tell(account, slot, result);
            if (isNews) {
              account.startBoot(step.reading.boot);
              account.hb = step.reading.hb ?? account.hb;
              account.powerW = step.reading.powerW;
              account.receivedAtMs = nowMs;
              account.isOffline = false;
              account.needsValue = false;
            }
          } else if (step.kind === 'state') {
            const isNews = step.boot === undefined || !account.retired.has(step.boot);
            const result = ledger.recordState(slot, step.online, step.boot);
            expect(result !== 'refused').toBe(isNews);
            tell(account, slot, result);
            if (isNews) {
              account.startBoot(step.boot);
              if (account.isOffline && step.online) account.needsValue = true;
              account.isOffline = !step.online;
            }
          } else {
            ledger.expire(nowMs, (stale) => {
              tell(accounts.get(stale) as Account, stale, 'changed');
            });
            for (const [each, { told }] of accounts) expect(told.link).toBe(ledger.linkAt(each, nowMs));
          }
          const all = [...accounts];
          const online = all.filter(([each]) => each.link === 'online');
          expect(ledger.measuredW).toBe(online.reduce((sum, [, { powerW }]) => sum + powerW, 0));
          expect(ledger.silentCountAt(nowMs)).toBe(
            all.filter(([, each]) => each.linkAt(nowMs) !== 'online').length,
          );
          for (const [each, expected] of all) {
            expect(ledger.linkAt(each, nowMs)).toBe(expected.linkAt(nowMs));
            expect(expected.told).toEqual({ link: each.link, throttle: each.throttle });
          }
          const due = all
            .filter(([each]) => each.link === 'online')
            .map(([, { receivedAtMs = 0 }]) => receivedAtMs);
          expect(ledger.nextStaleAtMs()).toBe(due.length > 0 ? Math.min(...due) + STALE_AFTER_MS : undefined);
        }
      }),
      { numRuns: 400 },
    );
  });
});
