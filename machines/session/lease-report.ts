// What the service and the operator are told of a charger's leases: whether each connector keeps one, and if not, why.
import { MINIMUM_CURRENT_A } from '../values/units.js';
import type { ChargerClock } from './charger-clock.js';
import type { ChargerPreparation } from './charger-preparation.js';
import type { GatewayAnswer, GatewayRequest, StateBody } from './gateway-request.js';
import type { SessionConnector } from './session-connector.js';
import { UnansweredRequests } from './unanswered-requests.js';

/** Something the operator should know: why a connector has no lease, or that it has one again. */
export interface SessionNote {
  readonly connectorId: string;
  /** Undefined: its lease is proven. */
  readonly whyNot: string | undefined;
}

/** One that goes on as it was is looked at by another gateway for as long as it answers: a request that fails is made again within this. */
const ANSWERS_WITHIN_MS = 60_000;
/** But for no longer than this after its connection. */
const LOOKS_MS = 300_000;
/** As the contract has it. */
const LONGEST_WHY = 200;
/** How it begins where it is the charger's clock. */
export const CLOCK_DOUBTED = 'its clock cannot be relied upon';
const CLOCK_UNKNOWN = 'its clock may have been set, and what it holds may end later than it was told';
const NOT_SHOWN = 'it has not shown yet that it lowers itself when a lease ends';

export class LeaseReport {
  readonly #connectors: readonly SessionConnector[];
  readonly #clock: ChargerClock;
  readonly #preparation: ChargerPreparation;
  readonly #unanswered = new UnansweredRequests();
  /** It has not started since another gateway saw it keep leases, and this one has not looked yet. */
  #isContinued: boolean;
  #looksUntilMs = Number.NEGATIVE_INFINITY;
  #answersByMs = Number.NEGATIVE_INFINITY;
  #isDue = false;
  #seqNo = 0;
  #notes: SessionNote[] = [];

  constructor(
    of: {
      readonly connectors: readonly SessionConnector[];
      readonly clock: ChargerClock;
      readonly preparation: ChargerPreparation;
    },
    isContinued: boolean,
  ) {
    this.#connectors = of.connectors;
    this.#clock = of.clock;
    this.#preparation = of.preparation;
    this.#isContinued = isContinued;
  }

  /** The service is to be told again, whatever changed. */
  repeat(): void {
    this.#isDue = true;
  }

  opened(nowMs: number): void {
    this.#isDue = true;
    this.#looksUntilMs = nowMs + LOOKS_MS;
    this.#answersByMs = nowMs + ANSWERS_WITHIN_MS;
  }

  /** What came of a request. */
  answered(request: GatewayRequest, answer: GatewayAnswer, nowMs: number): void {
    this.#unanswered.note(request, answer);
    if (answer.kind !== 'failed') this.#answersByMs = nowMs + ANSWERS_WITHIN_MS;
  }

  booted(): void {
    this.#isDue = true;
    this.#isContinued = false;
  }

  /** When it stops waiting for what is to be looked at; infinite where it does not wait. */
  dueAtMs(nowMs: number): number {
    return this.#isLooking(nowMs) ? this.#untilMs : Number.POSITIVE_INFINITY;
  }

  get #untilMs(): number {
    return Math.min(this.#looksUntilMs, this.#answersByMs);
  }

  /** Why what the connector says of its lease cannot be relied upon; undefined where it can. */
  whyNoLease(connector: SessionConnector): string | undefined {
    const { lease, shownWhyNot } = connector;
    const { whyNot } = this.#preparation;
    if (whyNot !== undefined) return whyNot;
    const unanswered = this.#whyUnanswered(connector);
    if (unanswered !== undefined) return unanswered;
    const { whyDistrusted } = this.#clock;
    if (whyDistrusted !== undefined) return `${CLOCK_DOUBTED}: ${whyDistrusted}`;
    if (this.#isProven(connector)) return undefined;
    return shownWhyNot ?? (lease.trust.isDoubted ? CLOCK_UNKNOWN : NOT_SHOWN);
  }

  #isProven({ lease }: SessionConnector): boolean {
    return lease.trust.isProven && this.#preparation.isReady;
  }

  /** Why it could not show that it keeps leases: it does not answer. One that has shown it lets its lease end where it does not answer. */
  #whyUnanswered(connector: SessionConnector): string | undefined {
    if (this.#isProven(connector) || connector.isShownEvidence) return undefined;
    return this.#unanswered.why;
  }

  /** The same, where the charger showed something that speaks against it: what it could not show yet is no reason for an alarm. */
  #whyAlarming(connector: SessionConnector, nowMs: number): string | undefined {
    const why = this.whyNoLease(connector);
    if (why === undefined || this.#preparation.whyNot !== undefined) return why;
    if (this.#whyUnanswered(connector) !== undefined) return why;
    if (this.#clock.whyDistrusted !== undefined)
      return this.#clock.ageMs(nowMs) === Number.POSITIVE_INFINITY ? undefined : why;
    return connector.isShownEvidence ? why : undefined;
  }

  /** What the service is to be told of all connectors now; undefined where nothing changed. */
  takeState(boot: string, firmware: string | undefined, nowMs: number): StateBody | undefined {
    if (this.#isLooking(nowMs)) return undefined;
    for (const connector of this.#connectors) this.#note(connector, nowMs);
    if (!this.#isDue) return undefined;
    this.#isDue = false;
    const connectors = this.#connectors.map((connector) => {
      const { connectorId: id, phases, maxCurrentA: maxA } = connector.spec;
      const isLeased = this.whyNoLease(connector) === undefined;
      const lease: 'heartbeat' | 'none' = isLeased ? 'heartbeat' : 'none';
      // Without a fail-safe that it keeps it may do all it can by itself.
      const keepsThen = this.#preparation.hasFailsafe;
      const failsafeA = keepsThen ? connector.lease.failsafe.mostA : maxA;
      const own = { id, phases, minA: MINIMUM_CURRENT_A, maxA, failsafeA, lease, keepsThen };
      const { toldAlarm: whyNoLease } = connector;
      return whyNoLease === undefined ? own : { ...own, whyNoLease };
    });
    const made = firmware === undefined ? {} : { firmware: firmware.slice(0, 128) };
    return { v: 1, online: true, boot, seqNo: ++this.#seqNo, ...made, connectors };
  }

  /** What changed for the operator since it was asked last. */
  takeNotes(): readonly SessionNote[] {
    return this.#notes.splice(0);
  }

  #note(connector: SessionConnector, nowMs: number): void {
    const whyNot = this.whyNoLease(connector);
    const alarm = this.#whyAlarming(connector, nowMs)?.slice(0, LONGEST_WHY);
    if (alarm !== connector.toldAlarm) this.#isDue = true;
    connector.toldAlarm = alarm;
    if (whyNot === connector.toldWhyNot) return;
    if ((whyNot === undefined) !== (connector.toldWhyNot === undefined)) this.#isDue = true;
    connector.toldWhyNot = whyNot;
    this.#notes.push({ connectorId: connector.spec.connectorId, whyNot });
  }

  /**
   * It goes on as it was under a gateway before this one, which knew it to keep leases: until it has been looked at, nothing is
   * said that would have its maximum reserved and others paused for that. Meanwhile the service counts on what it promised, as for
   * one that is out of reach.
   */
  #isLooking(nowMs: number): boolean {
    if (!this.#isContinued || nowMs >= this.#untilMs) return false;
    const isKnown = this.#preparation.isReady && this.#clock.ageMs(nowMs) < Number.POSITIVE_INFINITY;
    const isDoubted = this.#connectors.some(({ lease }) => lease.trust.isDoubted);
    return !isKnown && !isDoubted && this.#connectors.every(({ shownWhyNot }) => shownWhyNot === undefined);
  }
}
