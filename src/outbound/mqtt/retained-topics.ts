// The retained messages of locations at the embedded broker, and their delivery to readers: each topic waits at most
// once for a reader, with its newest payload.
import type { Clock } from '../../ports/clock.js';
import { readPrefixIn } from '../../wire/topics.js';
import { publishPacket } from './data-packets.js';
import { isWildcard, type Session } from './session.js';

/** Readers of a location get the retained messages of new subscriptions at most this often: matching them takes time. */
const DELIVER_EVERY_MS = 250;

function isMatch(filter: readonly string[], topic: readonly string[]): boolean {
  for (const [i, level] of filter.entries()) {
    if (level === '#') return true;
    if (i >= topic.length || (level !== '+' && level !== topic[i])) return false;
  }
  return filter.length === topic.length;
}

export class RetainedTopics {
  readonly #clock: Clock;
  readonly #drainTimeoutMs: number;
  /** A node sends everything again for each login at a front, so nothing is kept without readers. */
  readonly #isKept: boolean;
  /** By the begin of their topics. */
  readonly #topics = new Map<string, Map<string, string>>();
  readonly #readers = new Map<string, Set<Session>>();
  /** By the begin of their states: readers with new subscriptions, from a delivery until the next one may follow. */
  readonly #waiting = new Map<string, Set<Session>>();

  constructor(options: {
    readonly connectionClock: Clock;
    readonly drainTimeoutMs: number;
    readonly isKept: boolean;
  }) {
    this.#clock = options.connectionClock;
    this.#drainTimeoutMs = options.drainTimeoutMs;
    this.#isKept = options.isKept;
  }

  /** Keeps the message, or with an empty payload clears the topic, and sends it to the readers of its location. */
  put(topic: string, payload: string): void {
    const prefix = readPrefixIn(topic);
    const readers = prefix === undefined ? undefined : this.#readers.get(prefix);
    if (prefix === undefined || (!this.#isKept && readers === undefined)) return;
    const topics = this.#topics.get(prefix) ?? new Map<string, string>();
    if (payload === '') topics.delete(topic);
    else topics.set(topic, payload);
    if (topics.size > 0) this.#topics.set(prefix, topics);
    else this.#topics.delete(prefix);
    const levels = topic.split('/');
    for (const session of readers ?? []) {
      const { exact, wildcards } = session.filters;
      const isAsked = exact.has(topic) || [...wildcards.values()].some((filter) => isMatch(filter, levels));
      if (isAsked) this.#offer(session, topic, false);
    }
  }

  enter(session: Session): void {
    for (const prefix of session.reads) {
      const readers = this.#readers.get(prefix) ?? new Set();
      this.#readers.set(prefix, readers.add(session));
    }
  }

  leave(session: Session): void {
    session.due.clear();
    for (const prefix of session.reads) {
      this.#waiting.get(prefix)?.delete(session);
      const readers = this.#readers.get(prefix);
      readers?.delete(session);
      if (readers?.size !== 0) continue;
      this.#readers.delete(prefix);
      if (!this.#isKept) this.#topics.delete(prefix);
    }
  }

  subscribe({ filters }: Session, filter: string): void {
    if (isWildcard(filter)) filters.wildcards.set(filter, filter.split('/'));
    else filters.exact.add(filter);
  }

  unsubscribe({ filters }: Session, filter: string): void {
    filters.exact.delete(filter);
    filters.wildcards.delete(filter);
  }

  /** Sends the retained messages of new subscriptions (MQTT 3.1.1, section 3.8.4), soon. */
  deliver(session: Session, filters: readonly string[]): void {
    const { exact, wildcards } = session.filters;
    for (const filter of filters) if (exact.has(filter) || wildcards.has(filter)) session.asked.add(filter);
    const [prefix] = session.reads;
    if (prefix === undefined) return;
    const waiting = this.#waiting.get(prefix);
    if (waiting !== undefined) {
      waiting.add(session);
      return;
    }
    const next = new Set<Session>();
    this.#waiting.set(prefix, next);
    this.#clock.after(DELIVER_EVERY_MS, () => {
      this.#waiting.delete(prefix);
      for (const each of next) this.deliver(each, []);
    });
    this.#deliverNow(session);
  }

  #deliverNow(session: Session): void {
    const asked = [...session.asked].map((filter) => filter.split('/'));
    session.asked.clear();
    for (const prefix of session.reads)
      for (const topic of this.#topics.get(prefix)?.keys() ?? []) {
        const levels = topic.split('/');
        if (asked.some((filter) => isMatch(filter, levels))) this.#offer(session, topic, true);
      }
  }

  #offer(session: Session, topic: string, isRetained: boolean): void {
    session.due.set(topic, isRetained || session.due.get(topic) === true);
    if (!session.isDraining) this.#flush(session);
  }

  #flush(session: Session): void {
    const conn = session.client?.conn;
    for (const [topic, isRetained] of session.due) {
      if (conn === undefined || conn.destroyed || session.isRefused) return;
      if (conn.writableNeedDrain) {
        this.#flushLater(session, conn);
        return;
      }
      session.due.delete(topic);
      const payload = this.#topics.get(readPrefixIn(topic) ?? '')?.get(topic) ?? '';
      if (isRetained && payload === '') continue;
      conn.write(publishPacket(topic, payload, 0, isRetained));
    }
  }

  #flushLater(session: Session, conn: NonNullable<Session['client']>['conn']): void {
    session.isDraining = true;
    session.cancelDrain = this.#clock.after(this.#drainTimeoutMs, () =>
      conn.destroy(new Error('drain timeout')),
    );
    conn.once('drain', () => {
      session.isDraining = false;
      session.cancelDrain();
      this.#flush(session);
    });
  }
}
