// Last meter values of a location's chargers. State machines receive an event only when a link state changes.

import type { SessionNeed } from '../policy/session-needs.js';
import type { ChargingStatus } from '../values/charging-status.js';
import type { Writable } from '../values/writable.js';

/** One meter value. A simple charger sends `powerW` alone. */
export interface MeterReading {
  readonly powerW: number;
  /** New at every start of the charger. */
  readonly boot?: string | undefined;
  /** Heartbeat counter of the connector; restarts with each boot. */
  readonly hb?: number | undefined;
  readonly status?: ChargingStatus | undefined;
  readonly limitA?: number | undefined;
  /** For a DC connector instead of `limitA`, W at the car. */
  readonly limitW?: number | undefined;
  readonly currentA?: readonly number[] | undefined;
  readonly voltageV?: readonly number[] | undefined;
  readonly energyWh?: number | undefined;
  /** State of charge of the car's battery, from 0 to 100. */
  readonly socPercent?: number | undefined;
  /** Grant that the charger keeps to; 0 and 0 without one. */
  readonly epoch?: number | undefined;
  readonly seq?: number | undefined;
  readonly leaseLeftS?: number | undefined;
  /** Earlier limits may outlast their leases. */
  readonly isEndOpen?: boolean | undefined;
  /** New whenever a car is plugged in. */
  readonly session?: string | undefined;
  /** Identifier that authorized the session. */
  readonly idTag?: string | undefined;
  /** The charger declares the need of its car; omitted if the last declaration counts further. */
  readonly need?: SessionNeed | undefined;
}

/** Online state that a charger reports. */
export interface OnlineState {
  readonly online: boolean;
  readonly boot?: string | undefined;
  /** Increases with each state of a boot; omitted if the charger does not number them. */
  readonly seqNo?: number | undefined;
}

/** Meter state of one connector. Only the ledger writes it. */
export interface MeterSlot {
  /** False once removed: then the connector must be looked up again. */
  readonly isCurrent: boolean;
  readonly key: string;
  /**
   * The last reading counts as the current draw. It came within three heartbeats of the last `expire` call, and the
   * charger has not signed off since.
   */
  readonly isFresh: boolean;
  /** Three heartbeats of the connector, ms. Then the last reading is no longer fresh. */
  readonly staleAfterMs: number;
  /**
   * Last reading, 0 before the first. It stays while the charger is silent; `countedWOf` returns the power that then
   * counts.
   */
  readonly powerW: number;
  /** On the clock passed to the ledger; undefined before the first reading. */
  readonly receivedAtMs: number | undefined;
  readonly boot: string | undefined;
  readonly hb: number | undefined;
  readonly status: ChargingStatus | undefined;
  readonly limitA: number | undefined;
  readonly currentA: readonly number[] | undefined;
  readonly voltageV: readonly number[] | undefined;
  readonly energyWh: number | undefined;
  readonly socPercent: number | undefined;
}

/**
 * `refused`: duplicate, overtaken or from a retired boot; nothing changed. `resumed`: accepted after the reading was
 * not fresh.
 */
export type RecordResult = 'refused' | 'accepted' | 'resumed';

// A value of a boot older than this many boots could pass for a new one.
const RETIRED_BOOTS = 8;

/** `MeterSlot` with the fields that only the ledger uses. */
interface Entry extends Writable<MeterSlot> {
  /** List that contains the entry while it is fresh. */
  fresh: FreshList;
  /** Highest `seqNo` of a state in this boot; -1 before the first. */
  stateSeqNo: number;
  /** Time at which the charger announced this boot, before the boot's first value. */
  saidAtMs: number;
  retiredBoots: string[] | undefined;
  older: Entry | undefined;
  newer: Entry | undefined;
}

/** Fresh entries with the same stale time, in the order of their readings, so that expiry needs no search. */
class FreshList {
  readonly staleAfterMs: number;
  oldest: Entry | undefined;
  #newest: Entry | undefined;

  constructor(staleAfterMs: number) {
    this.staleAfterMs = staleAfterMs;
  }

  insert(entry: Entry): void {
    let older = this.#newest;
    // A reading is newer than all others, except after a move from another list.
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
 * Readings of one location's connectors. Every `nowMs` comes from one monotonic clock. If it goes back all the same,
 * the newest value applies.
 */
export class MeterLedger {
  readonly #staleAfterMs: number;
  /** Few lists, because most chargers have the service's heartbeat. */
  #freshLists: readonly FreshList[] = [];
  #latestMs = Number.NEGATIVE_INFINITY;
  #measuredW = 0;

  /** @param staleAfterMs three heartbeats of a charger without its own interval */
  constructor(staleAfterMs: number) {
    this.#staleAfterMs = staleAfterMs;
  }

  /** Sum of the fresh readings, in W. */
  get measuredW(): number {
    return this.#measuredW;
  }

  /** @param staleAfterMs three of the connector's heartbeats */
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
      socPercent: undefined,
      retiredBoots: undefined,
      stateSeqNo: -1,
      saidAtMs: Number.NEGATIVE_INFINITY,
      older: undefined,
      newer: undefined,
    };
    return entry;
  }

  /** Applies another heartbeat interval. */
  setStaleAfter(slot: MeterSlot, staleAfterMs: number): void {
    const entry = slot as Entry;
    if (staleAfterMs === entry.staleAfterMs) return;
    if (entry.isFresh) entry.fresh.remove(entry);
    entry.staleAfterMs = staleAfterMs;
    entry.fresh = this.#freshListOf(staleAfterMs);
    if (entry.isFresh) entry.fresh.insert(entry);
  }

  /** Deducts its power from the sum. The slot then refuses all readings. */
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
    entry.socPercent = reading.socPercent;
    const isResumed = !entry.isFresh;
    entry.isFresh = true;
    entry.fresh.insert(entry);
    return isResumed ? 'resumed' : 'accepted';
  }

  /**
   * Applies an online state of the charger; its last will counts as one. `refused` if the boot is retired, or if the
   * boot has already sent this `seqNo` or a higher one.
   */
  recordState(
    slot: MeterSlot,
    { online, boot, seqNo = Number.POSITIVE_INFINITY }: OnlineState,
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

  /** Time of the oldest fresh reading. All fresh connectors have reported since then. undefined if none is fresh. */
  oldestReadingAtMs(): number | undefined {
    let oldestMs: number | undefined;
    for (const { oldest } of this.#freshLists)
      if (oldest?.receivedAtMs !== undefined)
        oldestMs = Math.min(oldestMs ?? Number.POSITIVE_INFINITY, oldest.receivedAtMs);
    return oldestMs;
  }

  /** Removes the readings that are no longer fresh at `nowMs`, and calls `onStale` for each. */
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
      // An overtaken message may have retired a running boot. So a retired boot counts again after the current one
      // falls silent. A boot that has just begun has the same time for its first value.
      const isSilent = atMs >= Math.max(staleAtMs(entry), entry.saidAtMs + entry.staleAfterMs);
      return !entry.retiredBoots?.includes(reading.boot) || isSilent;
    }
    if (reading.hb === undefined || entry.hb === undefined || reading.hb > entry.hb) return true;
    // A charger without a boot id restarts its counter without notice. A lower counter counts once the old one fell
    // silent.
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
