// Session of a charger behind a gateway: requests to the charger, messages to the service, lease verification. It has
// no clock and no socket: its owner carries requests and messages, and passes the time.
import type { ChargingStatus } from '../values/charging-status.js';
import { ChargePoint, type Job, type Outstanding } from './charge-point.js';
import { ChargerTime } from './charger-time.js';
import { ConnectorLease, type LeaseEvents } from './connector-lease.js';
import { dcWOfAmpere } from './dc-output.js';
import type { Fallbacks } from './failsafe-profile.js';
import type {
  CarReport,
  GatewayAnswer,
  GatewayMessage,
  LimitToTake,
  MeteredValues,
  StateBody,
  TransactionRef,
} from './gateway-request.js';
import { LeaseReport, type SessionNote } from './lease-report.js';
import { SessionConnector, type SessionConnectorSpec } from './session-connector.js';

/** Firmware with which connectors kept leases, by connectorId; empty text if the firmware is unknown. */
export type Proofs = Readonly<Record<string, string>>;

/**
 * Adds the result of one connector with `firmware`. A result applies to no other connector: each has limits of its own.
 * @returns undefined if none is left; the same object if nothing changes
 */
function proofsWith(
  proofs: Proofs | undefined,
  { connectorId, keepsLeases }: { readonly connectorId: string; readonly keepsLeases: boolean },
  firmware: string | undefined,
): Proofs | undefined {
  const { [connectorId]: before, ...others } = proofs ?? {};
  const shown = firmware ?? before ?? Object.values(others)[0] ?? '';
  if (before === (keepsLeases ? shown : undefined)) return proofs;
  if (keepsLeases) return { ...others, [connectorId]: shown };
  return Object.keys(others).length === 0 ? undefined : others;
}

/** An idle connector is silent too without an answer, a value or a pong for this many heartbeats. */
const ALIVE_HEARTBEATS = 2;

/** A per phase; infinite without a limit. Instants of the gateway's clock. */
export type CeilingA = (evse: number, fromMs: number, untilMs: number) => number;

export class ChargerSession<Id extends string = string> {
  /** The charger's clock, and the decision if the charger may receive another time. */
  readonly time: ChargerTime;
  readonly #connectors: readonly SessionConnector[];
  readonly #heartbeatMs: number;
  readonly #newBoot: () => string;
  #boot: string;
  #firmware: string | undefined;
  #provenFirmware: Proofs | undefined;
  #isOpen = false;
  #receivedAtMs = Number.NEGATIVE_INFINITY;
  readonly #chargePoint: ChargePoint;
  readonly #report: LeaseReport;
  #outstanding: (Job & Outstanding) | undefined;
  #tickets = 0;
  #messages: GatewayMessage<Id>[] = [];
  #fallbacksA: Fallbacks;

  /**
   * @param options.newBoot returns a name that no earlier start of this charger had.
   * @param options.ceilingA lowest limit of another system for a connector in a span of the gateway's clock.
   * @param options.provenFirmware connectors that kept leases under an earlier run of the gateway; undefined without
   * any.
   * @param options.fallbacksA start currents of the connectors, set by an earlier run of the gateway
   */
  constructor(options: {
    readonly connectors: readonly (SessionConnectorSpec & { readonly connectorId: Id })[];
    readonly heartbeatMs: number;
    readonly newBoot: () => string;
    readonly provenFirmware?: Proofs | undefined;
    readonly fallbacksA?: Fallbacks | undefined;
    readonly ceilingA?: CeilingA | undefined;
  }) {
    this.#provenFirmware = options.provenFirmware;
    this.#heartbeatMs = options.heartbeatMs;
    const { ceilingA = () => Number.POSITIVE_INFINITY, fallbacksA = {} } = options;
    const isKept = options.connectors.every(({ connectorId }) => connectorId in fallbacksA);
    const provisioned = options.connectors.map(({ connectorId, failsafeA }) => [connectorId, failsafeA]);
    this.#fallbacksA = isKept ? fallbacksA : { ...Object.fromEntries(provisioned), ...fallbacksA };
    const isContinued = options.provenFirmware !== undefined && isKept;
    this.#newBoot = options.newBoot;
    this.#boot = options.newBoot();
    this.#connectors = options.connectors.map((spec) => {
      const events: LeaseEvents = {
        ceilingA: (fromMs, untilMs) => ceilingA(spec.evse, fromMs, untilMs),
        acknowledged: ({ epoch, seq }, result) => {
          const { limitA } = connector.lease.held;
          const { dc } = spec;
          const applied = dc === undefined ? { appliedA: limitA } : { appliedW: dcWOfAmpere(limitA, dc) };
          const body = { v: 1, boot: this.#boot, epoch, seq, result, ...applied } as const;
          this.#messages.push({ kind: 'ack', connectorId: spec.connectorId, body });
        },
        fellBack: () => {
          this.#fallbacksA = { ...this.#fallbacksA, [spec.connectorId]: connector.lease.failsafe.mostA };
          this.#report.repeat();
        },
        judged: (whyNot, kind) => {
          connector.shownWhyNot = whyNot;
          connector.isShownEvidence = kind === 'evidence' && whyNot !== undefined;
          if (kind === 'hint') return;
          const shown = { connectorId: spec.connectorId, keepsLeases: whyNot === undefined };
          this.#provenFirmware = proofsWith(this.#provenFirmware, shown, this.#firmware);
        },
      };
      const lease = new ConnectorLease(spec, events, this.#fallbacksA[spec.connectorId]);
      const connector = new SessionConnector(spec, options.heartbeatMs, lease);
      const isKnown = this.#provenFirmware?.[spec.connectorId] !== undefined;
      lease.restart(this.#boot, { isKnown, isTakenUp: isContinued });
      return connector;
    });
    this.time = new ChargerTime(this.#connectors, options.heartbeatMs, isContinued);
    this.#chargePoint = new ChargePoint({
      connectors: this.#connectors,
      heartbeatMs: options.heartbeatMs,
      isTakenUp: isContinued,
      onConfigured: () => this.#report.repeat(),
    });
    this.#report = new LeaseReport({
      connectors: this.#connectors,
      clock: this.time.clock,
      chargePoint: this.#chargePoint,
      heartbeatMs: options.heartbeatMs,
      isContinued,
    });
  }

  get boot(): string {
    return this.#boot;
  }

  /** Connectors with a proven lease; undefined without any. The object is the same until its content changes. */
  get provenFirmware(): Proofs | undefined {
    return this.#provenFirmware;
  }

  /** Currents that the connectors start with. The object is the same until its content changes. */
  get fallbacksA(): Fallbacks {
    return this.#fallbacksA;
  }

  /**
   * `held`: limit that the charger holds. `whyNot`: reason why its lease cannot be relied upon. `unit`: unit of its
   * profiles. `values`: newest values of its car.
   */
  connectors() {
    return this.#connectors.map((connector) => {
      const whyNot = this.#report.whyNoLease(connector);
      const state = this.#report.stateOf(connector);
      const { lease, spec, values } = connector;
      const { unit } = lease.rate;
      return { connectorId: spec.connectorId as Id, held: lease.held, whyNot, state, unit, values };
    });
  }

  /** The charger's socket is open, and the service receives the messages for the charger. */
  opened(nowMs: number): void {
    this.#isOpen = true;
    this.#outstanding = undefined;
    this.#receivedAtMs = nowMs;
    this.time.opened(nowMs);
    this.#chargePoint.opened(nowMs);
    this.#report.opened(nowMs);
    for (const connector of this.#connectors) connector.opened(nowMs);
  }

  /** The charger's socket is gone. The held limit applies until its lease ends, by the charger's own clock. */
  closed(nowMs: number): void {
    this.time.giveUp(nowMs);
    this.#isOpen = false;
    this.#outstanding = undefined;
    this.#messages = [];
    this.#chargePoint.closed();
    for (const { lease } of this.#connectors) lease.disconnect();
  }

  /** State for the service once the charger's socket is gone. */
  lastWill(): StateBody {
    return { v: 1, online: false, boot: this.#boot };
  }

  /** The charger started anew: its limits and its clock are unknown. */
  booted(firmware: string | undefined, nowMs: number): void {
    this.received(nowMs);
    this.#boot = this.#newBoot();
    this.#firmware = firmware;
    this.time.restart(nowMs);
    this.#chargePoint.booted(nowMs);
    this.#report.booted();
    this.#outstanding = undefined;
    this.#messages = [];
    for (const connector of this.#connectors) {
      const proven = this.#provenFirmware?.[connector.spec.connectorId];
      const isKnown = proven !== undefined && ['', firmware].includes(proven);
      connector.restart(this.#boot, { isKnown, isTakenUp: false });
    }
  }

  /** Its management system rejected that start: the charger must not be asked before the next one. */
  rejected(): void {
    this.#chargePoint.rejected();
  }

  /** Any frame of the socket shows that the charger is alive, also a pong. */
  received(nowMs: number): void {
    this.#receivedAtMs = nowMs;
  }

  /** @param ownMs instant of the status by the charger's clock; undefined if the charger names none */
  receivedStatus(evse: number, status: ChargingStatus, ownMs: number | undefined, nowMs: number): void {
    this.received(nowMs);
    if (ownMs !== undefined) this.time.received(ownMs, nowMs);
    this.#at(evse)?.receivedStatus(status, ownMs ?? this.time.clock.ownAt(nowMs), nowMs);
  }

  receivedValues(evse: number, values: MeteredValues, nowMs: number): void {
    this.received(nowMs);
    const connector = this.#at(evse);
    // Values that the charger held back do not describe the present.
    if (connector?.isOver(values) || this.time.received(values.ownMs, nowMs) === 'late') return;
    connector?.receivedValues(values, nowMs);
  }

  transactionBegan(evse: number, transaction: TransactionRef, nowMs: number): void {
    this.received(nowMs);
    this.#at(evse)?.receivedTransaction(transaction, nowMs);
  }

  /** The charger names the identifier that authorized the transaction there. */
  receivedIdTag(evse: number, idTag: string): void {
    this.#at(evse)?.receivedIdTag(idTag);
  }

  /** The car declared its needs (OCPP 2.0.1, `NotifyEVChargingNeeds`). They end when the car leaves. */
  receivedNeeds(evse: number, report: CarReport, nowMs: number): void {
    this.received(nowMs);
    this.#at(evse)?.receivedNeeds(report);
  }

  /**
   * A message of a transaction that began earlier, and not its last one.
   * @param ownMs instant by the charger's clock
   */
  transactionGoesOn(evse: number, transaction: TransactionRef, ownMs: number): void {
    this.#at(evse)?.receivedFrom(transaction, ownMs);
  }

  transactionEnded(transaction: TransactionRef, nowMs: number): void {
    this.received(nowMs);
    for (const connector of this.#connectors) connector.receivedEnd(transaction, nowMs);
  }

  /** Held limit and running transaction of an EVSE, as far as known. */
  leaseAt(evse: number): Pick<ConnectorLease, 'held' | 'transaction'> | undefined {
    return this.#at(evse)?.lease;
  }

  /** Another system changed its limit for a connector. */
  review(nowMs: number): void {
    for (const { lease } of this.#connectors) lease.review(nowMs);
  }

  /** `…/limit` of the MQTT contract arrived. */
  receiveLimit(connectorId: Id, limit: LimitToTake, nowMs: number): void {
    const connector = this.#connectors.find(({ spec }) => spec.connectorId === connectorId);
    if (connector === undefined) return;
    connector.lease.take(connector.inAmperes(limit), nowMs);
    if (limit.boot === this.#boot) this.time.noteReceived(connector, limit.ref, nowMs);
  }

  /** `…/sync` of the MQTT contract arrived. */
  receiveSync(): void {
    this.#report.repeat();
    for (const connector of this.#connectors) connector.noteChange();
  }

  /** Answer to the request with that ticket. An answer to a request that was given up changes nothing. */
  answered(ticket: number, answer: GatewayAnswer, nowMs: number): void {
    const job = this.#outstanding;
    if (job?.ticket !== ticket) return;
    this.#outstanding = undefined;
    if (answer.kind !== 'failed') this.received(nowMs);
    this.#report.answered(job.request, answer, nowMs);
    this.time.answered(job, answer, nowMs);
    job.done(answer, nowMs);
  }

  advance(nowMs: number): void {
    for (const connector of this.#connectors) connector.advance(nowMs);
    this.#chargePoint.advance(nowMs);
  }

  /**
   * Instant of the next action or message.
   * @param isHeard false: the service cannot receive messages now, so none is due
   */
  nextDueMs(nowMs: number, isReceived = true): number {
    let dueMs = Math.min(this.#chargePoint.dueAtMs, this.#report.dueAtMs(nowMs, isReceived));
    const isSpeaking = isReceived && this.#isAlive(nowMs);
    for (const connector of this.#connectors) {
      dueMs = Math.min(dueMs, connector.overAtMs);
      if (isSpeaking) dueMs = Math.min(dueMs, connector.dueAtMs(nowMs));
    }
    // One request at a time: its answer or its failure comes first.
    if (this.#outstanding === undefined && this.#chargePoint.isConfigured)
      dueMs = Math.min(dueMs, this.#asksAtMs(nowMs));
    return Math.max(dueMs, nowMs);
  }

  /** Next request to the charger if none is outstanding; a call of `answered` must follow. */
  takeRequest(nowMs: number): Outstanding | undefined {
    if (!this.#isOpen || this.#outstanding !== undefined) return undefined;
    const job = this.#chargePoint.nextJob() ?? this.#sessionJob(nowMs);
    if (job === undefined) return undefined;
    this.#outstanding = { ...job, ticket: ++this.#tickets, askedAtMs: nowMs };
    this.time.noteAsked(job.request, nowMs);
    return this.#outstanding;
  }

  takeMessages(nowMs: number): readonly GatewayMessage<Id>[] {
    if (!this.#isOpen) return [];
    // The report of a proven lease precedes any acknowledgement that relies on it.
    const taken: GatewayMessage<Id>[] = [];
    const state = this.#report.takeState(this.#boot, this.#firmware, nowMs);
    if (state !== undefined) taken.push({ kind: 'state', body: state });
    taken.push(...this.#messages.splice(0));
    if (!this.#isAlive(nowMs)) return taken;
    for (const connector of this.#connectors) {
      if (connector.dueAtMs(nowMs) > nowMs) continue;
      const { clock, isInDoubt } = this.time;
      const body = connector.meter(this.#boot, clock.ownAt(nowMs), isInDoubt, nowMs);
      this.time.noteHeartbeat(connector, body.hb);
      taken.push({ kind: 'meter', connectorId: connector.spec.connectorId as Id, body });
    }
    return taken;
  }

  /** Changes for the operator since the last call. */
  takeNotes(): readonly SessionNote[] {
    return this.#report.takeNotes();
  }

  #at(evse: number): SessionConnector | undefined {
    return this.#connectors.find(({ spec }) => spec.evse === evse);
  }

  #isAlive(nowMs: number): boolean {
    return this.#isOpen && nowMs - this.#receivedAtMs <= ALIVE_HEARTBEATS * this.#heartbeatMs;
  }

  /** Instant of the next request about leases or the clock. A clock in doubt allows no lease requests. */
  #asksAtMs(nowMs: number): number {
    const lookAtMs = this.time.asksAtMs(nowMs);
    if (this.time.isInDoubt) return lookAtMs;
    return Math.min(lookAtMs, ...this.#connectors.map(({ lease }) => lease.asksAtMs));
  }

  #sessionJob(nowMs: number): Job | undefined {
    if (!this.#chargePoint.isConfigured) return undefined;
    for (const { lease } of this.time.isInDoubt ? [] : this.#connectors) {
      const request = lease.nextRequest(nowMs);
      if (request) return { request, done: (answer, atMs) => lease.answered(request, answer, atMs) };
    }
    return this.time.nextJob(nowMs);
  }
}
