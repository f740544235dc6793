// Outstanding grants of one connector: each may be in force until its lease, or a newer applied limit, ends it.

export interface Numbered {
  readonly epoch: number;
  readonly seq: number;
}

export function isOlder(a: Numbered, b: Numbered): boolean {
  return a.epoch < b.epoch || (a.epoch === b.epoch && a.seq < b.seq);
}

export interface NewlyGranted extends Numbered {
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
  /**
   * The service received at `atMs` that the limit may last longer. Until then it counted on the end at `endedAtMs`.
   */
  opened: { readonly atMs: number; readonly endedAtMs: number } | undefined;
}

/** Times are in ms of one clock. */
export class OutstandingGrantRecord {
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
      const isMore = each.limitA > limitA || each.phases > phases;
      if (!isOver && (isMore || each.overAtMs > overAtMs)) all[kept++] = each;
    }
    all[kept++] = { epoch, seq, limitA, phases, leaseMs, overAtMs, opened: undefined };
    all.length = kept;
  }

  /** The connector was at `limitA` until now, by no limit that can be applied anew. */
  leave(limitA: number, phases: number, epoch: number, nowMs: number): void {
    const overAtMs = nowMs + this.#settleMs;
    this.#all.unshift({ epoch, seq: 0, limitA, phases, leaseMs: 0, overAtMs, opened: undefined });
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

  /** The service died: reports of open ends since `storedUntilMs` may be on no disk. */
  loseEnds(storedUntilMs: number): void {
    for (const each of this.#all) {
      if (each.opened === undefined || each.opened.atMs < storedUntilMs) continue;
      each.overAtMs = Math.min(each.overAtMs, each.opened.endedAtMs);
      each.opened = undefined;
    }
  }

  /** Highest limit on its phase number `own`, or `leastA`. */
  mostA(leastA: number, nowMs: number, own: number): number {
    let mostA = leastA;
    for (const { limitA, phases, overAtMs } of this.#all)
      if (own < phases && overAtMs > nowMs && limitA > mostA) mostA = limitA;
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
