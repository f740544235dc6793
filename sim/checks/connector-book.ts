// Computes the entitlement of one connector from the messages between it and the service alone (P2), without the
// service's ledger.
import type { LeaseKind } from '../../machines/ledger/grant.js';
import type { LimitMessage } from '../../src/wire/mqtt.js';
import type { CircuitPhaseName } from '../world/site-fuses.js';

// Instants of a connector's newest heartbeats, as sent or received, by boot. Leases count from these instants.
interface Log {
  readonly boot: string;
  /** Number and instant of each, one after the other, so that both are near each other in memory. */
  readonly heartbeats: Float64Array;
  newestHb: number;
}

/** A limit answers one of the newest heartbeats. */
const HEARTBEATS_KEPT = 64;

class HeartbeatLog {
  readonly #logs: Log[] = [];

  /**
   * The first instant counts: a repetition is no other heartbeat. True if the heartbeat is the newest of its boot.
   */
  note(boot: string, hb: number, nowMs: number): boolean {
    const log = this.#logOf(boot) ?? this.#begin(boot);
    const slot = 2 * (hb % HEARTBEATS_KEPT);
    if (log.heartbeats[slot] !== hb) {
      log.heartbeats[slot] = hb;
      log.heartbeats[slot + 1] = nowMs;
    }
    const isNewest = hb > log.newestHb;
    if (isNewest) log.newestHb = hb;
    return isNewest;
  }

  /** Undefined for an unknown heartbeat. */
  atMs(boot: string, hb: number): number | undefined {
    const log = this.#logOf(boot);
    const slot = 2 * (hb % HEARTBEATS_KEPT);
    return log?.heartbeats[slot] === hb ? log.heartbeats[slot + 1] : undefined;
  }

  /** True if `boot` was noted, and another boot after it. */
  isOver(boot: string): boolean {
    const at = this.#logs.findIndex((log) => log.boot === boot);
    return at > 0;
  }

  /** A service that received them died. The next one takes any number as new; services of other shards go on. */
  forgetNewest(): void {
    for (const log of this.#logs) log.newestHb = -1;
  }

  #logOf(boot: string): Log | undefined {
    for (const log of this.#logs) if (log.boot === boot) return log;
    return undefined;
  }

  #begin(boot: string): Log {
    const log = { boot, heartbeats: new Float64Array(2 * HEARTBEATS_KEPT).fill(-1), newestHb: -1 };
    this.#logs.unshift(log);
    if (this.#logs.length > BOOTS_KEPT) this.#logs.pop();
    return log;
  }
}

/** Clocks of chargers may be slow by this factor. */
const SLOWEST = 1.02;

/** Duration of a limit's lease by the slowest clock, whole ms. */
export function leaseMsOf({ ttlS }: { readonly ttlS: number }): number {
  return Math.ceil(1000 * ttlS * SLOWEST);
}

// Outstanding grants of one connector: each may be in force until its lease, or a newer applied limit, ends it.
export interface Numbered {
  readonly epoch: number;
  readonly seq: number;
}

export function isOlder(a: Numbered, b: Numbered): boolean {
  return a.epoch < b.epoch || (a.epoch === b.epoch && a.seq < b.seq);
}

interface NewlyGranted extends Numbered {
  readonly limitA: number;
  /** On this number of its phases. */
  readonly phases: number;
  /** Duration of its lease by the slowest clock. */
  readonly leaseMs: number;
  /** Lease and settling time are over by then. */
  readonly overAtMs: number;
}

interface Promised extends NewlyGranted {
  overAtMs: number;
  /** Number of phases that it counts on: more than it is for, once the charger has failed its duty (R34). */
  countedPhases: number;
  /**
   * The service received at `atMs` that the limit may last longer. Until then it counted on the end at `endedAtMs`.
   */
  opened: { readonly atMs: number; readonly endedAtMs: number } | undefined;
}

/** Times are in ms of one clock. */
class OutstandingGrantRecord {
  readonly #all: Promised[] = [];
  readonly #settleMs: number;

  constructor(settleMs: number) {
    this.#settleMs = settleMs;
  }

  /** A limit left the service. Drops ended limits, and limits that allow no more than the newest and end no later. */
  add({ epoch, seq, limitA, phases, leaseMs, overAtMs }: NewlyGranted, nowMs: number): void {
    const all = this.#all;
    let kept = 0;
    for (const each of all) {
      const isOver = each.overAtMs <= nowMs;
      const isMore = each.limitA > limitA || each.countedPhases > phases;
      if (!isOver && (isMore || each.overAtMs > overAtMs)) all[kept++] = each;
    }
    all[kept++] = {
      epoch,
      seq,
      limitA,
      phases,
      leaseMs,
      overAtMs,
      countedPhases: phases,
      opened: undefined,
    };
    all.length = kept;
  }

  /** The connector was at `limitA` until now, by no limit that can be applied anew. */
  leave(limitA: number, phases: number, epoch: number, nowMs: number): void {
    const overAtMs = nowMs + this.#settleMs;
    const left = { epoch, seq: 0, limitA, phases, leaseMs: 0, overAtMs };
    this.#all.unshift({ ...left, countedPhases: phases, opened: undefined });
  }

  /**
   * The connector applied that limit: earlier ones end after the settling time, and the limit's own lease began by
   * now.
   */
  applied(applied: Numbered, nowMs: number): void {
    const settledAtMs = nowMs + this.#settleMs;
    for (const each of this.#all) {
      if (isOlder(each, applied)) each.overAtMs = Math.min(each.overAtMs, settledAtMs);
      else if (each.seq === applied.seq && each.opened === undefined)
        each.overAtMs = Math.min(each.overAtMs, settledAtMs + each.leaseMs);
    }
  }

  /**
   * The service received that limits in force may outlast their leases: they count until a newer one is applied.
   * @param holds limit that the connector has applied, which ends older ones
   */
  openEnds(holds: Numbered, nowMs: number): void {
    for (const each of this.#all) {
      if (each.overAtMs <= nowMs || isOlder(each, holds)) continue;
      each.opened ??= { atMs: nowMs, endedAtMs: each.overAtMs };
      each.overAtMs = Number.POSITIVE_INFINITY;
    }
  }

  /** The charger failed its duty: each limit counts on all phases. */
  widen(): void {
    for (const each of this.#all) each.countedPhases = ALL;
  }

  /**
   * The service died: reports of open ends since `storedUntilMs` may be on no disk. The next service has to see anew
   * that the charger fails its duty.
   */
  loseWords(storedUntilMs: number): void {
    for (const each of this.#all) {
      each.countedPhases = each.phases;
      if (each.opened === undefined || each.opened.atMs < storedUntilMs) continue;
      each.overAtMs = Math.min(each.overAtMs, each.opened.endedAtMs);
      each.opened = undefined;
    }
  }

  /** Highest limit on its phase number `own`, or `leastA`. */
  mostA(leastA: number, nowMs: number, own: number): number {
    let mostA = leastA;
    for (const { limitA, countedPhases, overAtMs } of this.#all)
      if (own < countedPhases && overAtMs > nowMs && limitA > mostA) mostA = limitA;
    return mostA;
  }

  /** True if that limit is the newest, and in force. */
  isNewest({ epoch, seq }: Numbered, nowMs: number): boolean {
    const newest = this.#all.at(-1);
    return newest?.seq === seq && newest.epoch === epoch && newest.overAtMs > nowMs;
  }

  /** True if a limit of an earlier life than `epoch` may be in force. */
  hasAnyBefore(epoch: number, nowMs: number): boolean {
    return this.#all.some((each) => each.epoch < epoch && each.overAtMs > nowMs);
  }
}

// Detects a charger that draws more than permitted, by its meter values (R8).
const SLACK_A = 0.5;
const SLACK_SHARE = 1.1;
const TOLERATED_MS = 7_000;
const TRUSTED_AFTER_MS = 60_000;

/** Currents to compare a value with, A per phase. */
interface Allowed {
  /** Highest limit sent within the last minutes: a value may be that old. */
  readonly sentLatelyA: number;
  /** Entitlement at the receipt of the value. */
  readonly grantedA: number;
}

class MeteredDraw {
  #overSinceMs: number | undefined;
  #mayBeOverSinceMs: number | undefined;
  #keptSinceMs: number | undefined;
  #mayBeDistrusted = false;
  #isDistrusted = false;

  /** It certainly drew more than permitted, for longer than tolerated. */
  get isDistrusted(): boolean {
    return this.#isDistrusted;
  }

  /** A service that cannot judge the age of values may count it as non-compliant, and then reserves its maximum. */
  get mayBeDistrusted(): boolean {
    return this.#isDistrusted || this.#mayBeDistrusted;
  }

  /** The service received a value at `nowMs`. */
  note(drawnA: number, { sentLatelyA, grantedA }: Allowed, nowMs: number): void {
    this.#overSinceMs = isOver(drawnA, sentLatelyA) ? (this.#overSinceMs ?? nowMs) : undefined;
    this.#isDistrusted = this.#overSinceMs !== undefined && nowMs - this.#overSinceMs > TOLERATED_MS;
    if (isOver(drawnA, grantedA)) {
      this.#keptSinceMs = undefined;
      this.#mayBeOverSinceMs ??= nowMs;
      this.#mayBeDistrusted ||= nowMs - this.#mayBeOverSinceMs >= TOLERATED_MS;
    } else {
      this.#mayBeOverSinceMs = undefined;
      this.#keptSinceMs ??= nowMs;
      this.#mayBeDistrusted &&= nowMs - this.#keptSinceMs < TRUSTED_AFTER_MS;
    }
  }

  /** The service that watched it is gone. */
  forget(): void {
    this.#overSinceMs = undefined;
    this.#mayBeOverSinceMs = undefined;
    this.#keptSinceMs = undefined;
    this.#isDistrusted = false;
    this.#mayBeDistrusted = false;
  }
}

function isOver(drawnA: number, allowedA: number): boolean {
  return drawnA > (allowedA + SLACK_A) * SLACK_SHARE;
}

// Sessions that a connector's charger named, for each of its starts whose messages may still be under way.
interface KnownSession {
  readonly boot: string;
  /** Session id by its charger; undefined if the charger names none, or without a car. */
  readonly id: string | undefined;
  readonly seenPhases: number;
}

/** Starts of a charger whose messages may still be under way. */
const BOOTS_KEPT = 4;

class KnownSessions {
  /** By the start of the charger that named the session; the start received last comes first. */
  #sessions: KnownSession[] = [];
  /**
   * Session in the last overtaken message: a service that has just started cannot detect that the message was
   * overtaken.
   */
  #late: { readonly boot: string; readonly id: string | undefined } | undefined;

  /** A meter value named the present session, and the number of its phases with current. */
  note(boot: string, id: string | undefined, phases: number): void {
    const [newest] = this.#sessions;
    if (newest?.boot === boot && newest.id === id && newest.seenPhases >= phases) return;
    const before = this.in(boot);
    const seenPhases = before?.id === id ? Math.max(before?.seenPhases ?? 0, phases) : phases;
    const others = this.#sessions.filter((each) => each.boot !== boot);
    this.#sessions = [{ boot, id, seenPhases }, ...others].slice(0, BOOTS_KEPT);
  }

  /** An overtaken meter value named that session. */
  noteLate(boot: string, id: string | undefined): void {
    this.#late = { boot, id };
  }

  /** True if the last overtaken meter value named that session. */
  isLate(boot: string, id: string): boolean {
    return this.#late?.boot === boot && this.#late.id === id;
  }

  /**
   * Newest session of that start. After a late message the service may answer one that is over, and the charger
   * refuses the answer.
   */
  in(boot: string | undefined = ''): KnownSession | undefined {
    return this.#sessions.find((each) => each.boot === boot);
  }
}

// Lease kind that the service received for a charger, and the part that a dying service forgets.
class ReceivedLeaseKind {
  #kind: LeaseKind = 'heartbeat';
  #noneAtMs = Number.NEGATIVE_INFINITY;
  #before: { readonly kind: LeaseKind; readonly endedAtMs: number } | undefined;

  get kind(): LeaseKind {
    return this.#kind;
  }

  /** Last report of no lease, or first report of a lease after that. */
  get noneAtMs(): number {
    return this.#noneAtMs;
  }

  receive(kind: LeaseKind, nowMs: number): void {
    if (kind === 'none' || this.#kind === 'none') this.#noneAtMs = nowMs;
    if (kind !== this.#kind) this.#before = { kind: this.#kind, endedAtMs: nowMs };
    this.#kind = kind;
  }

  /**
   * The service died. True if it had received a report of no lease that may not be on disk. The next service then
   * uses the earlier kind until another report.
   */
  lose(storedUntilMs: number): boolean {
    const before = this.#before;
    if (this.#kind !== 'none' || before === undefined) return false;
    if (before.endedAtMs < storedUntilMs) return false;
    this.#kind = before.kind;
    return true;
  }
}

/** Durations of leases and reactions, ms. `leaseMs` is the longest possible lease, by the slowest clock. */
export interface LeaseTimes {
  readonly leaseMs: number;
  readonly settleMs: number;
  readonly heartbeatMs: number;
}

export interface ConnectorFacts {
  readonly key: string;
  /** W for one ampere on each of its phases. */
  readonly wattsPerA: number;
  readonly maxA: number;
  /** Lowest limit other than 0. */
  readonly leastA: number;
  readonly failsafeA: number;
  /** The grid operator's limit may pause the connector while it is locked. */
  readonly operatorMayPause: boolean;
  /**
   * For a DC connector, whose limits are W at the car: share of the grid power that arrives there. Undefined for
   * AC.
   */
  readonly efficiency: number | undefined;
  /** Circuit phases that the connector may load; none without a known fuse. */
  readonly circuitPhases: readonly CircuitPhaseName[];
  /** Circuit phases that each of its own phases may load. */
  readonly circuitPhasesOfPhases: readonly (readonly CircuitPhaseName[])[];
}

/** Without a message for this many heartbeats the connector counts as out of reach. */
const SILENT_AFTER_HEARTBEATS = 3;

/** Newest limit that left the service. */
type SentLimit = Pick<LimitMessage, 'epoch' | 'seq' | 'limitA' | 'thenA' | 'session' | 'phases' | 'reason'>;

/** Limit after the lease, on this number of its phases. */
interface Then {
  readonly thenA: number;
  readonly phases: number;
}

const ALL = 3;

/** One location with its connectors. */
export interface SiteBook {
  readonly tenantUuid: string;
  readonly locationId: string;
  readonly connectors: readonly ConnectorBook[];
  /** Reach of the longest lease of its chargers, settling included, ms. */
  readonly horizonMs: number;
  /** Chargers and cars have followed a lower limit that long after it left, ms. */
  readonly noticeMs: number;
  /** A grid operator, a building or a tariff may leave the location less than its own limits do. */
  readonly isLimitedFromOutside: boolean;
  /** Rating of each circuit phase, A. */
  readonly capacitiesA: ReadonlyMap<CircuitPhaseName, number>;
}

/** Number of the newest limits that are kept. */
const GIVEN_KEPT = 64;

/** A meter value may be delayed by minutes and contain an earlier limit. */
const LATELY_MS = 300_000;

/** Currents are in A per phase, times in ms of one clock. */
export class ConnectorBook {
  readonly facts: ConnectorFacts;
  readonly site: SiteBook;
  /** Heartbeats as the charger sent them, and as the service received them. */
  readonly said = new HeartbeatLog();
  readonly received = new HeartbeatLog();
  readonly sessions = new KnownSessions();
  readonly receivedLeaseKind = new ReceivedLeaseKind();
  /** By the charger's own report its `thenA` does not survive a restart; `switchesPhases` is from its report, too. */
  isForgetful = false;
  /** Limit with which a forgetful charger starts, by its own report. */
  startsWithA = 0;
  switchesPhases = false;
  /** The charger reports and takes no limits, so no grant binds it. */
  isReadOnly = false;
  /** Detects a draw above its limits. */
  readonly metered = new MeteredDraw();
  sent: SentLimit | undefined;
  /** Newest acknowledgement that the charger sent. */
  taken: (Numbered & { readonly boot?: string | undefined }) | undefined;
  /** Boot and sequence number of its newest meter value as sent, and its boot as received. */
  saidBoot: string | undefined;
  saidSeq = 0;
  receivedBoot: string | undefined;
  /** Newest limit that the charger has shown to have taken. */
  holds: Numbered = { epoch: -1, seq: -1 };
  /** The service has received its messages without a break since then. */
  onlineSinceMs = Number.NEGATIVE_INFINITY;
  readonly #given: LimitMessage[] = [];
  #receivedAtMs = Number.NEGATIVE_INFINITY;
  readonly #promised: OutstandingGrantRecord;
  #acknowledgedThen: Then;
  /** The service received at `atMs` that the charger started with a higher limit than `before`. */
  /** Epoch of the first limit that left for it. */
  #firstEpoch = Number.POSITIVE_INFINITY;
  /** By then the first limit of the present service has settled. */
  #settledAtMs = Number.NEGATIVE_INFINITY;
  #started: { readonly atMs: number; readonly before: Then } | undefined;
  #thens: (Numbered & Then)[] = [];
  /** Instant at which the last limit for fewer phases than it has left: until then others could use the rest. */
  reallocatedAtMs = Number.NEGATIVE_INFINITY;
  readonly times: LeaseTimes;
  /**
   * Highest limits sent in the present span and in the one before. They start as NaN for the same reason as in
   * `outlet.ts`.
   */
  #mostSentA = Number.NaN;
  #mostSentBeforeA = Number.NaN;
  #turnsAtMs = 0;

  constructor(site: SiteBook, facts: ConnectorFacts, times: LeaseTimes) {
    this.site = site;
    this.facts = facts;
    this.times = times;
    this.#promised = new OutstandingGrantRecord(times.settleMs);
    this.#acknowledgedThen = { thenA: facts.failsafeA, phases: ALL };
    this.#mostSentA = 0;
    this.#mostSentBeforeA = facts.failsafeA;
  }

  /** Converts a limit to the current that the connector may take from each phase: a DC limit is in W at the car. */
  inAmperes(limit: LimitMessage): LimitMessage {
    const { efficiency, wattsPerA } = this.facts;
    if (efficiency === undefined) return limit;
    const [limitA = 0, thenA = 0] = [limit.limitW, limit.thenW ?? 0].map(
      (dcW) => dcW / efficiency / wattsPerA,
    );
    return { ...limit, limitA, thenA };
  }

  /** The lease of a limit that answers a heartbeat received at `receivedAtMs` is over, by the slowest clock. */
  isOver(limit: LimitMessage, receivedAtMs: number, nowMs: number): boolean {
    return this.lease === 'heartbeat' && receivedAtMs + leaseMsOf(limit) <= nowMs;
  }

  /** The limit may be in force at `atMs`, by the slowest clock. Its lease has no known end unless it is from a heartbeat. */
  doesOutlast(limit: LimitMessage, atMs: number): boolean {
    const receivedAtMs = this.received.atMs(limit.boot, limit.ref) ?? Number.POSITIVE_INFINITY;
    return !this.isOver(limit, receivedAtMs + this.times.settleMs, atMs);
  }

  /** A limit left the service; the heartbeat that it answers was received at `receivedAtMs`. */
  give(limit: LimitMessage, receivedAtMs: number, nowMs: number): void {
    const { epoch, seq, limitA, thenA, phases = ALL } = limit;
    this.#given[seq % GIVEN_KEPT] = limit;
    this.#firstEpoch = Math.min(this.#firstEpoch, epoch);
    const leaseMs = leaseMsOf(limit);
    const isCounted = this.lease === 'heartbeat';
    const overAtMs = isCounted ? receivedAtMs + leaseMs + this.times.settleMs : Number.POSITIVE_INFINITY;
    this.#promised.add({ epoch, seq, limitA, phases, leaseMs, overAtMs }, nowMs);
    const newest = this.#thens.at(-1) ?? this.#acknowledgedThen;
    if (newest.thenA !== thenA || newest.phases !== phases) this.#thens.push({ epoch, seq, thenA, phases });
    this.sent = limit;
    if (phases < this.facts.circuitPhasesOfPhases.length) this.reallocatedAtMs = nowMs;
    if (nowMs >= this.#turnsAtMs) {
      this.#mostSentBeforeA = this.#mostSentA;
      this.#mostSentA = 0;
      this.#turnsAtMs = nowMs + LATELY_MS;
    }
    this.#mostSentA = Math.max(this.#mostSentA, limitA, thenA);
  }

  /** Limit with that number; undefined if none left, or too long ago. */
  given({ epoch, seq }: Numbered): LimitMessage | undefined {
    const given = this.#given[seq % GIVEN_KEPT];
    return given?.epoch === epoch && given.seq === seq ? given : undefined;
  }

  /** Limits that left after `limit` for the same start of its charger. */
  givenAfter(limit: Numbered & { readonly boot: string }): readonly LimitMessage[] {
    return this.#given.filter((each) => each.boot === limit.boot && isOlder(limit, each));
  }

  /** The service received that the connector applied this limit: earlier limits end after the settling time. */
  noteApplied(applied: Numbered, nowMs: number): void {
    if (!isOlder(this.holds, applied)) return;
    if (this.holds.epoch < applied.epoch) this.#settledAtMs = nowMs + this.times.settleMs;
    this.holds = applied;
    this.#promised.applied(applied, nowMs);
    const before = this.#acknowledgedThen;
    this.#started = undefined;
    while (this.#thens[0] !== undefined && !isOlder(applied, this.#thens[0])) {
      this.#acknowledgedThen = this.#thens.shift() ?? this.#acknowledgedThen;
    }
    // The connector may have been at that limit until now.
    const { thenA: limitA, phases } = before;
    const now = this.#acknowledgedThen;
    if (limitA > now.thenA || phases > now.phases) this.#promised.leave(limitA, phases, applied.epoch, nowMs);
  }

  /**
   * The service received `isEndOpen`: the connector's limits may outlast their leases. They count until the
   * connector has applied a newer limit.
   */
  openEnd(nowMs: number): void {
    this.#promised.openEnds(this.holds, nowMs);
  }

  /** The service died: reports of open ends or of a start since `storedUntilMs` may be on no disk. */
  loseWords(storedUntilMs: number): void {
    this.#promised.loseWords(storedUntilMs);
    const started = this.#started;
    if (started !== undefined && started.atMs >= storedUntilMs) this.#acknowledgedThen = started.before;
    this.#started = undefined;
  }

  /**
   * The service received that the car of `session` draws current on that number of phases. No limit allows the last of
   * them, so the charger failed its duty: outstanding limits count on all phases (R34). A new service knows the limits
   * of the one before only as rows, which may be higher, until its own first limit was applied and has settled.
   */
  drawOn(phases: number, session: string | undefined, nowMs: number): void {
    const { sent } = this;
    if (sent?.phases === undefined || phases <= sent.phases || session !== sent.session) return;
    const isOfNewService = sent.epoch > this.#firstEpoch;
    if (isOfNewService && (this.holds.epoch < sent.epoch || nowMs < this.#settledAtMs)) return;
    if (this.grantedA(nowMs, phases - 1) === 0) this.#promised.widen();
  }

  /** The service received a message about the connector. */
  receive(nowMs: number, isNewBoot: boolean): void {
    if (isNewBoot || this.isSilent(nowMs)) this.onlineSinceMs = nowMs;
    if (isNewBoot && this.isForgetful && this.startsWithA > this.#acknowledgedThen.thenA) {
      this.#started = { atMs: nowMs, before: this.#acknowledgedThen };
      this.#acknowledgedThen = { thenA: this.startsWithA, phases: ALL };
    }
    this.#receivedAtMs = nowMs;
  }

  /** The broker reported that its connection is gone. */
  signOff(): void {
    this.#receivedAtMs = Number.NEGATIVE_INFINITY;
  }

  /** It was silent for so long, or signed off, that the service counts it as out of reach. */
  isSilent(nowMs: number): boolean {
    return nowMs - this.#receivedAtMs > SILENT_AFTER_HEARTBEATS * this.times.heartbeatMs;
  }

  /**
   * Its meter shows that draw. Without a lease no draw counts against it, even if the value comes late: its maximum
   * is reserved.
   */
  draw(drawnA: number, nowMs: number): void {
    if (this.lease === 'none') this.#mostSentA = this.facts.maxA;
    const sentLatelyA = Math.max(this.#mostSentA, this.#mostSentBeforeA, this.facts.failsafeA);
    this.metered.note(drawnA, { sentLatelyA, grantedA: this.grantedA(nowMs) }, nowMs);
  }

  /** Its entitlement on its phase number `own`; its maximum if no grant binds it. */
  boundA(nowMs: number, own = 0): number {
    return this.isUnreliable ? this.facts.maxA : this.grantedA(nowMs, own);
  }

  /** Its entitlement at `atMs`. A grant without a known end is renewed until then, so it counts as now (R3). */
  renewedA(atMs: number, nowMs: number): number {
    return this.boundA(this.lease === 'heartbeat' ? atMs : nowMs);
  }

  get lease(): LeaseKind {
    return this.receivedLeaseKind.kind;
  }

  /** No grant binds it: its maximum is reserved. */
  get isUnreliable(): boolean {
    return this.isReadOnly || this.metered.isDistrusted || this.lease === 'none';
  }

  /** Its entitlement on that phase if it keeps to its limits. */
  grantedA(nowMs: number, own = 0): number {
    let mostA = this.ownFailsafeA;
    const thens: readonly Then[] = [this.#acknowledgedThen, ...this.#thens];
    for (const { thenA, phases } of thens) if (own < phases && thenA > mostA) mostA = thenA;
    return Math.min(this.#promised.mostA(mostA, nowMs, own), this.facts.maxA);
  }

  /**
   * Its entitlement on a circuit phase. With unknown wiring several of its own phases may load that phase, but only
   * one does.
   */
  boundOn(circuitPhase: CircuitPhaseName, nowMs: number): number {
    const own = this.facts.circuitPhasesOfPhases.findIndex((circuitPhases) =>
      circuitPhases.includes(circuitPhase),
    );
    return own < 0 ? 0 : this.boundA(nowMs, own);
  }

  boundW(nowMs: number): number {
    return this.wattsOf((own) => this.boundA(nowMs, own));
  }

  /** W for a current on each of its phases. */
  wattsOf(ampereOf: (own: number) => number): number {
    const { wattsPerA, circuitPhasesOfPhases } = this.facts;
    const phases = circuitPhasesOfPhases.length;
    let sumA = 0;
    for (let own = 0; own < phases; own++) sumA += ampereOf(own);
    return (sumA * wattsPerA) / phases;
  }

  /** Its fallback current, regardless of its limits. */
  get ownFailsafeA(): number {
    return this.isForgetful ? this.facts.failsafeA : 0;
  }

  /** Entitlement on this number of phases that lasts by its newest limit of `epoch`, without a new one. */
  lastingA(epoch: number, nowMs: number, phases: number): number {
    if (this.isUnreliable) return this.facts.maxA;
    const { sent, ownFailsafeA } = this;
    if (sent === undefined || sent.epoch !== epoch || (sent.phases ?? ALL) < phases) return ownFailsafeA;
    const isInForce = this.#promised.isNewest(sent, nowMs);
    return Math.max(ownFailsafeA, sent.thenA, isInForce ? sent.limitA : 0);
  }

  /** A grant of an earlier life than `epoch` may be in force. */
  hasGrantBefore(epoch: number, nowMs: number): boolean {
    return this.#promised.hasAnyBefore(epoch, nowMs);
  }
}
