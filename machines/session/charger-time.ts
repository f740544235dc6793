// Tracks the time of a charger and its effect on leases. The gateway reads the charger's clock at intervals, and after
// each answer that may have set that clock. It answers with the time only after the service has received the note that
// leases may end later.
import { longestLeaseMsOf } from '../ledger/grant.js';
import { FAILSAFE_LOOK_S, type Job, type Outstanding } from './charge-point.js';
import { ChargerClock, type ClockVerdict } from './charger-clock.js';
import type { GatewayAnswer, GatewayRequest } from './gateway-request.js';
import type { SessionConnector } from './session-connector.js';

/** Interval between readings of an idle charger's clock. */
const LOOK_EVERY_MS = 120_000;
/** The answer with the time has left by then; the next request must not overtake it. */
export const TOLD_WITHIN_MS = 50;
/** Interval between requests to a charger that may have set its clock, until it shows its reading. */
const ASKED_AGAIN_MS = 5_000;
/** By then all leases of an earlier gateway are over. */
const LEASE_OF_BEFORE_MS = 3_600_000;
/** An answer is on its way for at most this many heartbeats: the gateway gives up the connection before. */
const ON_ITS_WAY_HEARTBEATS = 3;
/** Largest gain of a charger's clock since it was last set. */
const GAINED_MS = 20_000;
const NEVER = Number.POSITIVE_INFINITY;
/** Value of `reportedWhyNot` before the first report. */
const NOTHING_SAID = '';

/** A lease that the charger may have taken. */
interface PossibleLease {
  /** As planned; undefined if unknown, as for a lease of an earlier gateway. */
  readonly endsAtMs: number | undefined;
  /** By then the lease has ended even by the slowest clock, unless that clock is set. */
  readonly overAtMs: number;
}

/** The charger asked for the time, and the answer waits for the service. */
interface Question {
  /**
   * Connectors without confirmation from the service that their leases may end later. The value is the heartbeat with
   * that note; infinite before that heartbeat leaves.
   */
  readonly waiting: Map<SessionConnector, number>;
  readonly reply: (mayReceiveTime: boolean) => void;
}

export class ChargerTime {
  readonly clock = new ChargerClock();
  readonly #connectors: readonly SessionConnector[];
  readonly #heartbeatMs: number;
  #askedAtMs = Number.NEGATIVE_INFINITY;
  /** Instant of the last answer with the time; undefined once the charger has shown its clock since. */
  #toldAtMs: number | undefined;
  #againAtMs = Number.NEGATIVE_INFINITY;
  #question: Question | undefined;
  /** The charger's last answer held the start of its schedule instead of its clock reading. */
  #showsPlans = false;
  #isContinued: boolean;
  /**
   * The charger started, and no reading of its clock has come since. Its timestamps may be from before it received the
   * time.
   */
  #isStarted = false;
  /**
   * Leases that the service expects to end in time, oldest first. A clock that is set back would prolong them,
   * unnoticed by the service.
   */
  readonly #leases = new Map<SessionConnector, PossibleLease[]>();

  /** @param isContinued the charger may hold leases of an earlier gateway */
  constructor(connectors: readonly SessionConnector[], heartbeatMs: number, isContinued: boolean) {
    this.#connectors = connectors;
    this.#heartbeatMs = heartbeatMs;
    this.#isContinued = isContinued;
  }

  opened(nowMs: number): void {
    if (!this.#isContinued) return;
    this.#isContinued = false;
    const ofBefore = { endsAtMs: undefined, overAtMs: nowMs + LEASE_OF_BEFORE_MS };
    for (const connector of this.#connectors) this.#leases.set(connector, [ofBefore]);
  }

  /** The charger received the time, or is about to, and has not shown its clock since. No plan may use its clock. */
  get isInDoubt(): boolean {
    return this.#isTold || this.#question !== undefined;
  }

  get #isTold(): boolean {
    return this.#toldAtMs !== undefined;
  }

  /**
   * The charger asks for the time. `reply`, now or later: true if it may receive the time, which then counts as sent.
   */
  asked(reply: Question['reply'], nowMs: number): void {
    this.giveUp(nowMs);
    for (const connector of this.#connectors) this.#forgetReplaced(connector, nowMs);
    const concerned = this.#connectors.filter((each) => each.status !== undefined || this.#leases.has(each));
    if (this.#isTold || concerned.length === 0) {
      this.#told(nowMs);
      reply(true);
      return;
    }
    if (concerned.some((each) => this.#mayRevive(each, nowMs))) {
      reply(false);
      return;
    }
    // Readings from now on may come from another clock.
    for (const connector of concerned) {
      connector.lease.countAnew();
      connector.noteChange();
    }
    this.#question = { reply, waiting: new Map(concerned.map((connector) => [connector, NEVER])) };
  }

  /** A heartbeat of the connector leaves; it states if leases may end later. */
  noteHeartbeat(connector: SessionConnector, hb: number): void {
    const { waiting } = this.#question ?? {};
    if (waiting?.get(connector) === NEVER) waiting.set(connector, hb);
  }

  /** The service has received that heartbeat of the connector. */
  noteReceived(connector: SessionConnector, hb: number, nowMs: number): void {
    const { waiting } = this.#question ?? {};
    if (waiting === undefined || hb < (waiting.get(connector) ?? NEVER)) return;
    if (!this.#mayRevive(connector, nowMs)) {
      waiting.delete(connector);
      // From now on the service counts the held limit without an end, until the charger takes a newer one.
      this.#leases.delete(connector);
      if (waiting.size > 0) return;
    }
    this.giveUp(nowMs);
  }

  /**
   * Ends the wait for the service. The charger may receive the time if no lease is left of which the service expects
   * the planned end.
   */
  giveUp(nowMs: number): void {
    if (this.#question === undefined) return;
    const { waiting, reply } = this.#question;
    this.#question = undefined;
    for (const connector of waiting.keys()) this.#forgetReplaced(connector, nowMs);
    const mayReceiveTime = ![...waiting.keys()].some((connector) => this.#leases.has(connector));
    if (mayReceiveTime) this.#told(nowMs);
    reply(mayReceiveTime);
  }

  /**
   * An ended lease would apply again after the clock is set back, though the service counts it no more. The service
   * reserves the maximum of a connector without a verified lease anyway.
   */
  #mayRevive(connector: SessionConnector, nowMs: number): boolean {
    if ((connector.reportedWhyNot ?? NOTHING_SAID) !== NOTHING_SAID) return false;
    const leases = this.#leases.get(connector) ?? [];
    return leases.some(({ endsAtMs, overAtMs }) => endsAtMs === undefined || overAtMs <= nowMs);
  }

  /** Drops leases that a newer one replaced, and leases that ended too long ago for any answer to revive. */
  #forgetReplaced(connector: SessionConnector, nowMs: number): void {
    const leases = this.#leases.get(connector);
    if (leases === undefined) return;
    const { held } = connector.lease;
    const newest = leases.findLastIndex(({ endsAtMs }) => endsAtMs === held.endsAtMs);
    const endedAtMs = nowMs - GAINED_MS - ON_ITS_WAY_HEARTBEATS * this.#heartbeatMs;
    const left = leases.filter(({ overAtMs }, i) => i >= newest && overAtMs > endedAtMs);
    if (left.length > 0) this.#leases.set(connector, left);
    else this.#leases.delete(connector);
  }

  /** The charger may set its clock by the time that it receives now. */
  #told(nowMs: number): void {
    this.#toldAtMs = nowMs;
    this.#againAtMs = nowMs + TOLD_WITHIN_MS;
  }

  /**
   * The charger started, and may have another time since. Earlier leases still count: the charger may have kept them,
   * and the service may not have received the report of the start.
   */
  restart(nowMs: number): void {
    this.giveUp(nowMs);
    this.clock.restart();
    this.#showsPlans = false;
    this.#isStarted = true;
    this.#toldAtMs = undefined;
    this.#isContinued = false;
  }

  /** The charger sent that time in a message of its own. */
  received(ownMs: number, nowMs: number): ClockVerdict {
    return this.#take(this.clock.note(ownMs, nowMs));
  }

  /** Records a lease that the charger may take. */
  noteAsked(request: GatewayRequest, nowMs: number): void {
    if (request.kind !== 'setLease') return;
    const { evse, endsAtMs, schedule } = request;
    const connector = this.#connectors.find(({ spec }) => spec.evse === evse);
    if (connector === undefined) return;
    this.#forgetReplaced(connector, nowMs);
    const ttlMs = 1000 * schedule.endsAfterS;
    const lease = { endsAtMs, overAtMs: endsAtMs + longestLeaseMsOf({ ttlMs }) - ttlMs };
    this.#leases.set(connector, [...(this.#leases.get(connector) ?? []), lease]);
  }

  /** An answer may show the charger's clock. */
  answered({ request, askedAtMs }: Outstanding, answer: GatewayAnswer, nowMs: number): void {
    // A lease proof looks further ahead, and detects by itself a clock that went back.
    if (request.kind === 'readSchedule' && request.durationS > FAILSAFE_LOOK_S) this.#isStarted = false;
    if (answer.kind === 'schedule') this.#looked(answer.schedule.startsAtOwnMs, nowMs, askedAtMs);
    // A charger that never shows its schedule has no lease.
    else if (answer.kind === 'refused' && request.kind === 'readSchedule') this.#shown(askedAtMs);
  }

  /** Instant of the next request for the charger's clock. */
  asksAtMs(nowMs: number): number {
    if (this.#isTold) return Math.max(nowMs, this.#againAtMs);
    if (this.#isUnknown(nowMs)) return this.#askedAtMs + this.#heartbeatMs;
    return Math.max(nowMs - this.clock.ageMs(nowMs), this.#askedAtMs) + LOOK_EVERY_MS;
  }

  nextJob(nowMs: number): Job | undefined {
    const [first] = this.#connectors;
    if (first === undefined || this.asksAtMs(nowMs) > nowMs) return undefined;
    this.#askedAtMs = nowMs;
    this.#againAtMs = nowMs + ASKED_AGAIN_MS;
    const { spec, lease } = first;
    // A status usually carries a timestamp.
    if (this.#showsPlans && this.#isUnknown(nowMs))
      return { request: { kind: 'askStatus', evse: spec.evse }, done: () => {} };
    const look = { durationS: FAILSAFE_LOOK_S, unit: lease.rate.unit };
    return { request: { kind: 'readSchedule', evse: spec.evse, ...look }, done: () => {} };
  }

  #looked(ownMs: number, nowMs: number, askedAtMs: number): void {
    const { clock } = this;
    // The charger answers with the start of its schedule, and never with its clock reading. Only a timestamp of its own
    // can show its clock.
    const isPlanned = this.#connectors.some(({ lease }) => lease.isStartOfPlan(ownMs));
    const isNoReading = isPlanned && (this.#showsPlans || this.#isTold || this.#isUnknown(nowMs));
    this.#showsPlans = isPlanned;
    // A schedule start that comes repeatedly is no clock that was set back. A single one may be a clock that happens to
    // read that instant.
    if (isNoReading) {
      if (!this.#isTold) return;
      this.#shown(askedAtMs);
      clock.forget();
      this.#take('unknown');
      return;
    }
    // A small step back is within the tolerance of a timestamp. After a start it counts, because a late answer to the
    // boot may have set the clock back.
    const isBehind =
      this.#isStarted && !isPlanned && ownMs < (clock.ownAt(nowMs) ?? Number.NEGATIVE_INFINITY);
    const isUnknown = this.#isTold && this.#isUnknown(nowMs);
    if (isBehind) clock.forget();
    this.#isStarted = false;
    const isShown = isUnknown || clock.isAtLeast(ownMs, nowMs);
    const verdict = clock.note(ownMs, nowMs, isPlanned ? undefined : askedAtMs);
    const isOther = verdict !== 'steady' && verdict !== 'late';
    if (isShown || isOther) this.#shown(askedAtMs);
    if (isUnknown) this.#take('unknown');
    else this.#take(isBehind && !isOther ? 'setBack' : verdict);
  }

  /** No message has shown the charger's clock yet. */
  #isUnknown(nowMs: number): boolean {
    return this.clock.ageMs(nowMs) === Number.POSITIVE_INFINITY;
  }

  #shown(askedAtMs: number): void {
    if (this.#toldAtMs !== undefined && askedAtMs > this.#toldAtMs) this.#toldAtMs = undefined;
  }

  #take(verdict: ClockVerdict): ClockVerdict {
    for (const connector of this.#connectors) connector.receivedTime(verdict);
    return verdict;
  }
}
