// What one connector may be entitled to, computed only from the messages between it and the service (P2), without the service's ledger.
import type { LeaseKind } from '../../machines/power/grant.js';
import type { LimitMessage } from '../../src/wire/mqtt.js';
import type { PoleName } from '../world/site-fuses.js';
import { HeartbeatLog, leaseMsOf } from './heartbeat-log.js';
import { KnownSessions } from './known-sessions.js';
import { LeaseHeard } from './lease-heard.js';
import { MeteredDraw } from './metered-draw.js';
import { isOlder, type Numbered, PromisedLimits } from './promised-limits.js';

/** How long leases and chargers may take, ms. `leaseMs` is the longest lease there may be, by the slowest clock. */
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
  /** The least it may be told other than 0. */
  readonly leastA: number;
  readonly failsafeA: number;
  /** The grid operator's limit may pause it while it is locked. */
  readonly operatorMayPause: boolean;
  /** Of a DC connector, which speaks of W at the car: the share of what it takes from the grid; undefined for AC. */
  readonly efficiency: number | undefined;
  /** The phases of fuses that it may load; none where no fuse is known. */
  readonly poles: readonly PoleName[];
  /** Those that each of its own phases may load. */
  readonly polesOfPhases: readonly (readonly PoleName[])[];
}

/** Without a word for so many heartbeats it counts as out of reach. */
const SILENT_AFTER_HEARTBEATS = 3;

/** Newest limit that left. */
type Told = Pick<LimitMessage, 'epoch' | 'seq' | 'limitA' | 'thenA' | 'phases' | 'reason'>;

/** What it falls back to, on so many of its phases. */
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
  /** How far the longest lease of its chargers reaches, settle included, ms. */
  readonly horizonMs: number;
  /** A grid operator, a building or a tariff may leave it less than its own limits say. */
  readonly isLimitedFromOutside: boolean;
  /** What each phase of each fuse carries, A. */
  readonly capacitiesA: ReadonlyMap<PoleName, number>;
}

/** Limits older than the newest this many are forgotten. */
const GIVEN_KEPT = 64;

/** A meter value may be delayed by minutes and name an earlier limit. */
const LATELY_MS = 300_000;

/** Currents in A per phase, times in ms of one clock. */
export class ConnectorBook {
  readonly facts: ConnectorFacts;
  readonly site: SiteBook;
  /** Heartbeats as the charger said them, and as the service heard them. */
  readonly said = new HeartbeatLog();
  readonly heard = new HeartbeatLog();
  readonly sessions = new KnownSessions();
  readonly leaseHeard = new LeaseHeard();
  /** It said so: it forgets over a restart what it falls back to, or it charges cars on fewer phases than they use. */
  isForgetful = false;
  /** What it starts with then, as it said. */
  startsWithA = 0;
  switchesPhases = false;
  /** It reports and takes no limits: nothing that is promised to it means anything. */
  isReadOnly = false;
  /** Whether it drew more than it may. */
  readonly metered = new MeteredDraw();
  told: Told | undefined;
  /** The newest acknowledgement that it said. */
  taken: (Numbered & { readonly boot?: string | undefined }) | undefined;
  /** Of its newest meter value, as it was said; and as it was heard. */
  saidBoot: string | undefined;
  saidSeq = 0;
  heardBoot: string | undefined;
  /** Newest it is known to have taken. */
  holds: Numbered = { epoch: -1, seq: -1 };
  /** Heard without a break since then. */
  onlineSinceMs = Number.NEGATIVE_INFINITY;
  readonly #given: LimitMessage[] = [];
  #heardAtMs = Number.NEGATIVE_INFINITY;
  readonly #promised: PromisedLimits;
  #acknowledgedThen: Then;
  /** The service heard at `atMs` that it started with more than that was before. */
  #started: { readonly atMs: number; readonly before: Then } | undefined;
  #thens: (Numbered & Then)[] = [];
  /** When a limit for fewer phases than it has left last: until then others could use the rest. */
  lentAtMs = Number.NEGATIVE_INFINITY;
  readonly times: LeaseTimes;
  /** The most it was told lately, and in as long before; no integers at first, for the reason that the outlet's are none. */
  #mostToldA = Number.NaN;
  #mostToldBeforeA = Number.NaN;
  #turnsAtMs = 0;

  constructor(site: SiteBook, facts: ConnectorFacts, times: LeaseTimes) {
    this.site = site;
    this.facts = facts;
    this.times = times;
    this.#promised = new PromisedLimits(times.settleMs);
    this.#acknowledgedThen = { thenA: facts.failsafeA, phases: ALL };
    this.#mostToldA = 0;
    this.#mostToldBeforeA = facts.failsafeA;
  }

  /** A limit as what it lets the connector take from each phase: a DC connector goes by W at the car. */
  inAmperes(limit: LimitMessage): LimitMessage {
    const { efficiency, wattsPerA } = this.facts;
    if (efficiency === undefined) return limit;
    const [limitA = 0, thenA = 0] = [limit.limitW, limit.thenW ?? 0].map(
      (dcW) => dcW / efficiency / wattsPerA,
    );
    return { ...limit, limitA, thenA };
  }

  /** The lease of a limit that answers a heartbeat which was heard at `heardAtMs` is over, by the slowest clock. */
  isOver(limit: LimitMessage, heardAtMs: number, nowMs: number): boolean {
    return this.lease === 'heartbeat' && heardAtMs + leaseMsOf(limit) <= nowMs;
  }

  /** A limit left; `heardAtMs` is when the heartbeat it answers was heard. */
  give(limit: LimitMessage, heardAtMs: number, nowMs: number): void {
    const { epoch, seq, limitA, thenA, phases = ALL } = limit;
    this.#given[seq % GIVEN_KEPT] = limit;
    const leaseMs = leaseMsOf(limit);
    const isCounted = this.lease === 'heartbeat';
    const overAtMs = isCounted ? heardAtMs + leaseMs + this.times.settleMs : Number.POSITIVE_INFINITY;
    this.#promised.add({ epoch, seq, limitA, phases, leaseMs, overAtMs }, nowMs);
    const newest = this.#thens.at(-1) ?? this.#acknowledgedThen;
    if (newest.thenA !== thenA || newest.phases !== phases) this.#thens.push({ epoch, seq, thenA, phases });
    this.told = limit;
    if (phases < this.facts.polesOfPhases.length) this.lentAtMs = nowMs;
    if (nowMs >= this.#turnsAtMs) {
      this.#mostToldBeforeA = this.#mostToldA;
      this.#mostToldA = 0;
      this.#turnsAtMs = nowMs + LATELY_MS;
    }
    this.#mostToldA = Math.max(this.#mostToldA, limitA, thenA);
  }

  /** The limit of that number; undefined where none left, or too long ago. */
  given({ epoch, seq }: Numbered): LimitMessage | undefined {
    const given = this.#given[seq % GIVEN_KEPT];
    return given?.epoch === epoch && given.seq === seq ? given : undefined;
  }

  /** Limits that left after that one and are for the same start of its charger. */
  givenAfter(limit: Numbered & { readonly boot: string }): readonly LimitMessage[] {
    return this.#given.filter((each) => each.boot === limit.boot && isOlder(limit, each));
  }

  /** The service heard that the connector applied this limit: earlier limits end when the settling time is over. */
  noteApplied(applied: Numbered, nowMs: number): void {
    if (!isOlder(this.holds, applied)) return;
    this.holds = applied;
    this.#promised.applied(applied, nowMs);
    const before = this.#acknowledgedThen;
    this.#started = undefined;
    while (this.#thens[0] !== undefined && !isOlder(applied, this.#thens[0])) {
      this.#acknowledgedThen = this.#thens.shift() ?? this.#acknowledgedThen;
    }
    // It may have been at that until now.
    const { thenA: limitA, phases } = before;
    const now = this.#acknowledgedThen;
    if (limitA > now.thenA || phases > now.phases) this.#promised.leave(limitA, phases, applied.epoch, nowMs);
  }

  /** The service heard that what it holds may last longer than its leases: it counts until the connector has applied a newer limit. */
  openEnd(nowMs: number): void {
    this.#promised.openEnds(this.holds, nowMs);
  }

  /** The service died: what it heard of that, or of a start, then or later may be on no disk. */
  loseWords(storedUntilMs: number): void {
    this.#promised.loseEnds(storedUntilMs);
    const started = this.#started;
    if (started !== undefined && started.atMs >= storedUntilMs) this.#acknowledgedThen = started.before;
    this.#started = undefined;
  }

  /** Something of it was heard. */
  hear(nowMs: number, isNewBoot: boolean): void {
    if (isNewBoot || this.isSilent(nowMs)) this.onlineSinceMs = nowMs;
    if (isNewBoot && this.isForgetful && this.startsWithA > this.#acknowledgedThen.thenA) {
      this.#started = { atMs: nowMs, before: this.#acknowledgedThen };
      this.#acknowledgedThen = { thenA: this.startsWithA, phases: ALL };
    }
    this.#heardAtMs = nowMs;
  }

  /** The broker says that its connection is gone. */
  signOff(): void {
    this.#heardAtMs = Number.NEGATIVE_INFINITY;
  }

  /** It was silent for so long, or signed off, that the service counts it as out of reach. */
  isSilent(nowMs: number): boolean {
    return nowMs - this.#heardAtMs > SILENT_AFTER_HEARTBEATS * this.times.heartbeatMs;
  }

  /** Its meter shows that much. No draw without a lease counts against it, also where its value comes late: its maximum is reserved. */
  draw(drawnA: number, nowMs: number): void {
    if (this.lease === 'none') this.#mostToldA = this.facts.maxA;
    const toldLatelyA = Math.max(this.#mostToldA, this.#mostToldBeforeA, this.facts.failsafeA);
    this.metered.note(drawnA, { toldLatelyA, promisedA: this.promisedA(nowMs) }, nowMs);
  }

  /** The most it may be entitled to on its phase number `own`: its maximum, where nothing that it was promised means anything. */
  boundA(nowMs: number, own = 0): number {
    return this.isUnreliable ? this.facts.maxA : this.promisedA(nowMs, own);
  }

  get lease(): LeaseKind {
    return this.leaseHeard.kind;
  }

  /** Nothing that it was promised means anything: its maximum is reserved. */
  get isUnreliable(): boolean {
    return this.isReadOnly || this.metered.isDistrusted || this.lease === 'none';
  }

  /** The most it may be entitled to on that phase if it keeps to what it was told. */
  promisedA(nowMs: number, own = 0): number {
    let mostA = this.ownFailsafeA;
    const thens: readonly Then[] = [this.#acknowledgedThen, ...this.#thens];
    for (const { thenA, phases } of thens) if (own < phases && thenA > mostA) mostA = thenA;
    return Math.min(this.#promised.mostA(mostA, nowMs, own), this.facts.maxA);
  }

  /** The same on a phase of a fuse: several of its own may be on it where nobody said how it is wired, and one is. */
  boundOn(pole: PoleName, nowMs: number): number {
    const own = this.facts.polesOfPhases.findIndex((poles) => poles.includes(pole));
    return own < 0 ? 0 : this.boundA(nowMs, own);
  }

  boundW(nowMs: number): number {
    return this.wattsOf((own) => this.boundA(nowMs, own));
  }

  /** W of so many A on each of its phases. */
  wattsOf(ampereOf: (own: number) => number): number {
    const { wattsPerA, polesOfPhases } = this.facts;
    const phases = polesOfPhases.length;
    let sumA = 0;
    for (let own = 0; own < phases; own++) sumA += ampereOf(own);
    return (sumA * wattsPerA) / phases;
  }

  /** What it falls back to by itself, whatever it was told. */
  get ownFailsafeA(): number {
    return this.isForgetful ? this.facts.failsafeA : 0;
  }

  /** What it goes on being entitled to on so many phases, by its newest limit of `epoch`, without a new one. */
  lastingA(epoch: number, nowMs: number, phases: number): number {
    if (this.isUnreliable) return this.facts.maxA;
    const { told, ownFailsafeA } = this;
    if (told === undefined || told.epoch !== epoch || (told.phases ?? ALL) < phases) return ownFailsafeA;
    const isInForce = this.#promised.isNewest(told, nowMs);
    return Math.max(ownFailsafeA, told.thenA, isInForce ? told.limitA : 0);
  }

  /** Something promised in an earlier life than `epoch` may be in force. */
  hasPromiseBefore(epoch: number, nowMs: number): boolean {
    return this.#promised.hasAnyBefore(epoch, nowMs);
  }
}
