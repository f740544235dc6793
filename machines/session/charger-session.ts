// A charger behind a gateway from its boot on: what it is asked, what the service is told for it, and whether it is trusted
// with a lease. No clock, no socket: its owner carries requests and messages, and says what time it is.
import type { ChargingStatus } from '../power/meter-ledger.js';
import { ChargerPreparation, type Job, type Outstanding } from './charger-preparation.js';
import { ChargerTime } from './charger-time.js';
import { ConnectorLease, type LeaseEvents } from './connector-lease.js';
import type { Fallbacks } from './failsafe-profile.js';
import type {
  GatewayAnswer,
  GatewayMessage,
  LimitToTake,
  MeteredValues,
  StateBody,
  TransactionRef,
} from './gateway-request.js';
import { LeaseReport, type SessionNote } from './lease-report.js';
import { type Proofs, proofsWith } from './lease-trust.js';
import { SessionConnector, type SessionConnectorSpec } from './session-connector.js';

/** An answer, a value or a pong must have come within so many heartbeats, or an idle connector is silent too. */
const ALIVE_HEARTBEATS = 2;

/** A per phase; infinite where nothing limits it. Instants of our clock. */
export type CeilingA = (evse: number, fromMs: number, untilMs: number) => number;

export class ChargerSession<Id extends string = string> {
  /** What time it has, and whether it may be told another. */
  readonly time: ChargerTime;
  readonly #connectors: readonly SessionConnector[];
  readonly #heartbeatMs: number;
  readonly #newBoot: () => string;
  #boot: string;
  #firmware: string | undefined;
  #provenFirmware: Proofs | undefined;
  #isOpen = false;
  #heardAtMs = Number.NEGATIVE_INFINITY;
  readonly #preparation: ChargerPreparation;
  readonly #report: LeaseReport;
  #outstanding: (Job & Outstanding) | undefined;
  #tickets = 0;
  #messages: GatewayMessage<Id>[] = [];
  #fallbacksA: Fallbacks;

  /**
   * @param options.newBoot a name that no start of this charger had before
   * @param options.ceilingA the lowest that another system allows a connector in that span, of our clock
   * @param options.provenFirmware which connectors were seen to keep leases, in a life of the gateway before; undefined where none
   * @param options.fallbacksA what its connectors start with, as a life of the gateway before had set it
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
          const appliedA = connector.lease.held.limitA;
          const body = { v: 1, boot: this.#boot, epoch, seq, result, appliedA } as const;
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
      lease.restart(this.#boot);
      lease.trust.remember(this.#provenFirmware?.[spec.connectorId] !== undefined, isContinued);
      return connector;
    });
    this.time = new ChargerTime(this.#connectors, options.heartbeatMs, isContinued);
    this.#preparation = new ChargerPreparation({
      connectors: this.#connectors,
      heartbeatMs: options.heartbeatMs,
      isInstalled: isContinued,
      onReady: () => this.#report.repeat(),
    });
    const of = { connectors: this.#connectors, clock: this.time.clock, preparation: this.#preparation };
    this.#report = new LeaseReport(of, isContinued);
  }

  get boot(): string {
    return this.#boot;
  }

  /** The connectors that were seen to keep leases; undefined where none was. The same object until that changes. */
  get provenFirmware(): Proofs | undefined {
    return this.#provenFirmware;
  }

  /** What its connectors start with; the same object until that changes. */
  get fallbacksA(): Fallbacks {
    return this.#fallbacksA;
  }

  /** Each connector: what it is held to, and why it has no lease that can be relied upon. */
  connectors() {
    return this.#connectors.map((connector) => ({
      connectorId: connector.spec.connectorId as Id,
      held: connector.lease.held,
      whyNot: this.#report.whyNoLease(connector),
    }));
  }

  /** Its socket is open, and the service hears what is said for it. */
  opened(nowMs: number): void {
    this.#isOpen = true;
    this.#heardAtMs = nowMs;
    this.time.opened(nowMs);
    this.#preparation.opened(nowMs);
    this.#report.opened(nowMs);
    for (const connector of this.#connectors) connector.opened(nowMs);
  }

  /** Its socket is gone. What it holds goes on until its lease ends, by its own clock. */
  closed(nowMs: number): void {
    this.time.giveUp(nowMs);
    this.#isOpen = false;
    this.#outstanding = undefined;
    this.#messages = [];
    this.#preparation.closed();
    for (const { lease } of this.#connectors) lease.disconnect();
  }

  /** What the service is to be told when its socket is gone. */
  lastWill(): StateBody {
    return { v: 1, online: false, boot: this.#boot };
  }

  /** It started anew: what it holds and what time it has is not known. */
  booted(firmware: string | undefined, nowMs: number): void {
    this.heard(nowMs);
    this.#boot = this.#newBoot();
    this.#firmware = firmware;
    this.time.restart(nowMs);
    this.#preparation.booted(nowMs);
    this.#report.booted();
    this.#outstanding = undefined;
    this.#messages = [];
    for (const connector of this.#connectors) {
      const proven = this.#provenFirmware?.[connector.spec.connectorId];
      connector.restart(this.#boot);
      connector.lease.trust.remember(proven !== undefined && ['', firmware].includes(proven), false);
    }
  }

  /** It is alive: any frame of its socket, a pong too. */
  heard(nowMs: number): void {
    this.#heardAtMs = nowMs;
  }

  /** @param ownMs when, by its own clock, where it says so */
  heardStatus(evse: number, status: ChargingStatus, ownMs: number | undefined, nowMs: number): void {
    this.heard(nowMs);
    if (ownMs !== undefined) this.time.heard(ownMs, nowMs);
    this.#at(evse)?.heardStatus(status, ownMs ?? this.time.clock.ownAt(nowMs), nowMs);
  }

  heardValues(evse: number, values: MeteredValues, nowMs: number): void {
    this.heard(nowMs);
    const connector = this.#at(evse);
    // What was kept back tells nothing of now.
    if (connector?.isOver(values) || this.time.heard(values.ownMs, nowMs) === 'late') return;
    connector?.heardValues(values, nowMs);
  }

  transactionBegan(evse: number, transaction: TransactionRef, nowMs: number): void {
    this.heard(nowMs);
    this.#at(evse)?.heardTransaction(transaction, nowMs);
  }

  /** A word of one that began before, which is not its last. @param ownMs when, by its own clock */
  transactionGoesOn(evse: number, transaction: TransactionRef, ownMs: number): void {
    this.#at(evse)?.heardOf(transaction, ownMs);
  }

  transactionEnded(transaction: TransactionRef, nowMs: number): void {
    this.heard(nowMs);
    for (const connector of this.#connectors) connector.heardEnd(transaction, nowMs);
  }

  /** What an EVSE is held to, and the transaction that runs there, as far as is known. */
  leaseAt(evse: number): Pick<ConnectorLease, 'held' | 'transaction'> | undefined {
    return this.#at(evse)?.lease;
  }

  /** Another system wants more or less of its connectors than before. */
  review(nowMs: number): void {
    for (const { lease } of this.#connectors) lease.review(nowMs);
  }

  /** `…/limit` came for it. */
  receiveLimit(connectorId: Id, limit: LimitToTake, nowMs: number): void {
    const connector = this.#connectors.find(({ spec }) => spec.connectorId === connectorId);
    if (connector === undefined) return;
    connector.lease.take(limit, nowMs);
    if (limit.boot === this.#boot) this.time.noteHeard(connector, limit.ref, nowMs);
  }

  /** `…/sync` came for it. */
  receiveSync(): void {
    this.#report.repeat();
    for (const connector of this.#connectors) connector.noteChange();
  }

  /** What came of the request with that number; of one that was given up meanwhile it changes nothing. */
  answered(ticket: number, answer: GatewayAnswer, nowMs: number): void {
    const job = this.#outstanding;
    if (job?.ticket !== ticket) return;
    this.#outstanding = undefined;
    if (answer.kind !== 'failed') this.heard(nowMs);
    this.#report.answered(job.request, answer, nowMs);
    this.time.answered(job, answer, nowMs);
    job.done(answer, nowMs);
  }

  /** Lets time pass up to `nowMs`. */
  advance(nowMs: number): void {
    for (const connector of this.#connectors) connector.advance(nowMs);
    this.#preparation.advance(nowMs);
  }

  /** When it has something to do next, or to say. @param isHeard false: the service cannot hear it now, and nothing is due for that */
  nextDueMs(nowMs: number, isHeard = true): number {
    let dueMs = Math.min(this.#preparation.dueAtMs, this.#report.dueAtMs(nowMs));
    const isSpeaking = isHeard && this.#isAlive(nowMs);
    for (const connector of this.#connectors) {
      dueMs = Math.min(dueMs, connector.overAtMs);
      if (isSpeaking) dueMs = Math.min(dueMs, connector.dueAtMs(nowMs));
    }
    // One request at a time: its answer comes, or that none came.
    if (this.#outstanding === undefined && this.#preparation.isReady)
      dueMs = Math.min(dueMs, this.#asksAtMs(nowMs));
    return Math.max(dueMs, nowMs);
  }

  /** The next thing to ask the charger, where none is outstanding; `answered` must follow. */
  takeRequest(nowMs: number): Outstanding | undefined {
    if (!this.#isOpen || this.#outstanding !== undefined) return undefined;
    const job = this.#preparation.nextJob() ?? this.#sessionJob(nowMs);
    if (job === undefined) return undefined;
    this.#outstanding = { ...job, ticket: ++this.#tickets, askedAtMs: nowMs };
    this.time.noteAsked(job.request, nowMs);
    return this.#outstanding;
  }

  /** What the service is to be told now. */
  takeMessages(nowMs: number): readonly GatewayMessage<Id>[] {
    if (!this.#isOpen) return [];
    // That a lease is proven is said before a grant is acknowledged by it.
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

  /** What changed for the operator since it was asked last. */
  takeNotes(): readonly SessionNote[] {
    return this.#report.takeNotes();
  }

  #at(evse: number): SessionConnector | undefined {
    return this.#connectors.find(({ spec }) => spec.evse === evse);
  }

  #isAlive(nowMs: number): boolean {
    return this.#isOpen && nowMs - this.#heardAtMs <= ALIVE_HEARTBEATS * this.#heartbeatMs;
  }

  /** When it is to be asked something of its leases or its clock next: nothing is planned by a clock that may be another. */
  #asksAtMs(nowMs: number): number {
    const lookAtMs = this.time.asksAtMs(nowMs);
    if (this.time.isInDoubt) return lookAtMs;
    return Math.min(lookAtMs, ...this.#connectors.map(({ lease }) => lease.asksAtMs));
  }

  #sessionJob(nowMs: number): Job | undefined {
    if (!this.#preparation.isReady) return undefined;
    for (const { lease } of this.time.isInDoubt ? [] : this.#connectors) {
      const request = lease.nextRequest(nowMs);
      if (request) return { request, done: (answer, atMs) => lease.answered(request, answer, atMs) };
    }
    return this.time.nextJob(nowMs);
  }
}
