// What time a charger has, and what that means for its leases: what its messages say of its clock, and when it is asked what that
// reads. Now and then it is, and whenever it was told what time it is and may have set it.
import { ChargerClock, type ClockVerdict } from './charger-clock.js';
import { FAILSAFE_LOOK_S, type Job, type Outstanding } from './charger-preparation.js';
import type { GatewayAnswer } from './gateway-request.js';
import type { SessionConnector } from './session-connector.js';

/** The clock of an idle charger is looked at so often. */
const LOOK_EVERY_MS = 120_000;
/** What it is told has left by then: what it is asked must not overtake that. */
const TOLD_WITHIN_MS = 50;
/** One that may have set its clock is asked again after this, until it has shown what it reads. */
const ASKED_AGAIN_MS = 5_000;
/** One that has not shown it has no lease any more when that ends within so many heartbeats. */
const ENDS_SOON_HEARTBEATS = 2;

export class ChargerTime {
  readonly clock = new ChargerClock();
  readonly #connectors: readonly SessionConnector[];
  readonly #heartbeatMs: number;
  #askedAtMs = Number.NEGATIVE_INFINITY;
  /** When it was told what time it is; undefined once it has shown since what its clock reads. */
  #toldAtMs: number | undefined;
  #againAtMs = Number.NEGATIVE_INFINITY;
  /** An answer that counts once the charger has shown what its clock reads. No other follows it before. */
  #waiting: ((nowMs: number) => void) | undefined;

  constructor(connectors: readonly SessionConnector[], heartbeatMs: number) {
    this.#connectors = connectors;
    this.#heartbeatMs = heartbeatMs;
  }

  /** It was told what time it is, and what its clock reads since is not known: nothing may be planned by it. */
  get isTold(): boolean {
    return this.#toldAtMs !== undefined;
  }

  /** It may set its clock by what it is told now. */
  told(nowMs: number): void {
    this.#toldAtMs = nowMs;
    this.#againAtMs = nowMs + TOLD_WITHIN_MS;
  }

  /** It started: it may have another time since, and of what it held before nothing is known anyway. */
  restart(): void {
    this.clock.restart();
    this.#toldAtMs = undefined;
    this.#waiting = undefined;
  }

  /** It says that time on something of its own. */
  heard(ownMs: number, nowMs: number): ClockVerdict {
    return this.#take(this.clock.note(ownMs, nowMs));
  }

  /**
   * It answered a request, which may show what its clock reads. An answer that was given by a clock which it may have set since
   * waits until that is known: what it says it holds may last longer now.
   */
  answered(job: Job & Outstanding, answer: GatewayAnswer, nowMs: number): void {
    this.#look(job, answer, nowMs);
    if (job.isByClock === true && this.isTold) {
      this.#waiting = (atMs) => job.done(answer, atMs);
      return;
    }
    if (!this.isTold) this.#answerWaiting(nowMs);
    job.done(answer, nowMs);
  }

  #answerWaiting(nowMs: number): void {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    waiting?.(nowMs);
  }

  #look({ request, askedAtMs }: Outstanding, answer: GatewayAnswer, nowMs: number): void {
    if (answer.kind === 'schedule') this.#looked(answer.schedule.startsAtOwnMs, nowMs, askedAtMs);
    // One that never shows it has no lease.
    else if (answer.kind === 'refused' && request.kind === 'readSchedule') this.#shown(askedAtMs);
  }

  /** Its connection broke, or its lease ends: what it holds may end later than it was told, and nobody can tell in time. */
  doubt(): void {
    if (!this.#connectors.every(({ lease }) => lease.trust.isDoubted)) this.#take('unknown');
  }

  advance(nowMs: number): void {
    const soonMs = nowMs + ENDS_SOON_HEARTBEATS * this.#heartbeatMs;
    if (this.isTold && this.#connectors.some(({ lease }) => lease.held.endsAtMs < soonMs)) this.doubt();
  }

  /** When it is to be asked what its clock reads. */
  asksAtMs(nowMs: number): number {
    if (this.isTold) return Math.max(nowMs, this.#againAtMs);
    const ageMs = this.clock.ageMs(nowMs);
    if (ageMs === Number.POSITIVE_INFINITY) return this.#askedAtMs + this.#heartbeatMs;
    return Math.max(nowMs - ageMs, this.#askedAtMs) + LOOK_EVERY_MS;
  }

  nextJob(nowMs: number): Job | undefined {
    const [first] = this.#connectors;
    if (first === undefined || this.asksAtMs(nowMs) > nowMs) return undefined;
    this.#askedAtMs = nowMs;
    this.#againAtMs = nowMs + ASKED_AGAIN_MS;
    const { spec, lease } = first;
    const look = { durationS: FAILSAFE_LOOK_S, unit: lease.rate.unit };
    return { request: { kind: 'readSchedule', evse: spec.evse, ...look }, done: () => {} };
  }

  #looked(ownMs: number, nowMs: number, askedAtMs: number): void {
    const { clock } = this;
    // It answers with the start of its schedule instead: more it never shows.
    const isPlanned = this.#connectors.some(({ lease }) => lease.isStartOfPlan(ownMs));
    const isUnknown = this.isTold && clock.ageMs(nowMs) === Number.POSITIVE_INFINITY;
    const isShown = isPlanned || isUnknown || clock.isAtLeast(ownMs, nowMs);
    const verdict = clock.note(ownMs, nowMs, isPlanned ? undefined : askedAtMs);
    const isOther = verdict !== 'steady' && verdict !== 'late';
    if (isShown || isOther) this.#shown(askedAtMs);
    this.#take(isUnknown ? 'unknown' : verdict);
  }

  #shown(askedAtMs: number): void {
    if (this.#toldAtMs !== undefined && askedAtMs > this.#toldAtMs) this.#toldAtMs = undefined;
  }

  #take(verdict: ClockVerdict): ClockVerdict {
    for (const connector of this.#connectors) connector.heardTime(verdict);
    return verdict;
  }
}
