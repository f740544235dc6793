// What time a charger has, and what that means for its leases: what its messages say of its clock, and when it is asked what that
// reads. Now and then it is, and whenever it was told what time it is and may have set it. It is told once the service knows that what
// it holds may end later then.
import { longestLeaseMsOf } from '../power/grant.js';
import { ChargerClock, type ClockVerdict } from './charger-clock.js';
import { FAILSAFE_LOOK_S, type Job, type Outstanding } from './charger-preparation.js';
import type { GatewayAnswer, GatewayRequest } from './gateway-request.js';
import type { SessionConnector } from './session-connector.js';

/** The clock of an idle charger is looked at so often. */
const LOOK_EVERY_MS = 120_000;
/** What it is answered has left by then: what it is asked must not overtake that. */
export const TOLD_WITHIN_MS = 50;
/** One that may have set its clock is asked again after this, until it has shown what it reads. */
const ASKED_AGAIN_MS = 5_000;
/** What a gateway before this one gave is over after this. */
const LEASE_OF_BEFORE_MS = 3_600_000;
/** What it is told is on its way for no longer than so many heartbeats: its connection is given up before. */
const ON_ITS_WAY_HEARTBEATS = 3;
/** A clock may have gained so much since it was set last. */
const GAINED_MS = 20_000;
const NEVER = Number.POSITIVE_INFINITY;
/** Of why a connector has no lease, before anything was said of it. */
const NOTHING_SAID = '';

/** One that it may have taken. */
interface PossibleLease {
  /** As in its plan; undefined where nobody knows, as for what a gateway before this one gave. */
  readonly endsAtMs: number | undefined;
  /** By then it has ended by the slowest clock, if that is not set. */
  readonly overAtMs: number;
}

/** It asked what time it is, and waits for the service. */
interface Question {
  /** Connectors of which the service does not know yet that leases may end later, with the heartbeat that says so once that has left. */
  readonly waiting: Map<SessionConnector, number>;
  readonly reply: (mayBeTold: boolean) => void;
}

export class ChargerTime {
  readonly clock = new ChargerClock();
  readonly #connectors: readonly SessionConnector[];
  readonly #heartbeatMs: number;
  #askedAtMs = Number.NEGATIVE_INFINITY;
  /** When it was told what time it is; undefined once it has shown since what its clock reads. */
  #toldAtMs: number | undefined;
  #againAtMs = Number.NEGATIVE_INFINITY;
  #question: Question | undefined;
  /** It answered with the start of its schedule last, and not with what its clock reads. */
  #showsPlans = false;
  #isContinued: boolean;
  /** It started, and has not been looked at since: what it said may be by the clock that it had before it was told the time. */
  #isStarted = false;
  /** Leases that the service still takes to end in time, oldest first: a clock that is set back would prolong them, and nobody knew. */
  readonly #leases = new Map<SessionConnector, PossibleLease[]>();

  /** @param isContinued it may hold leases that a gateway before this one gave it */
  constructor(connectors: readonly SessionConnector[], heartbeatMs: number, isContinued: boolean) {
    this.#connectors = connectors;
    this.#heartbeatMs = heartbeatMs;
    this.#isContinued = isContinued;
  }

  /** Its connection is open. */
  opened(nowMs: number): void {
    if (!this.#isContinued) return;
    this.#isContinued = false;
    const ofBefore = { endsAtMs: undefined, overAtMs: nowMs + LEASE_OF_BEFORE_MS };
    for (const connector of this.#connectors) this.#leases.set(connector, [ofBefore]);
  }

  /** It was told what time it is, or is about to be, and what its clock reads then is not known: nothing may be planned by it. */
  get isInDoubt(): boolean {
    return this.#isTold || this.#question !== undefined;
  }

  get #isTold(): boolean {
    return this.#toldAtMs !== undefined;
  }

  /** It asks what time it is. `reply`, now or later: whether it may be told, and from then on it counts as told. */
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
    // What it shows from now on may be by another clock.
    for (const connector of concerned) {
      connector.lease.countAnew();
      connector.noteChange();
    }
    this.#question = { reply, waiting: new Map(concerned.map((connector) => [connector, NEVER])) };
  }

  /** A heartbeat of the connector leaves, and says whether its leases may end later. */
  noteHeartbeat(connector: SessionConnector, hb: number): void {
    const { waiting } = this.#question ?? {};
    if (waiting?.get(connector) === NEVER) waiting.set(connector, hb);
  }

  /** The service has heard that heartbeat of the connector. */
  noteHeard(connector: SessionConnector, hb: number, nowMs: number): void {
    const { waiting } = this.#question ?? {};
    if (waiting === undefined || hb < (waiting.get(connector) ?? NEVER)) return;
    if (!this.#mayRevive(connector, nowMs)) {
      waiting.delete(connector);
      // What it holds counts until it has taken something newer, whenever that ends.
      this.#leases.delete(connector);
      if (waiting.size > 0) return;
    }
    this.giveUp(nowMs);
  }

  /** The service is waited for no longer: it may be told where no lease is left on which that does not count. */
  giveUp(nowMs: number): void {
    if (this.#question === undefined) return;
    const { waiting, reply } = this.#question;
    this.#question = undefined;
    for (const connector of waiting.keys()) this.#forgetReplaced(connector, nowMs);
    const mayBeTold = ![...waiting.keys()].some((connector) => this.#leases.has(connector));
    if (mayBeTold) this.#told(nowMs);
    reply(mayBeTold);
  }

  /**
   * One has ended that would last again if its clock was set back, and the service may not count on it any more. Where that knows of
   * no lease the maximum is reserved anyway.
   */
  #mayRevive(connector: SessionConnector, nowMs: number): boolean {
    if ((connector.toldWhyNot ?? NOTHING_SAID) !== NOTHING_SAID) return false;
    const leases = this.#leases.get(connector) ?? [];
    return leases.some(({ endsAtMs, overAtMs }) => endsAtMs === undefined || overAtMs <= nowMs);
  }

  /** Lets go of what it has no longer since it keeps to something newer, and of what ended so long ago that no answer revives it. */
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

  /** It may set its clock by what it is told now. */
  #told(nowMs: number): void {
    this.#toldAtMs = nowMs;
    this.#againAtMs = nowMs + TOLD_WITHIN_MS;
  }

  /**
   * It started: it may have another time since. What it may have taken before counts on: it may have kept that, and the service may not
   * have heard of the start.
   */
  restart(nowMs: number): void {
    this.giveUp(nowMs);
    this.clock.restart();
    this.#showsPlans = false;
    this.#isStarted = true;
    this.#toldAtMs = undefined;
    this.#isContinued = false;
  }

  /** It says that time on something of its own. */
  heard(ownMs: number, nowMs: number): ClockVerdict {
    return this.#take(this.clock.note(ownMs, nowMs));
  }

  /** It is asked that now. */
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

  /** It answered a request, which may show what its clock reads. */
  answered({ request, askedAtMs }: Outstanding, answer: GatewayAnswer, nowMs: number): void {
    // The proof of a lease looks further, and judges by itself whether the clock went back.
    if (request.kind === 'readSchedule' && request.durationS > FAILSAFE_LOOK_S) this.#isStarted = false;
    if (answer.kind === 'schedule') this.#looked(answer.schedule.startsAtOwnMs, nowMs, askedAtMs);
    // One that never shows it has no lease.
    else if (answer.kind === 'refused' && request.kind === 'readSchedule') this.#shown(askedAtMs);
  }

  /** When it is to be asked what its clock reads. */
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
    // As a rule a status has a timestamp.
    if (this.#showsPlans && this.#isUnknown(nowMs))
      return { request: { kind: 'askStatus', evse: spec.evse }, done: () => {} };
    const look = { durationS: FAILSAFE_LOOK_S, unit: lease.rate.unit };
    return { request: { kind: 'readSchedule', evse: spec.evse, ...look }, done: () => {} };
  }

  #looked(ownMs: number, nowMs: number, askedAtMs: number): void {
    const { clock } = this;
    // It answers with the start of its schedule instead, and never shows what its clock reads: a timestamp of its own has to.
    const isPlanned = this.#connectors.some(({ lease }) => lease.isStartOfPlan(ownMs));
    const isNoReading = isPlanned && (this.#showsPlans || this.#isTold || this.#isUnknown(nowMs));
    this.#showsPlans = isPlanned;
    // What it was told itself, time and again, is no clock that was set back. Once may be a clock that happens to read that.
    if (isNoReading) {
      if (!this.#isTold) return;
      this.#shown(askedAtMs);
      clock.forget();
      this.#take('unknown');
      return;
    }
    // A little is within what a timestamp may be off, but not where the answer to its start came late and set it back.
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

  /** Nothing has shown yet what its clock reads. */
  #isUnknown(nowMs: number): boolean {
    return this.clock.ageMs(nowMs) === Number.POSITIVE_INFINITY;
  }

  #shown(askedAtMs: number): void {
    if (this.#toldAtMs !== undefined && askedAtMs > this.#toldAtMs) this.#toldAtMs = undefined;
  }

  #take(verdict: ClockVerdict): ClockVerdict {
    for (const connector of this.#connectors) connector.heardTime(verdict);
    return verdict;
  }
}
