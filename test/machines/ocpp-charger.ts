// A test charger behind a session: it takes and shows profiles, has a clock of its own, and has the requested faults.

import type { Outstanding } from '../../machines/session/charge-point.js';
import { ChargerSession, type Proofs } from '../../machines/session/charger-session.js';
import type { DcOutput } from '../../machines/session/dc-output.js';
import type { Fallbacks } from '../../machines/session/failsafe-profile.js';
import type {
  ChargerAbilities,
  GatewayAnswer,
  GatewayMessage,
  GatewayRequest,
  LimitToTake,
  MeteredValues,
} from '../../machines/session/gateway-request.js';
import { ProfileStore } from '../../sim/charger/ocpp-evse.js';

export interface Behaviour {
  readonly abilities?: Partial<ChargerAbilities>;
  readonly losesPeriods?: boolean;
  readonly ignoresStart?: boolean;
  /** Accepts a profile and ignores it. */
  readonly ignores?: boolean;
  readonly refuses?: boolean;
  /** Shows no schedule while no transaction runs. */
  readonly hidesIdle?: boolean;
  readonly hidesSchedule?: boolean;
  /** Shows a schedule from its beginning, and not from now on. */
  readonly showsFromStart?: boolean;
  /** Rounds limits to the nearest whole ampere. */
  readonly wholeAmperes?: boolean;
  /** Rounds limits down to whole amperes. */
  readonly roundsDown?: boolean;
  /** Draws no more than this under any limit. */
  readonly neverAbove?: number;
  /** Refuses every other unit. */
  readonly only?: 'A' | 'W';
  /** True length of the charger's second, s. */
  readonly secondLastsS?: number;
  readonly neverAnswers?: boolean;
  /** Delay of each answer. */
  readonly answersAfterS?: number;
  /** Does each request, but its answer is lost. */
  readonly losesAnswers?: boolean;
}

export const HEARTBEAT_MS = 10_000;
/** The configuration of two connectors and their leases take fewer requests. */
const REQUESTS_AT_ONCE = 40;
const STEP_MS = 100;

/**
 * The requests of a session at one instant. The caller answers each before the next.
 * @throws Error if the session asks without end
 */
export function* requestsAtOnce(session: ChargerSession, nowMs: number): Generator<Outstanding> {
  for (let asked = 0; ; asked++) {
    const next = session.takeRequest(nowMs);
    if (next === undefined) return;
    if (asked === REQUESTS_AT_ONCE)
      throw new Error(`the session ${session.boot} asks without end, now to ${next.request.kind}`);
    yield next;
  }
}

/** One charger with one connector of 32 A on three phases and a fail-safe of 6 A, and its gateway session. */
export class TestCharger {
  readonly session: ChargerSession;
  readonly requests: GatewayRequest[] = [];
  readonly said: GatewayMessage[] = [];
  readonly notes: (string | undefined)[] = [];
  behaviour: Behaviour;
  store: ProfileStore;
  nowMs = 1_000_000;
  ownOffsetMs: number;
  transaction: number | undefined;
  /** True with a car, which draws all permitted power. */
  isCharging = false;
  /** `failing`: the charger does this request, but its answer is lost. `refusing`: it refuses this request. */
  failing: GatewayRequest['kind'] | undefined;
  refusing: GatewayRequest['kind'] | undefined;
  /** Limit by another system. */
  ceilingA = Number.POSITIVE_INFINITY;
  /** The charger answers pings. */
  isAlive = true;
  /** Number of its named starts, by any gateway. */
  boots: number;
  #sampledAtMs = 0;
  /** Start of the last schedule, in whole seconds as in OCPP. */
  #startsAtOwnMs: number | undefined;
  #seq = 0;
  #late: { readonly ticket: number; readonly request: GatewayRequest; readonly atMs: number } | undefined;

  constructor(
    behaviour: Behaviour = {},
    options: {
      provenFirmware?: Proofs;
      failsafeA?: number;
      fallbacksA?: Fallbacks;
      boots?: number;
      dc?: DcOutput;
    } = {},
  ) {
    this.behaviour = behaviour;
    this.boots = options.boots ?? 0;
    this.store = this.#newStore();
    // Some day in 1970, because a charger's clock need not be right.
    this.ownOffsetMs = 5_000_000;
    this.session = new ChargerSession({
      connectors: [
        {
          connectorId: '1',
          evse: 1,
          phases: 3,
          voltageV: 230,
          maxCurrentA: options.dc === undefined ? 32 : 100,
          failsafeA: options.failsafeA ?? 6,
          dc: options.dc,
        },
      ],
      heartbeatMs: HEARTBEAT_MS,
      newBoot: () => `boot-${++this.boots}`,
      provenFirmware: options.provenFirmware,
      fallbacksA: options.fallbacksA,
      ceilingA: () => this.ceilingA,
    });
  }

  get ownMs(): number {
    return Math.floor(this.nowMs / (this.behaviour.secondLastsS ?? 1)) + this.ownOffsetMs;
  }

  /** The limit in force now, in its unit. undefined without a limit. */
  get limit(): number | undefined {
    return this.store.limitAt(this.ownMs)?.limit;
  }

  connect(): this {
    this.session.opened(this.nowMs);
    return this;
  }

  cut(): this {
    this.session.closed(this.nowMs);
    return this;
  }

  boot(firmware = 'Maker Model 1.0'): this {
    this.session.booted(firmware, this.nowMs);
    this.status(this.isCharging ? 'Charging' : 'Available');
    return this;
  }

  status(status: 'Available' | 'Preparing' | 'Charging'): this {
    this.session.receivedStatus(1, status, this.ownMs, this.nowMs);
    return this;
  }

  plugIn(transaction = 77): this {
    this.transaction = transaction;
    this.isCharging = true;
    this.session.transactionBegan(1, transaction, this.nowMs);
    return this.status('Charging');
  }

  unplug(): this {
    const { transaction = 0 } = this;
    this.transaction = undefined;
    this.isCharging = false;
    this.store.clear('transaction');
    this.session.transactionEnded(transaction, this.nowMs);
    return this.status('Available');
  }

  get hb(): number {
    return this.meters().at(-1)?.hb ?? 0;
  }

  meters() {
    return this.said.flatMap((message) => (message.kind === 'meter' ? [message.body] : []));
  }

  acks() {
    return this.said.flatMap((message) => (message.kind === 'ack' ? [message.body] : []));
  }

  /** The connector in the last state sent to the service. */
  get stated() {
    const states = this.said.flatMap((message) => (message.kind === 'state' ? [message.body] : []));
    return states.at(-1)?.connectors?.[0];
  }

  /** The last lease state of an AC connector. */
  get lease():
    | {
        readonly lease: string;
        readonly failsafeA: number;
        readonly keepsThen: boolean;
        readonly whyNoLease?: string;
      }
    | undefined {
    const { stated } = this;
    return stated !== undefined && 'failsafeA' in stated ? stated : undefined;
  }

  /** Sends a grant of the service, in answer to the newest heartbeat. */
  grant(limitA: number, thenA: number, more: Partial<LimitToTake> = {}): this {
    const { boot } = this.session;
    const limit = { boot, epoch: 1, seq: ++this.#seq, ref: this.hb, ttlS: 60, limitA, thenA, ...more };
    this.session.receiveLimit('1', limit, this.nowMs);
    return this.pass(0);
  }

  /**
   * The charger asks for the time, and an answer may be in transit while `serviceAnswers` runs. Returns false if it
   * gets none.
   */
  asksTime(serviceAnswers: () => void): boolean {
    let mayReceiveTime = false;
    const { time } = this.session;
    time.asked((may) => {
      mayReceiveTime = may;
    }, this.nowMs);
    this.pass(1);
    serviceAnswers();
    time.giveUp(this.nowMs);
    return mayReceiveTime;
  }

  /** Passes time in which the charger sends its meter values and answers requests. */
  pass(seconds: number): this {
    const untilMs = this.nowMs + 1000 * seconds;
    for (;;) {
      this.#step();
      if (this.nowMs >= untilMs) return this;
      this.nowMs += STEP_MS;
    }
  }

  /** Passes time in which no message reaches the charger. */
  unanswered(seconds: number): this {
    this.nowMs += 1000 * seconds;
    this.session.advance(this.nowMs);
    this.said.push(...this.session.takeMessages(this.nowMs));
    return this;
  }

  /** Passes time in which the service answers each heartbeat with the same grant. */
  renewed(seconds: number, limitA: number, thenA: number): this {
    const untilMs = this.nowMs + 1000 * seconds;
    while (this.nowMs < untilMs) {
      const { hb } = this;
      this.pass(0.1);
      if (this.hb !== hb) this.grant(limitA, thenA);
    }
    return this;
  }

  values(more: Partial<MeteredValues> = {}): void {
    const limitA = Math.min(this.limit ?? 32, 32);
    const drawnA = this.isCharging ? limitA : 0;
    this.session.receivedValues(
      1,
      {
        ownMs: 1000 * Math.floor(this.ownMs / 1000),
        transaction: this.transaction,
        powerW: 690 * drawnA,
        currentA: [drawnA, drawnA, drawnA],
        namesPhases: true,
        voltageV: [230, 230, 230],
        energyWh: 0,
        ...more,
      },
      this.nowMs,
    );
  }

  #step(): void {
    if (this.transaction !== undefined && this.nowMs - this.#sampledAtMs >= HEARTBEAT_MS) {
      this.#sampledAtMs = this.nowMs;
      this.values();
    }
    if (this.isAlive && this.transaction === undefined) this.session.received(this.nowMs);
    this.session.advance(this.nowMs);
    this.#answerLate();
    for (const next of requestsAtOnce(this.session, this.nowMs)) {
      this.requests.push(next.request);
      if (this.behaviour.neverAnswers) break;
      if (this.behaviour.answersAfterS !== undefined) {
        this.#late = { ...next, atMs: this.nowMs + 1000 * this.behaviour.answersAfterS };
        break;
      }
      if (this.refusing === next.request.kind) {
        this.session.answered(next.ticket, REJECTED, this.nowMs);
        continue;
      }
      if (this.behaviour.losesAnswers || this.failing === next.request.kind) {
        this.#answer(next.request);
        this.session.answered(next.ticket, { kind: 'failed', why: 'no answer came' }, this.nowMs);
        continue;
      }
      this.session.answered(next.ticket, this.#answer(next.request), this.nowMs);
    }
    this.said.push(...this.session.takeMessages(this.nowMs));
    for (const { whyNot } of this.session.takeNotes()) this.notes.push(whyNot);
  }

  #answerLate(): void {
    const late = this.#late;
    if (late === undefined || this.nowMs < late.atMs) return;
    this.#late = undefined;
    this.session.answered(late.ticket, this.#answer(late.request), this.nowMs);
  }

  #newStore(): ProfileStore {
    const { losesPeriods = false, ignoresStart = false } = this.behaviour;
    return new ProfileStore({ losesPeriods, ignoresStart });
  }

  /** Forgets the profiles and changes the behaviour. */
  change(behaviour: Behaviour): this {
    this.behaviour = behaviour;
    this.store = this.#newStore();
    return this;
  }

  #answer(request: GatewayRequest): GatewayAnswer {
    const { behaviour } = this;
    if (request.kind === 'readAbilities') {
      const usual = { whyNot: undefined, units: ['A', 'W'], hindrance: undefined, summary: '' } as const;
      return { kind: 'abilities', abilities: { ...usual, ...behaviour.abilities } };
    }
    if (request.kind === 'setFailsafe') {
      if (behaviour.only !== undefined && request.unit !== behaviour.only) return REJECTED;
      this.store.setFailsafe(request);
    } else if (request.kind === 'setLease') {
      const { unit, limit } = request.schedule;
      if (behaviour.refuses || (behaviour.only !== undefined && unit !== behaviour.only)) return REJECTED;
      const rounded = behaviour.roundsDown ? Math.floor(limit) : limit;
      const { neverAbove = rounded } = behaviour;
      const taken = behaviour.wholeAmperes ? Math.round(limit) : Math.min(rounded, neverAbove);
      this.#startsAtOwnMs = 1000 * Math.floor(request.schedule.startsAtOwnMs / 1000);
      const schedule = { ...request.schedule, startsAtOwnMs: this.#startsAtOwnMs, limit: taken };
      if (!behaviour.ignores) this.store.setLease(request.slot, schedule, this.ownMs);
    } else if (request.kind === 'askStatus' && behaviour.showsFromStart) {
      this.status(this.isCharging ? 'Charging' : 'Available');
    } else if (request.kind === 'clear') {
      this.store.clear(request.slot);
    } else if (request.kind === 'readSchedule') {
      if (behaviour.hidesSchedule) return { kind: 'refused', why: 'NotImplemented' };
      const fromMs = (behaviour.showsFromStart ? this.#startsAtOwnMs : undefined) ?? this.ownMs;
      const schedule = this.store.composite(fromMs, request.durationS, request.unit);
      const isHidden = behaviour.hidesIdle && this.transaction === undefined;
      const periods = isHidden ? [{ startS: 0, limit: -1 }] : schedule.periods;
      return { kind: 'schedule', schedule: { ...schedule, periods } };
    }
    return { kind: 'done' };
  }
}

const REJECTED = { kind: 'refused', why: 'Rejected' } as const;
