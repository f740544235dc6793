// What the chargers of one location last said, as plain numbers: a machine hears of a value only when a mode changes.
import { MINIMUM_CURRENT_A } from './units.js';

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

/** `online`: values arrive. `stale`: none for three heartbeats. `offline`: said so, or never heard of. */
export type Link = 'online' | 'stale' | 'offline';

/** What the charger says it is held to: `paused` 0 A, `minimum` at most 6 A, `limited` below its maximum. */
export type Throttle = 'free' | 'limited' | 'minimum' | 'paused';

/** One meter value. A simple charger sends `powerW` alone. */
export interface MeterReading {
  readonly powerW: number;
  /** New at every start of the charger. */
  readonly boot?: string | undefined;
  /** Heartbeat counter of the connector; starts again with each boot. */
  readonly hb?: number | undefined;
  readonly status?: ChargingStatus | undefined;
  readonly limitA?: number | undefined;
  readonly currentA?: readonly number[] | undefined;
  readonly voltageV?: readonly number[] | undefined;
  readonly energyWh?: number | undefined;
  /** The grant it keeps to; 0 and 0 where it holds none. */
  readonly epoch?: number | undefined;
  readonly seq?: number | undefined;
  readonly leaseLeftS?: number | undefined;
}

/** A connector's place in a ledger: read it, but only the ledger writes it. */
export interface MeterSlot {
  /** False once removed: whoever kept it must look the connector up again. */
  readonly isCurrent: boolean;
  readonly key: string;
  /** As of the last call of `record`, `recordState` or `expire`; `linkAt` is exact. */
  readonly link: Link;
  readonly throttle: Throttle;
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

/** `refused`: doubled, overtaken or of a retired boot, nothing changed. `changed`: accepted, and `link` or `throttle` is another. */
export type RecordResult = 'refused' | 'accepted' | 'changed';

/** Every `nowMs` is of one clock that never goes back; should it do so, the newest seen counts. */
export interface MeterLedger {
  /** Throws where `key` is taken. */
  addConnector(key: string, maxCurrentA: number): MeterSlot;
  /** Takes its power out of the sum; the slot refuses everything from then on. */
  removeConnector(slot: MeterSlot): void;
  connector(key: string): MeterSlot | undefined;
  connectors(): Iterable<MeterSlot>;
  record(slot: MeterSlot, reading: MeterReading, nowMs: number): RecordResult;
  /** The charger said it is there or not (its last will counts). Only a meter value makes a connector `online`. */
  recordState(slot: MeterSlot, online: boolean, boot: string | undefined): RecordResult;
  linkAt(slot: MeterSlot, nowMs: number): Link;
  /** Sum of the last readings of the connectors that are online, as of `link`, in W. */
  readonly measuredW: number;
  /** Connectors that are not online at `nowMs`. */
  silentCountAt(nowMs: number): number;
  /** When the next connector turns stale; undefined while none is online. Ask again after `expire` and `changed`. */
  nextStaleAtMs(): number | undefined;
  /** Turns stale what is due at `nowMs`, telling of each. */
  expire(nowMs: number, onStale: (slot: MeterSlot) => void): void;
}

// A value of a boot that was replaced this many boots ago could pass for new.
const RETIRED_BOOTS = 8;

/** What changes hands as `MeterSlot`; online entries form a list, oldest reading first, so that expiry needs no search. */
interface Entry extends MeterSlot {
  isCurrent: boolean;
  link: Link;
  throttle: Throttle;
  powerW: number;
  receivedAtMs: number | undefined;
  boot: string | undefined;
  hb: number | undefined;
  status: ChargingStatus | undefined;
  limitA: number | undefined;
  currentA: readonly number[] | undefined;
  voltageV: readonly number[] | undefined;
  energyWh: number | undefined;
  readonly maxCurrentA: number;
  retiredBoots: string[] | undefined;
  older: Entry | undefined;
  newer: Entry | undefined;
}

function throttleOf(limitA: number | undefined, maxCurrentA: number): Throttle {
  if (limitA === undefined || limitA >= maxCurrentA) return 'free';
  if (limitA <= 0) return 'paused';
  return limitA <= MINIMUM_CURRENT_A ? 'minimum' : 'limited';
}

class Ledger implements MeterLedger {
  measuredW = 0;
  readonly #staleAfterMs: number;
  readonly #entries = new Map<string, Entry>();
  #onlineCount = 0;
  #oldest: Entry | undefined;
  #newest: Entry | undefined;
  #latestMs = Number.NEGATIVE_INFINITY;

  constructor(staleAfterMs: number) {
    this.#staleAfterMs = staleAfterMs;
  }

  addConnector(key: string, maxCurrentA: number): MeterSlot {
    if (this.#entries.has(key)) throw new Error(`connector ${key} is in the ledger already`);
    const entry: Entry = {
      isCurrent: true,
      key,
      link: 'offline',
      throttle: 'free',
      powerW: 0,
      receivedAtMs: undefined,
      boot: undefined,
      hb: undefined,
      status: undefined,
      limitA: undefined,
      currentA: undefined,
      voltageV: undefined,
      energyWh: undefined,
      maxCurrentA,
      retiredBoots: undefined,
      older: undefined,
      newer: undefined,
    };
    this.#entries.set(key, entry);
    return entry;
  }

  removeConnector(slot: MeterSlot): void {
    const entry = slot as Entry;
    if (!entry.isCurrent) return;
    if (entry.link === 'online') this.#leaveOnline(entry, 'offline');
    entry.isCurrent = false;
    this.#entries.delete(entry.key);
  }

  connector(key: string): MeterSlot | undefined {
    return this.#entries.get(key);
  }

  connectors(): Iterable<MeterSlot> {
    return this.#entries.values();
  }

  record(slot: MeterSlot, reading: MeterReading, nowMs: number): RecordResult {
    const entry = slot as Entry;
    const atMs = this.#notBefore(nowMs);
    if (!entry.isCurrent || !this.#isNews(entry, reading, atMs)) return 'refused';
    if (reading.boot !== undefined && reading.boot !== entry.boot) this.#startBoot(entry, reading.boot);
    this.measuredW += reading.powerW - (entry.link === 'online' ? entry.powerW : 0);
    entry.powerW = reading.powerW;
    entry.receivedAtMs = atMs;
    if (reading.hb !== undefined) entry.hb = reading.hb;
    entry.status = reading.status;
    entry.limitA = reading.limitA;
    entry.currentA = reading.currentA;
    entry.voltageV = reading.voltageV;
    entry.energyWh = reading.energyWh;
    const throttle = throttleOf(reading.limitA, entry.maxCurrentA);
    const isChanged = entry.link !== 'online' || entry.throttle !== throttle;
    entry.throttle = throttle;
    if (entry.link === 'online') this.#unlink(entry);
    else this.#onlineCount++;
    entry.link = 'online';
    this.#append(entry);
    return isChanged ? 'changed' : 'accepted';
  }

  recordState(slot: MeterSlot, online: boolean, boot: string | undefined): RecordResult {
    const entry = slot as Entry;
    if (!entry.isCurrent || (boot !== undefined && entry.retiredBoots?.includes(boot))) return 'refused';
    if (boot !== undefined && boot !== entry.boot) this.#startBoot(entry, boot);
    const before = entry.link;
    if (before === 'online') {
      // A charger that is there keeps the link its values earned it.
      if (!online) this.#leaveOnline(entry, 'offline');
    } else {
      entry.link = online ? 'stale' : 'offline';
    }
    return entry.link === before ? 'accepted' : 'changed';
  }

  linkAt(slot: MeterSlot, nowMs: number): Link {
    const isDue = slot.link === 'online' && this.#notBefore(nowMs) >= this.#staleAtMs(slot);
    return isDue ? 'stale' : slot.link;
  }

  silentCountAt(nowMs: number): number {
    const atMs = this.#notBefore(nowMs);
    let onlineCount = this.#onlineCount;
    for (let entry = this.#oldest; entry !== undefined; entry = entry.newer) {
      if (atMs < this.#staleAtMs(entry)) break;
      onlineCount--;
    }
    return this.#entries.size - onlineCount;
  }

  nextStaleAtMs(): number | undefined {
    return this.#oldest === undefined ? undefined : this.#staleAtMs(this.#oldest);
  }

  expire(nowMs: number, onStale: (slot: MeterSlot) => void): void {
    const atMs = this.#notBefore(nowMs);
    while (this.#oldest !== undefined && atMs >= this.#staleAtMs(this.#oldest)) {
      const entry = this.#oldest;
      this.#leaveOnline(entry, 'stale');
      onStale(entry);
    }
  }

  #notBefore(nowMs: number): number {
    if (nowMs > this.#latestMs) this.#latestMs = nowMs;
    return this.#latestMs;
  }

  #staleAtMs(slot: MeterSlot): number {
    return (slot.receivedAtMs ?? Number.NEGATIVE_INFINITY) + this.#staleAfterMs;
  }

  #isNews(entry: Entry, reading: MeterReading, atMs: number): boolean {
    if (reading.boot !== undefined && reading.boot !== entry.boot) {
      // What was overtaken by a newer boot may have retired it: the one that speaks while the other is silent is running.
      return !entry.retiredBoots?.includes(reading.boot) || atMs >= this.#staleAtMs(entry);
    }
    if (reading.hb === undefined || entry.hb === undefined || reading.hb > entry.hb) return true;
    // A charger without a boot id restarts its counter unannounced: a lower one counts once the old one fell silent.
    return reading.boot === undefined && reading.hb < entry.hb && this.linkAt(entry, atMs) !== 'online';
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
  }

  #leaveOnline(entry: Entry, link: Link): void {
    this.#unlink(entry);
    this.#onlineCount--;
    this.measuredW -= entry.powerW;
    entry.link = link;
  }

  #append(entry: Entry): void {
    entry.older = this.#newest;
    if (this.#newest === undefined) this.#oldest = entry;
    else this.#newest.newer = entry;
    this.#newest = entry;
  }

  #unlink(entry: Entry): void {
    if (entry.older === undefined) this.#oldest = entry.newer;
    else entry.older.newer = entry.newer;
    if (entry.newer === undefined) this.#newest = entry.older;
    else entry.newer.older = entry.older;
    entry.older = undefined;
    entry.newer = undefined;
  }
}

/** A ledger of one location's connectors. `staleAfterMs` is three heartbeats. */
export function createMeterLedger(staleAfterMs: number): MeterLedger {
  return new Ledger(staleAfterMs);
}
