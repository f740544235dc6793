// Instants of a connector's newest heartbeats, as sent or received, by boot. Leases count from these instants.

interface Log {
  readonly boot: string;
  /** Number and instant of each, one after the other, so that both are near each other in memory. */
  readonly heartbeats: Float64Array;
  newestHb: number;
}

/** A limit answers one of the newest heartbeats. */
const KEPT = 64;
/** Boots whose messages may still be under way. */
const BOOTS_KEPT = 4;

export class HeartbeatLog {
  readonly #logs: Log[] = [];

  /**
   * The first instant counts: a repetition is no other heartbeat. True if the heartbeat is the newest of its boot.
   */
  note(boot: string, hb: number, nowMs: number): boolean {
    const log = this.#logOf(boot) ?? this.#begin(boot);
    const slot = 2 * (hb % KEPT);
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
    const slot = 2 * (hb % KEPT);
    return log?.heartbeats[slot] === hb ? log.heartbeats[slot + 1] : undefined;
  }

  /** True if `boot` was noted, and another boot after it. */
  isOver(boot: string): boolean {
    const at = this.#logs.findIndex((log) => log.boot === boot);
    return at > 0;
  }

  #logOf(boot: string): Log | undefined {
    for (const log of this.#logs) if (log.boot === boot) return log;
    return undefined;
  }

  #begin(boot: string): Log {
    const log = { boot, heartbeats: new Float64Array(2 * KEPT).fill(-1), newestHb: -1 };
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
