// Causes of events, their arrivals on three ways, and the judgement over them.

/** A request that leads to one event. */
export interface Cause {
  readonly locationId: string;
  readonly source: string;
  readonly sentAtMs: number;
  /** Undefined: the caller does not know if it was written. */
  answeredAtMs: number | undefined;
}

/** An event at the end of one of its ways. */
export interface Arrival {
  readonly id: number;
  readonly locationId: string | null;
  /** The name of its cause. */
  readonly source: string;
  readonly atMs: number;
}

/** Each count is 0 if the promise holds. */
export interface Verdict {
  /** Acknowledged causes without an event. */
  lost: number;
  /** Causes with more than one event. */
  doubled: number;
  /** Events without a cause. */
  uncaused: number;
  /** Events after that of a cause which was sent after the answer to theirs. */
  reordered: number;
  /** Events that the webhook never accepted. */
  undelivered: number;
  /** First deliveries after that of a later event of their location. */
  deliveredLate: number;
  /** Events that the stream never had. */
  unstreamed: number;
  /** Events that the stream had again, or after a later one. */
  streamedAgain: number;
  /** Arrivals that differ from the log. */
  unlogged: number;
  /** Requests of a webhook without a valid signature, and gaps of a stream. */
  unsigned: number;
  gaps: number;
}

const SPOTLESS: Verdict = {
  lost: 0,
  doubled: 0,
  uncaused: 0,
  reordered: 0,
  undelivered: 0,
  deliveredLate: 0,
  unstreamed: 0,
  streamedAgain: 0,
  unlogged: 0,
  unsigned: 0,
  gaps: 0,
};

/** The causes of one tenant, and all arrivals of its events. */
export class EventBooks {
  readonly causes = new Map<string, Cause>();
  /** In order of arrival; of each event the first one. */
  readonly delivered = new Map<number, Arrival>();
  /** Every arrival, in order. */
  readonly streamed: Arrival[] = [];
  /** Deliveries after the first accepted one. */
  repeated = 0;
  unsigned = 0;
  gaps = 0;

  deliver(arrival: Arrival): void {
    if (this.delivered.has(arrival.id)) this.repeated++;
    else this.delivered.set(arrival.id, arrival);
  }

  judge(log: readonly Arrival[]): Verdict {
    const verdict: Verdict = { ...SPOTLESS, unsigned: this.unsigned, gaps: this.gaps };
    this.#judgeLog(log, verdict);
    const logged = new Map(log.map((event) => [event.id, event]));
    const isLogged = ({ id, locationId, source }: Arrival) => {
      const event = logged.get(id);
      return event?.locationId === locationId && event.source === source;
    };
    const streamed = new Set(this.streamed.map(({ id }) => id));
    verdict.undelivered = log.filter(({ id }) => !this.delivered.has(id)).length;
    verdict.unstreamed = log.filter(({ id }) => !streamed.has(id)).length;
    const lastOf = new Map<string | null, number>();
    for (const arrival of this.delivered.values()) {
      const last = lastOf.get(arrival.locationId) ?? 0;
      if (arrival.id < last) verdict.deliveredLate++;
      lastOf.set(arrival.locationId, Math.max(last, arrival.id));
      if (!isLogged(arrival)) verdict.unlogged++;
    }
    let last = 0;
    for (const arrival of this.streamed) {
      if (arrival.id <= last) verdict.streamedAgain++;
      last = Math.max(last, arrival.id);
      if (!isLogged(arrival)) verdict.unlogged++;
    }
    return verdict;
  }

  #judgeLog(log: readonly Arrival[], verdict: Verdict): void {
    const seen = new Set<string>();
    const newestSentAtMs = new Map<string, number>();
    for (const { source, locationId } of log) {
      const cause = this.causes.get(source);
      if (cause === undefined || cause.locationId !== locationId) {
        verdict.uncaused++;
        continue;
      }
      if (seen.has(source)) verdict.doubled++;
      seen.add(source);
      const { sentAtMs, answeredAtMs = Number.POSITIVE_INFINITY } = cause;
      const newestMs = newestSentAtMs.get(locationId) ?? Number.NEGATIVE_INFINITY;
      if (answeredAtMs < newestMs) verdict.reordered++;
      newestSentAtMs.set(locationId, Math.max(newestMs, sentAtMs));
    }
    for (const { source, answeredAtMs } of this.causes.values())
      if (answeredAtMs !== undefined && !seen.has(source)) verdict.lost++;
  }
}

export function sumOf(verdicts: readonly Verdict[]): Verdict {
  const sum: Verdict = { ...SPOTLESS };
  for (const verdict of verdicts)
    for (const name of Object.keys(sum) as (keyof Verdict)[]) sum[name] += verdict[name];
  return sum;
}
