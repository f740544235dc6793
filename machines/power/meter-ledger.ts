// What the chargers of one location last said, as plain numbers: a machine hears of a value only when a mode changes.
import type { Writable } from '../values/writable.js';

/** The status words of OCPP 1.6, as chargers send them. */
export const CHARGING_STATUSES = [
  'Available',
  'Preparing',
  'Charging',
  'SuspendedEV',
  'SuspendedEVSE',
  'Finishing',
  'Faulted',
  'Unavailable',
] as const;
export type ChargingStatus = (typeof CHARGING_STATUSES)[number];

/** One meter value. A simple charger sends `powerW` alone. */
export interface MeterReading {
  readonly powerW: number;
  /** New at every start of the charger. */
  readonly boot?: string | undefined;
  /** Heartbeat counter of the connector; starts again with each boot. */
  readonly hb?: number | undefined;
  readonly status?: ChargingStatus | undefined;
  readonly limitA?: number | undefined;
  /** What a DC connector says instead, W at the car. */
  readonly limitW?: number | undefined;
  readonly currentA?: readonly number[] | undefined;
  readonly voltageV?: readonly number[] | undefined;
  readonly energyWh?: number | undefined;
  /** The grant it keeps to; 0 and 0 where it holds none. */
  readonly epoch?: number | undefined;
  readonly seq?: number | undefined;
  readonly leaseLeftS?: number | undefined;
  /** What it was told may last longer than its leases. */
  readonly isEndOpen?: boolean | undefined;
  /** New whenever a car is plugged in. */
  readonly session?: string | undefined;
}

/** That a charger is there, or not. */
export interface SaidState {
  readonly online: boolean;
  readonly boot?: string | undefined;
  /** Rises with each state of a boot, where it is said. */
  readonly seqNo?: number | undefined;
}

/** A connector's place in a ledger: read it, but only the ledger writes it. */
export interface MeterSlot {
  /** False once removed: then the connector must be looked up again. */
  readonly isCurrent: boolean;
  readonly key: string;
  /** Its last reading counts as what it draws: it came within three heartbeats of the last call of `expire`, and no goodbye since. */
  readonly isFresh: boolean;
  /** Three of its heartbeats: then its last reading is fresh no longer. */
  readonly staleAfterMs: number;
  /** Last reading, 0 before the first. It stays when the charger falls silent; what it counts with then says `countedWOf`. */
  readonly powerW: number;
  /** On the clock handed to the ledger; undefined before the first reading. */
  readonly receivedAtMs: number | undefined;
  readonly boot: string | undefined;
  readonly hb: number | undefined;
  readonly status: ChargingStatus | undefined;
  readonly limitA: number | undefined;
  readonly currentA: readonly number[] | undefined;
  readonly voltageV: readonly number[] | undefined;
  readonly energyWh: number | undefined;
}

/** `refused`: doubled, overtaken or of a retired boot, nothing changed. `resumed`: accepted, after it was not fresh. */
export type RecordResult = 'refused' | 'accepted' | 'resumed';

// A value of a boot that was replaced this many boots ago could pass for new.
const RETIRED_BOOTS = 8;

/** What changes hands as `MeterSlot`. */
interface Entry extends Writable<MeterSlot> {
  /** It is there while it is fresh. */
  fresh: FreshList;
  /** Of the newest state of its boot that has one; -1 before. */
  stateSeqNo: number;
  /** When its charger said that it runs as this boot, before it sent a value as that. */
  saidAtMs: number;
  retiredBoots: string[] | undefined;
  older: Entry | undefined;
  newer: Entry | undefined;
}

/** Fresh entries that turn stale after the same time, oldest reading first, so that expiry needs no search. */
class FreshList {
  readonly staleAfterMs: number;
  oldest: Entry | undefined;
  #newest: Entry | undefined;

  constructor(staleAfterMs: number) {
    this.staleAfterMs = staleAfterMs;
  }

  insert(entry: Entry): void {
    let older = this.#newest;
    // A reading is newer than all others, but for one that comes from another list.
    while (older !== undefined && (older.receivedAtMs ?? 0) > (entry.receivedAtMs ?? 0)) older = older.older;
    const newer = older === undefined ? this.oldest : older.newer;
    entry.older = older;
    entry.newer = newer;
    if (older === undefined) this.oldest = entry;
    else older.newer = entry;
    if (newer === undefined) this.#newest = entry;
    else newer.older = entry;
  }

  remove(entry: Entry): void {
    if (entry.older === undefined) this.oldest = entry.newer;
    else entry.older.newer = entry.newer;
    if (entry.newer === undefined) this.#newest = entry.older;
    else entry.newer.older = entry.older;
    entry.older = undefined;
    entry.newer = undefined;
  }
}

/**
 * What one location's connectors report. Every `nowMs` is of one clock that never goes back; should it do so, the newest
 * seen counts.
 */
export class MeterLedger {
  readonly #staleAfterMs: number;
  /** There are few: most chargers have the heartbeat of the service. */
  #freshLists: readonly FreshList[] = [];
  #latestMs = Number.NEGATIVE_INFINITY;
  #measuredW = 0;

  /** @param staleAfterMs three heartbeats of those that have none of their own */
  constructor(staleAfterMs: number) {
    this.#staleAfterMs = staleAfterMs;
  }

  /** Sum of the fresh readings, in W. */
  get measuredW(): number {
    return this.#measuredW;
  }

  /** @param staleAfterMs three of its own heartbeats. */
  addConnector(key: string, staleAfterMs = this.#staleAfterMs): MeterSlot {
    const entry: Entry = {
      fresh: this.#freshListOf(staleAfterMs),
      staleAfterMs,
      isCurrent: true,
      key,
      isFresh: false,
      powerW: 0,
      receivedAtMs: undefined,
      boot: undefined,
      hb: undefined,
      status: undefined,
      limitA: undefined,
      currentA: undefined,
      voltageV: undefined,
      energyWh: undefined,
      retiredBoots: undefined,
      stateSeqNo: -1,
      saidAtMs: Number.NEGATIVE_INFINITY,
      older: undefined,
      newer: undefined,
    };
    return entry;
  }

  /** Its heartbeats come otherwise from now on. */
  setStaleAfter(slot: MeterSlot, staleAfterMs: number): void {
    const entry = slot as Entry;
    if (staleAfterMs === entry.staleAfterMs) return;
    if (entry.isFresh) entry.fresh.remove(entry);
    entry.staleAfterMs = staleAfterMs;
    entry.fresh = this.#freshListOf(staleAfterMs);
    if (entry.isFresh) entry.fresh.insert(entry);
  }

  /** Takes its power out of the sum; the slot refuses everything from then on. */
  removeConnector(slot: MeterSlot): void {
    const entry = slot as Entry;
    if (!entry.isCurrent) return;
    if (entry.isFresh) this.#leaveFresh(entry);
    entry.isCurrent = false;
  }

  record(slot: MeterSlot, reading: MeterReading, nowMs: number): RecordResult {
    const entry = slot as Entry;
    const atMs = this.#notBefore(nowMs);
    if (!entry.isCurrent || !this.#isNews(entry, reading, atMs)) return 'refused';
    if (reading.boot !== undefined && reading.boot !== entry.boot) this.#startBoot(entry, reading.boot);
    this.#measuredW += reading.powerW - (entry.isFresh ? entry.powerW : 0);
    entry.powerW = reading.powerW;
    if (entry.isFresh) entry.fresh.remove(entry);
    entry.receivedAtMs = atMs;
    if (reading.hb !== undefined) entry.hb = reading.hb;
    entry.status = reading.status;
    entry.limitA = reading.limitA;
    entry.currentA = reading.currentA;
    entry.voltageV = reading.voltageV;
    entry.energyWh = reading.energyWh;
    const isResumed = !entry.isFresh;
    entry.isFresh = true;
    entry.fresh.insert(entry);
    return isResumed ? 'resumed' : 'accepted';
  }

  /**
   * The charger said it is there or not (its last will counts). `refused` where a retired boot said so, or where this one has
   * said that or something newer, by its `seqNo`.
   */
  recordState(
    slot: MeterSlot,
    { online, boot, seqNo = Number.POSITIVE_INFINITY }: SaidState,
    nowMs: number,
  ): RecordResult {
    const entry = slot as Entry;
    if (!entry.isCurrent || (boot !== undefined && entry.retiredBoots?.includes(boot))) return 'refused';
    if (boot !== undefined && boot !== entry.boot) {
      this.#startBoot(entry, boot);
      if (online) entry.saidAtMs = this.#notBefore(nowMs);
    }
    if (seqNo <= entry.stateSeqNo) return 'refused';
    if (Number.isFinite(seqNo)) entry.stateSeqNo = seqNo;
    if (!online && entry.isFresh) this.#leaveFresh(entry);
    return 'accepted';
  }

  /** When the oldest fresh reading came: all that are heard have reported since. undefined while none is fresh. */
  oldestReadingAtMs(): number | undefined {
    let oldestMs: number | undefined;
    for (const { oldest } of this.#freshLists)
      if (oldest?.receivedAtMs !== undefined)
        oldestMs = Math.min(oldestMs ?? Number.POSITIVE_INFINITY, oldest.receivedAtMs);
    return oldestMs;
  }

  /** Lets go of the readings that are fresh no longer at `nowMs`, telling of each. */
  expire(nowMs: number, onStale: (slot: MeterSlot) => void): void {
    const atMs = this.#notBefore(nowMs);
    for (const fresh of this.#freshLists)
      while (fresh.oldest !== undefined && atMs >= staleAtMs(fresh.oldest)) {
        const entry = fresh.oldest;
        this.#leaveFresh(entry);
        onStale(entry);
      }
  }

  #notBefore(nowMs: number): number {
    if (nowMs > this.#latestMs) this.#latestMs = nowMs;
    return this.#latestMs;
  }

  #freshListOf(staleAfterMs: number): FreshList {
    const known = this.#freshLists.find((each) => each.staleAfterMs === staleAfterMs);
    if (known !== undefined) return known;
    const added = new FreshList(staleAfterMs);
    this.#freshLists = this.#freshLists.concat(added);
    return added;
  }

  #isNews(entry: Entry, reading: MeterReading, atMs: number): boolean {
    if (reading.boot !== undefined && reading.boot !== entry.boot) {
      // What was overtaken by a newer boot may have retired it: the one that speaks while the other is silent is running. One that
      // has just begun has as long for its first value.
      const isSilent = atMs >= Math.max(staleAtMs(entry), entry.saidAtMs + entry.staleAfterMs);
      return !entry.retiredBoots?.includes(reading.boot) || isSilent;
    }
    if (reading.hb === undefined || entry.hb === undefined || reading.hb > entry.hb) return true;
    // A charger without a boot id restarts its counter unannounced: a lower one counts once the old one fell silent.
    return reading.boot === undefined && reading.hb < entry.hb && !this.#isFreshAt(entry, atMs);
  }

  #startBoot(entry: Entry, boot: string): void {
    if (entry.boot !== undefined) {
      entry.retiredBoots ??= [];
      entry.retiredBoots = entry.retiredBoots.filter((each) => each !== boot);
      entry.retiredBoots.push(entry.boot);
      if (entry.retiredBoots.length > RETIRED_BOOTS) entry.retiredBoots.shift();
    }
    entry.boot = boot;
    entry.hb = undefined;
    entry.stateSeqNo = -1;
    entry.saidAtMs = Number.NEGATIVE_INFINITY;
  }

  #isFreshAt(entry: Entry, atMs: number): boolean {
    return entry.isFresh && atMs < staleAtMs(entry);
  }

  #leaveFresh(entry: Entry): void {
    entry.fresh.remove(entry);
    this.#measuredW -= entry.powerW;
    entry.isFresh = false;
  }
}

function staleAtMs({ receivedAtMs = Number.NEGATIVE_INFINITY, staleAfterMs }: MeterSlot): number {
  return receivedAtMs + staleAfterMs;
}
