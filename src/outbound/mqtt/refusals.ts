// Counts refusals of the embedded broker by reason, and logs them once a minute for each source.
import type { Metrics } from '../../metrics.js';
import type { Clock } from '../../ports/clock.js';
import type { Log } from '../../ports/log.js';
import { createRareLog, type RareLog } from '../../rare-log.js';
import type { PacketFault } from './packet-guard.js';
import type { RefusalReason, Session } from './session.js';

/** SignInLog logs failed sign-ins. A lost bus is logged once. A charger that moves to another front is no fault. */
const LOGGED_ELSEWHERE: ReadonlySet<RefusalReason | PacketFault> = new Set([
  'credentials',
  'attempts',
  'bus',
  'elsewhere',
]);

export class Refusals {
  readonly #log: Log;
  readonly #metrics: Metrics;
  readonly #rareLog: RareLog;

  constructor(options: { readonly clock: Clock; readonly log: Log; readonly metrics: Metrics }) {
    this.#log = options.log;
    this.#metrics = options.metrics;
    this.#rareLog = createRareLog(options.clock);
  }

  /** Counts and logs a refusal, and marks the session, so that its end is not counted again. */
  refuse(session: Session, reason: RefusalReason | PacketFault): Error {
    session.isRefused = true;
    return this.count(session, reason);
  }

  /** Counts and logs; the session goes on. */
  count(session: Session, reason: RefusalReason | PacketFault): Error {
    this.#metrics.mqttRefusals.inc({ reason });
    if (LOGGED_ELSEWHERE.has(reason)) return new Error(`refused: ${reason}`);
    const source = sourceOf(session);
    this.#rareLog(source, () =>
      this.#log.warn({ reason, source, address: session.address }, 'MQTT client refused'),
    );
    return new Error(`refused: ${reason}`);
  }

  /** Result of `judge`. aedes crashes if a hook throws, so a defect of ours becomes an error that it can report. */
  judged<T>(judge: () => T): T | Error {
    try {
      return judge();
    } catch (error) {
      return this.countDefect(error);
    }
  }

  /** A defect of this service. */
  countDefect(error: unknown): Error {
    this.#metrics.mqttRefusals.inc({ reason: 'defect' });
    this.#rareLog('defect', () => this.#log.error({ err: error }, 'MQTT rule failed'));
    return error instanceof Error ? error : new Error(String(error));
  }

  failHandshake(session: Session, error: unknown): void {
    if (session.isRefused) return;
    session.isRefused = true;
    this.#metrics.mqttRefusals.inc({ reason: 'tls' });
    const { address } = session;
    this.#rareLog(`TLS ${address}`, () =>
      this.#log.warn({ err: error, address }, 'TLS handshake of an MQTT client failed'),
    );
  }

  /** Counts and logs an error of the connection itself, unless the broker cut it. */
  failConnection(session: Session, error: Error): void {
    if (session.isRefused) return;
    this.#metrics.mqttRefusals.inc({ reason: 'connection' });
    const source = sourceOf(session);
    this.#rareLog(source, () => this.#log.warn({ err: error, source }, 'MQTT connection failed'));
  }
}

function sourceOf({ login, address }: Session): string {
  return login?.username ?? address;
}
