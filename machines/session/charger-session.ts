// A charger behind a gateway from its boot on: what it is asked, what the service is told for it, and whether it is trusted
// with a lease. No clock, no socket: its owner carries requests and messages, and says what time it is.
import type { ChargingStatus } from '../power/meter-ledger.js';
import { MINIMUM_CURRENT_A } from '../values/units.js';
import { ChargerClock } from './charger-clock.js';
import type {
  ChargerAbilities,
  GatewayAnswer,
  GatewayMessage,
  GatewayRequest,
  LimitToTake,
  MeteredValues,
  StateBody,
  TransactionRef,
} from './gateway-request.js';
import { limitIn, type RateUnit, showsNothing } from './lease-schedule.js';
import { SessionConnector, type SessionConnectorSpec } from './session-connector.js';

/** Something the operator should know: why a connector has no lease, or that it has one again. */
export interface SessionNote {
  readonly connectorId: string;
  /** Undefined: its lease is proven. */
  readonly whyNot: string | undefined;
}

interface Job {
  readonly request: GatewayRequest;
  readonly done: (answer: GatewayAnswer, nowMs: number) => void;
}

/** A request that is on its way to the charger, with the number its answer comes back with. */
export interface Outstanding {
  readonly ticket: number;
  readonly request: GatewayRequest;
}

/** An answer, a value or a pong must have come within so many heartbeats, or an idle connector is silent too. */
const ALIVE_HEARTBEATS = 2;
/** What failed while the charger was made ready is tried again after this. */
const READY_AGAIN_MS = 30_000;
/** A charger that connects without a boot notification is taken to be the one it was after this. */
const BOOT_WITHIN_MS = 5_000;
/** The clock of an idle charger is looked at so often. */
const CLOCK_LOOK_MS = 120_000;
/** What it is asked waits until it has heard that its boot is accepted. */
const BOOT_SETTLES_MS = 500;
/** How far the fail-safe is looked for after a boot, s. */
const FAILSAFE_LOOK_S = 60;

const NOT_SHOWN = 'it has not shown yet that it lowers itself when a lease ends';

export class ChargerSession<Id extends string = string> {
  readonly #connectors: readonly SessionConnector[];
  readonly #heartbeatMs: number;
  readonly #newBoot: () => string;
  readonly #clock = new ChargerClock();
  #boot: string;
  #firmware: string | undefined;
  #provenFirmware: string | undefined;
  #abilities: ChargerAbilities | undefined;
  #isOpen = false;
  #heardAtMs = Number.NEGATIVE_INFINITY;
  #isStateDue = false;
  #jobs: Job[] = [];
  /** When it is made ready; infinite where it is, or is on the way. */
  #readyAtMs = Number.POSITIVE_INFINITY;
  #isReady = false;
  #hasBooted = false;
  /** Fail-safes were installed since this gateway knows it. */
  #isInstalled = false;
  #whyNoFailsafe: string | undefined;
  #outstanding: (Job & Outstanding) | undefined;
  #tickets = 0;
  #clockAskedAtMs = Number.NEGATIVE_INFINITY;
  #messages: GatewayMessage<Id>[] = [];
  #notes: SessionNote[] = [];

  /**
   * @param options.newBoot a name that no start of this charger had before
   * @param options.provenFirmware with which it was seen to keep leases, in a life of the gateway before
   */
  constructor(options: {
    readonly connectors: readonly (SessionConnectorSpec & { readonly connectorId: Id })[];
    readonly heartbeatMs: number;
    readonly newBoot: () => string;
    readonly provenFirmware?: string | undefined;
  }) {
    this.#provenFirmware = options.provenFirmware;
    this.#heartbeatMs = options.heartbeatMs;
    this.#newBoot = options.newBoot;
    this.#boot = options.newBoot();
    this.#connectors = options.connectors.map((spec) => {
      const connector: SessionConnector = new SessionConnector(spec, options.heartbeatMs, {
        acknowledged: ({ epoch, seq }, result) => {
          const appliedA = connector.lease.held.limitA;
          const body = { v: 1, boot: this.#boot, epoch, seq, result, appliedA } as const;
          this.#messages.push({ kind: 'ack', connectorId: spec.connectorId, body });
        },
        judged: (whyNot, kind) => {
          connector.shownWhyNot = whyNot;
          if (kind === 'hint') return;
          const firmware = this.#firmware ?? this.#provenFirmware ?? '';
          this.#provenFirmware = whyNot === undefined ? firmware : undefined;
        },
      });
      connector.lease.restart(this.#boot);
      connector.lease.remember(this.#provenFirmware !== undefined);
      return connector;
    });
  }

  get boot(): string {
    return this.#boot;
  }

  /** With which firmware it was seen to keep leases; empty where that is not known, undefined where it was not. */
  get provenFirmware(): string | undefined {
    return this.#provenFirmware;
  }

  /** Each connector: what it is held to, and why it has no lease that can be relied upon. */
  connectors(nowMs: number) {
    return this.#connectors.map((connector) => ({
      connectorId: connector.spec.connectorId as Id,
      held: connector.lease.held,
      whyNot: this.#whyNoLease(connector, nowMs),
    }));
  }

  /** Its socket is open, and the service hears what is said for it. */
  opened(nowMs: number): void {
    this.#isOpen = true;
    this.#heardAtMs = nowMs;
    this.#isStateDue = true;
    this.#readyAtMs = nowMs + BOOT_WITHIN_MS;
    for (const connector of this.#connectors) connector.noteChange();
  }

  /** Its socket is gone. What it holds goes on until its lease ends. */
  closed(): void {
    this.#isOpen = false;
    this.#outstanding = undefined;
    this.#jobs = [];
    this.#messages = [];
    this.#readyAtMs = Number.POSITIVE_INFINITY;
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
    this.#clock.restart();
    this.#abilities = undefined;
    this.#isReady = false;
    this.#hasBooted = true;
    this.#jobs = [];
    this.#outstanding = undefined;
    this.#messages = [];
    this.#isStateDue = true;
    this.#readyAtMs = nowMs + BOOT_SETTLES_MS;
    const isRemembered = this.#provenFirmware === '' || this.#provenFirmware === firmware;
    for (const connector of this.#connectors) {
      connector.restart(this.#boot);
      connector.lease.remember(isRemembered);
    }
  }

  /** It is alive: any frame of its socket, a pong too. */
  heard(nowMs: number): void {
    this.#heardAtMs = nowMs;
  }

  /** @param ownMs when, by its own clock, where it says so */
  heardStatus(evse: number, status: ChargingStatus, ownMs: number | undefined, nowMs: number): void {
    this.heard(nowMs);
    if (ownMs !== undefined) this.#noteTime(ownMs, nowMs);
    this.#at(evse)?.heardStatus(status);
  }

  heardValues(evse: number, values: MeteredValues, nowMs: number): void {
    this.heard(nowMs);
    // What was kept back tells nothing of now.
    if (this.#noteTime(values.ownMs, nowMs) === 'late') return;
    this.#at(evse)?.heardValues(values, nowMs);
  }

  transactionBegan(evse: number, transaction: TransactionRef, nowMs: number): void {
    this.heard(nowMs);
    this.#at(evse)?.heardTransaction(transaction, nowMs);
  }

  transactionEnded(transaction: TransactionRef, nowMs: number): void {
    this.heard(nowMs);
    const connector = this.#connectors.find(({ lease }) => lease.transaction === transaction);
    connector?.heardTransaction(undefined, nowMs);
  }

  /** `…/limit` came for it. */
  receiveLimit(connectorId: Id, limit: LimitToTake, nowMs: number): void {
    this.#connectors.find(({ spec }) => spec.connectorId === connectorId)?.lease.take(limit, nowMs);
  }

  /** `…/sync` came for it. */
  receiveSync(): void {
    this.#isStateDue = true;
    for (const connector of this.#connectors) connector.noteChange();
  }

  /** What came of the request with that number; of one that was given up meanwhile it changes nothing. */
  answered(ticket: number, answer: GatewayAnswer, nowMs: number): void {
    const job = this.#outstanding;
    if (job?.ticket !== ticket) return;
    this.#outstanding = undefined;
    if (answer.kind !== 'failed') this.heard(nowMs);
    if (answer.kind === 'schedule') this.#noteTime(answer.schedule.startsAtOwnMs, nowMs, true);
    job.done(answer, nowMs);
  }

  /** Lets time pass up to `nowMs`. */
  advance(nowMs: number): void {
    for (const connector of this.#connectors) {
      const { seq } = connector.lease.held;
      connector.lease.advance(nowMs);
      if (connector.lease.held.seq === 0 && seq > 0) connector.noteChange();
    }
    if (nowMs >= this.#readyAtMs) this.#makeReady();
  }

  /** When it has something to do or to say next. */
  nextDueMs(nowMs: number): number {
    let dueMs = this.#readyAtMs;
    for (const connector of this.#connectors) {
      dueMs = Math.min(dueMs, connector.lease.nextDueMs);
      if (this.#isAlive(nowMs)) dueMs = Math.min(dueMs, connector.dueAtMs(nowMs));
    }
    if (this.#isReady) dueMs = Math.min(dueMs, this.#clockDueMs(nowMs));
    return Math.max(dueMs, nowMs);
  }

  /** The next thing to ask the charger, where none is outstanding; `answered` must follow. */
  takeRequest(nowMs: number): Outstanding | undefined {
    if (!this.#isOpen || this.#outstanding !== undefined) return undefined;
    const job = this.#jobs.shift() ?? this.#leaseJob(nowMs) ?? this.#clockJob(nowMs);
    if (job === undefined) return undefined;
    this.#outstanding = { ...job, ticket: ++this.#tickets };
    return this.#outstanding;
  }

  /** What the service is to be told now. */
  takeMessages(nowMs: number): readonly GatewayMessage<Id>[] {
    if (!this.#isOpen) return [];
    this.#noteLeases(nowMs);
    // That a lease is proven is said before a grant is acknowledged by it.
    const taken: GatewayMessage<Id>[] = [];
    if (this.#isStateDue) taken.push({ kind: 'state', body: this.#state(nowMs) });
    taken.push(...this.#messages.splice(0));
    if (!this.#isAlive(nowMs)) return taken;
    for (const connector of this.#connectors) {
      if (connector.dueAtMs(nowMs) > nowMs) continue;
      const body = connector.meter(this.#boot, this.#clock.ownAt(nowMs), nowMs);
      taken.push({ kind: 'meter', connectorId: connector.spec.connectorId as Id, body });
    }
    return taken;
  }

  /** What changed for the operator since it was asked last. */
  takeNotes(): readonly SessionNote[] {
    return this.#notes.splice(0);
  }

  #at(evse: number): SessionConnector | undefined {
    return this.#connectors.find(({ spec }) => spec.evse === evse);
  }

  #isAlive(nowMs: number): boolean {
    return this.#isOpen && nowMs - this.#heardAtMs <= ALIVE_HEARTBEATS * this.#heartbeatMs;
  }

  #noteTime(ownMs: number, nowMs: number, isLook = false) {
    const verdict = this.#clock.note(ownMs, nowMs, isLook);
    if (verdict === 'jumped' || verdict === 'drifting')
      for (const connector of this.#connectors) {
        connector.lease.distrust();
        connector.noteChange();
      }
    return verdict;
  }

  /** Why what the connector says of its lease cannot be relied upon; undefined where it can. */
  #whyNoLease({ lease, shownWhyNot }: SessionConnector, nowMs: number): string | undefined {
    const { whyNot, maxPeriods, maxStackLevel, ignoresOffline } = this.#abilities ?? {};
    if (whyNot !== undefined) return whyNot;
    if (maxPeriods !== undefined && maxPeriods < 2)
      return 'it takes one period only, so that no limit ever ends';
    if (maxStackLevel !== undefined && maxStackLevel < 1)
      return 'it has one stack level only, so that no lease fits above its fail-safe';
    if (ignoresOffline) return 'IgnoredProfilePurposesOffline: it keeps to no limits while it is offline';
    if (this.#whyNoFailsafe !== undefined) return this.#whyNoFailsafe;
    const whyDistrusted = this.#clock.whyDistrusted(nowMs);
    if (whyDistrusted !== undefined) return `its clock cannot be relied upon: ${whyDistrusted}`;
    if (lease.isProven && this.#isReady) return undefined;
    return shownWhyNot ?? NOT_SHOWN;
  }

  #noteLeases(nowMs: number): void {
    for (const connector of this.#connectors) {
      const whyNot = this.#whyNoLease(connector, nowMs);
      if (whyNot === connector.toldWhyNot) continue;
      const isKind = (whyNot === undefined) !== (connector.toldWhyNot === undefined);
      connector.toldWhyNot = whyNot;
      if (isKind) this.#isStateDue = true;
      this.#notes.push({ connectorId: connector.spec.connectorId, whyNot });
    }
  }

  #state(nowMs: number): StateBody {
    this.#isStateDue = false;
    const connectors = this.#connectors.map((connector) => {
      const { connectorId: id, phases, maxCurrentA: maxA, failsafeA } = connector.spec;
      const isLeased = this.#whyNoLease(connector, nowMs) === undefined;
      const lease: 'heartbeat' | 'none' = isLeased ? 'heartbeat' : 'none';
      // Without a fail-safe that it keeps it may do all it can by itself.
      const ownA = this.#isReady && this.#whyNoFailsafe === undefined ? failsafeA : maxA;
      return { id, phases, minA: MINIMUM_CURRENT_A, maxA, failsafeA: ownA, lease, keepsThen: false };
    });
    const firmware = this.#firmware === undefined ? {} : { firmware: this.#firmware.slice(0, 128) };
    return { v: 1, online: true, boot: this.#boot, ...firmware, connectors };
  }

  /** Reads what it can do, has it send values, and gives it its fail-safes; until then it gets no lease. */
  #makeReady(): void {
    this.#readyAtMs = Number.POSITIVE_INFINITY;
    this.#jobs = [];
    for (const { spec, status } of this.#connectors)
      if (status === undefined) this.#ask({ kind: 'askStatus', evse: spec.evse });
    if (this.#isReady) return;
    this.#ask({ kind: 'readAbilities' }, (answer) => {
      this.#learn(answer);
      for (const connector of this.#connectors) this.#installFailsafe(connector, connector.lease.rate.unit);
    });
    this.#ask({ kind: 'sample', everyS: this.#heartbeatMs / 1000 });
    if (!this.#hasBooted) return;
    this.#whyNoFailsafe = undefined;
    for (const connector of this.#connectors) {
      const { evse } = connector.spec;
      // What it may have kept of its life before could begin to count again when its clock is set.
      this.#ask({ kind: 'clear', evse, slot: 'transaction' });
      this.#ask({ kind: 'clear', evse, slot: 'default' });
      if (this.#isInstalled) this.#lookForFailsafe(connector);
    }
  }

  #ask(request: GatewayRequest, done: (answer: GatewayAnswer, nowMs: number) => void = () => {}): void {
    this.#jobs.push({
      request,
      done: (answer, nowMs) => {
        done(answer, nowMs);
        if (answer.kind === 'failed') {
          this.#jobs = [];
          this.#readyAtMs = nowMs + READY_AGAIN_MS;
        } else if (this.#jobs.length === 0) {
          this.#finish();
        }
      },
    });
  }

  #finish(): void {
    if (this.#isReady) return;
    this.#isReady = true;
    this.#isInstalled = this.#whyNoFailsafe === undefined;
    this.#hasBooted = false;
    this.#isStateDue = true;
  }

  #learn(answer: GatewayAnswer): void {
    if (answer.kind === 'failed') return;
    const unknown = { units: ['A', 'W'], maxStackLevel: 1, maxPeriods: 2, ignoresOffline: false } as const;
    const abilities =
      answer.kind === 'abilities'
        ? answer.abilities
        : { whyNot: 'it does not say what it can do', ...unknown };
    this.#abilities = abilities;
    for (const { lease } of this.#connectors) lease.learn(abilities);
  }

  #lookForFailsafe({ spec, lease }: SessionConnector): void {
    const { unit } = lease.rate;
    const request = { kind: 'readSchedule', evse: spec.evse, durationS: FAILSAFE_LOOK_S, unit } as const;
    this.#ask(request, (answer) => {
      if (answer.kind !== 'schedule') return;
      const { schedule } = answer;
      if (showsNothing(schedule) && lease.showsIdle !== true) return;
      const most = limitIn({ ...lease.rate, unit: schedule.unit }, spec.failsafeA) + 0.05;
      const isKept =
        !showsNothing(schedule) && schedule.periods.every(({ limit }) => limit >= 0 && limit <= most);
      if (!isKept) this.#whyNoFailsafe = 'it forgot its fail-safe when it started';
    });
  }

  #installFailsafe(connector: SessionConnector, unit: RateUnit): void {
    const { evse, failsafeA, phases } = connector.spec;
    const limit = limitIn({ ...connector.lease.rate, unit, phases }, failsafeA);
    this.#ask({ kind: 'setFailsafe', evse, unit, limit }, (answer) => {
      if (answer.kind !== 'refused') return;
      if (unit === 'A' && this.#abilities?.units.includes('W')) this.#installFailsafe(connector, 'W');
      else this.#whyNoFailsafe ??= `it refuses its fail-safe: ${answer.why}`;
    });
  }

  #leaseJob(nowMs: number): Job | undefined {
    if (!this.#isReady) return undefined;
    for (const { lease } of this.#connectors) {
      const request = lease.nextRequest(nowMs);
      if (request === undefined) continue;
      return { request, done: (answer, atMs) => lease.answered(request, answer, atMs) };
    }
    return undefined;
  }

  #clockDueMs(nowMs: number): number {
    if (this.#clock.ageMs(nowMs) === Number.POSITIVE_INFINITY)
      return this.#clockAskedAtMs + this.#heartbeatMs;
    return Math.max(nowMs - this.#clock.ageMs(nowMs), this.#clockAskedAtMs) + CLOCK_LOOK_MS;
  }

  #clockJob(nowMs: number): Job | undefined {
    const [first] = this.#connectors;
    if (!this.#isReady || first === undefined || this.#clockDueMs(nowMs) > nowMs) return undefined;
    this.#clockAskedAtMs = nowMs;
    const { unit } = first.lease.rate;
    const request = {
      kind: 'readSchedule',
      evse: first.spec.evse,
      durationS: FAILSAFE_LOOK_S,
      unit,
    } as const;
    return { request, done: () => {} };
  }
}
