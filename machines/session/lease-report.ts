// Reports a charger's leases to the service and the operator: for each connector a lease, or the reason for none, and
// its state.
import type { SessionState } from '../values/session-state.js';
import { MINIMUM_CURRENT_A } from '../values/units.js';
import type { ChargePoint } from './charge-point.js';
import type { ChargerClock } from './charger-clock.js';
import { dcWOfAmpere } from './dc-output.js';
import type { GatewayAnswer, GatewayRequest, StateBody } from './gateway-request.js';
import type { SessionConnector } from './session-connector.js';

// Requests that a charger repeatedly left unanswered: its support is unknown, and leases depend on it.

/** One answer may be lost; two lost in a row are no accident. */
const IN_VAIN = 2;
/** Names of requests without a name in the charger's protocol. Leases do not depend on the other requests. */
const WORDS: Partial<Record<GatewayRequest['kind'], string>> = {
  readAbilities: 'the request for its capabilities',
  sample: 'the order of its meter interval',
  setFailsafe: 'a limit',
  setLease: 'a limit',
  clear: 'the removal of a limit',
  readSchedule: 'the request for its limit',
};

class UnansweredRequests {
  /** Failures in a row of each request, with the name and the reason of the last. */
  readonly #inVain = new Map<
    string,
    { readonly times: number; readonly name: string; readonly why: string }
  >();

  /** Unanswered request, in words; undefined if the charger answers, or failed too few times. */
  get why(): string | undefined {
    for (const { times, name, why } of this.#inVain.values())
      if (times >= IN_VAIN) return `it does not answer ${name}: ${why}`;
    return undefined;
  }

  note({ kind }: GatewayRequest, answer: GatewayAnswer): void {
    const words = WORDS[kind];
    if (words === undefined) return;
    if (answer.kind !== 'failed') this.#inVain.delete(words);
    else {
      const { name = words, why } = answer;
      this.#inVain.set(words, { times: (this.#inVain.get(words)?.times ?? 0) + 1, name, why });
    }
  }
}

/** Note for the operator: the reason why a connector has no lease, or that it has one again. */
export interface SessionNote {
  readonly connectorId: string;
  /** Undefined: lease verified. */
  readonly whyNot: string | undefined;
}

/**
 * A charger that continues from an earlier gateway is examined for as long as it answers. A failed request is repeated
 * within this time.
 */
const ANSWERS_WITHIN_MS = 60_000;
/** Longest examination after the charger's connection. */
const LOOKS_MS = 300_000;
/**
 * A state that has lasted for this share of a heartbeat is worth a report of its own. A grant changes it twice
 * within a moment.
 */
const LASTING_HEARTBEATS = 0.5;
/** As in the MQTT contract. */
const LONGEST_WHY = 200;
/** Start of the reason if the cause is the charger's clock. */
export const CLOCK_DOUBTED = 'its clock is not reliable';
const CLOCK_UNKNOWN = 'its clock may have been set, and its limits may end later than ordered';
const NOT_SHOWN = 'it has not shown yet that it lowers its current when a lease ends';

export class LeaseReport {
  readonly #connectors: readonly SessionConnector[];
  readonly #clock: ChargerClock;
  readonly #chargePoint: ChargePoint;
  readonly #lastingMs: number;
  readonly #unanswered = new UnansweredRequests();
  /**
   * The charger kept leases under an earlier gateway and has not started since. This gateway has not examined it yet.
   */
  #isContinued: boolean;
  #looksUntilMs = Number.NEGATIVE_INFINITY;
  #answersByMs = Number.NEGATIVE_INFINITY;
  #isDue = false;
  #sentAtMs = Number.NEGATIVE_INFINITY;
  #seqNo = 0;
  #notes: SessionNote[] = [];

  constructor(options: {
    readonly connectors: readonly SessionConnector[];
    readonly clock: ChargerClock;
    readonly chargePoint: ChargePoint;
    readonly heartbeatMs: number;
    readonly isContinued: boolean;
  }) {
    this.#connectors = options.connectors;
    this.#clock = options.clock;
    this.#chargePoint = options.chargePoint;
    this.#lastingMs = LASTING_HEARTBEATS * options.heartbeatMs;
    this.#isContinued = options.isContinued;
  }

  /** The service receives the state again, with or without a change. */
  repeat(): void {
    this.#isDue = true;
  }

  opened(nowMs: number): void {
    this.#isDue = true;
    this.#looksUntilMs = nowMs + LOOKS_MS;
    this.#answersByMs = nowMs + ANSWERS_WITHIN_MS;
  }

  answered(request: GatewayRequest, answer: GatewayAnswer, nowMs: number): void {
    this.#unanswered.note(request, answer);
    if (answer.kind !== 'failed') this.#answersByMs = nowMs + ANSWERS_WITHIN_MS;
  }

  booted(): void {
    this.#isDue = true;
    this.#isContinued = false;
  }

  /**
   * End of the examination, then the next report of a changed state; infinite without one.
   * @param isReceived false: the service cannot receive reports now, so none is due
   */
  dueAtMs(nowMs: number, isReceived: boolean): number {
    if (this.#isLooking(nowMs)) return this.#untilMs;
    return isReceived ? this.#stateDueAtMs : Number.POSITIVE_INFINITY;
  }

  /** A changing state alone causes at most one report in that time. */
  get #stateDueAtMs(): number {
    const changed = this.#connectors.filter(({ state }) => state.now !== state.reported);
    return Math.min(...changed.map(({ state }) => Math.max(state.sinceMs, this.#sentAtMs) + this.#lastingMs));
  }

  stateOf(connector: SessionConnector): SessionState {
    const { stateBefore } = this.#chargePoint;
    if (stateBefore !== undefined) return stateBefore;
    if (this.whyNoLease(connector) === undefined) return 'leased';
    return connector.lease.isWritten ? 'provingLease' : 'unleased';
  }

  get #untilMs(): number {
    return Math.min(this.#looksUntilMs, this.#answersByMs);
  }

  /** Reason why the connector's lease cannot be relied upon; undefined if it can. */
  whyNoLease(connector: SessionConnector): string | undefined {
    const { lease, shownWhyNot } = connector;
    const { whyNot } = this.#chargePoint;
    if (whyNot !== undefined) return whyNot;
    const unanswered = this.#whyUnanswered(connector);
    if (unanswered !== undefined) return unanswered;
    const { unverifiedReason } = this.#clock;
    if (unverifiedReason !== undefined) return `${CLOCK_DOUBTED}: ${unverifiedReason}`;
    if (this.#isProven(connector)) return undefined;
    return shownWhyNot ?? (lease.isDoubted ? CLOCK_UNKNOWN : NOT_SHOWN);
  }

  #isProven({ lease }: SessionConnector): boolean {
    return lease.isProven && this.#chargePoint.isConfigured;
  }

  /**
   * The charger does not answer, so it could not show that it keeps leases. A charger that has shown it lets its lease
   * end if it does not answer.
   */
  #whyUnanswered(connector: SessionConnector): string | undefined {
    if (this.#isProven(connector) || connector.isShownEvidence) return undefined;
    return this.#unanswered.why;
  }

  /**
   * The same reason if the charger showed evidence against its lease. A proof that is still missing raises no alarm.
   */
  #whyAlarming(connector: SessionConnector, nowMs: number): string | undefined {
    const why = this.whyNoLease(connector);
    if (why === undefined || this.#chargePoint.whyNot !== undefined) return why;
    if (this.#whyUnanswered(connector) !== undefined) return why;
    if (this.#clock.unverifiedReason !== undefined)
      return this.#clock.ageMs(nowMs) === Number.POSITIVE_INFINITY ? undefined : why;
    return connector.isShownEvidence ? why : undefined;
  }

  /** State of all connectors for the service; undefined without a change. */
  takeState(boot: string, firmware: string | undefined, nowMs: number): StateBody | undefined {
    if (this.#isLooking(nowMs)) return undefined;
    for (const connector of this.#connectors) this.#note(connector, nowMs);
    if (!this.#isDue && nowMs < this.#stateDueAtMs) return undefined;
    this.#isDue = false;
    this.#sentAtMs = nowMs;
    const connectors = this.#connectors.map((connector) => {
      const { connectorId: id, phases, maxCurrentA: maxA, dc } = connector.spec;
      const isLeased = this.whyNoLease(connector) === undefined;
      const lease: 'heartbeat' | 'none' = isLeased ? 'heartbeat' : 'none';
      // Without a kept fail-safe the charger may use its maximum by itself.
      const keepsThen = this.#chargePoint.hasFailsafe;
      const failsafeA = keepsThen ? connector.lease.failsafe.mostA : maxA;
      const range =
        dc === undefined
          ? { phases, minA: MINIMUM_CURRENT_A, maxA, failsafeA }
          : {
              powerType: 'DC' as const,
              minW: dc.leastW,
              maxW: dc.mostW,
              failsafeW: dcWOfAmpere(failsafeA, dc),
            };
      const { reportedAlarm: whyNoLease } = connector;
      const ocppState = connector.state.now;
      connector.state.reported = ocppState;
      const own = { id, ...range, lease, keepsThen, ocppState };
      return whyNoLease === undefined ? own : { ...own, whyNoLease };
    });
    const made = firmware === undefined ? {} : { firmware: firmware.slice(0, 128) };
    return { v: 1, online: true, boot, seqNo: ++this.#seqNo, ...made, connectors };
  }

  /** Changes for the operator since the last call. */
  takeNotes(): readonly SessionNote[] {
    return this.#notes.splice(0);
  }

  #note(connector: SessionConnector, nowMs: number): void {
    const whyNot = this.whyNoLease(connector);
    const alarm = this.#whyAlarming(connector, nowMs)?.slice(0, LONGEST_WHY);
    if (alarm !== connector.reportedAlarm) this.#isDue = true;
    connector.reportedAlarm = alarm;
    const state = this.stateOf(connector);
    if (state !== connector.state.now) {
      connector.state.now = state;
      connector.state.sinceMs = nowMs;
    }
    if (whyNot === connector.reportedWhyNot) return;
    if ((whyNot === undefined) !== (connector.reportedWhyNot === undefined)) this.#isDue = true;
    connector.reportedWhyNot = whyNot;
    this.#notes.push({ connectorId: connector.spec.connectorId, whyNot });
  }

  /**
   * The charger continues from an earlier gateway, under which it kept leases. Until this gateway has examined it, no
   * report leaves that would reserve its maximum and pause others. Meanwhile the service counts the outstanding grants,
   * as for a charger out of reach.
   */
  #isLooking(nowMs: number): boolean {
    if (!this.#isContinued || nowMs >= this.#untilMs) return false;
    const isKnown = this.#chargePoint.isConfigured && this.#clock.ageMs(nowMs) < Number.POSITIVE_INFINITY;
    const isDoubted = this.#connectors.some(({ lease }) => lease.isDoubted);
    return !isKnown && !isDoubted && this.#connectors.every(({ shownWhyNot }) => shownWhyNot === undefined);
  }
}
