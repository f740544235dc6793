// One connection to NATS, made again whenever it is lost: nothing waits for it, and nothing of before is sent after.
import type { NatsConnection, NodeConnectionOptions } from '@nats-io/transport-node';
import { busServersOf, withoutSecrets } from '../../broker-url.js';
import type { Metrics } from '../../metrics.js';
import type { Cancel, Clock } from '../../ports/clock.js';
import type { Log } from '../../ports/log.js';
import { createRareLog, type RareLog } from '../../rare-log.js';

const CONNECT_WITHIN_MS = 2_000;
const AGAIN_AFTER_MS = 500;
// A server that is frozen is given up after two of these that it did not answer.
const PING_EVERY_MS = 1_000;
const PINGS_UNANSWERED = 2;
/** The server is asked whether it has taken what was sent, whenever it was so much. */
const CONFIRM_BYTES = 64 * 1024;
/** What it has not taken yet is never more. */
const UNCONFIRMED_BYTES = 8 * 1024 * 1024;

/** Loaded where it is used: most services have no bus. */
export const loadNatsClient = () => import('@nats-io/transport-node');

type OnMessage = (subject: string, payload: Buffer) => void;

/** Who uses the link. Neither function throws. */
export interface LinkUser {
  /** Subscribes anew, and sends. */
  onConnected(): void;
  onLost(): void;
}

export interface LinkOptions {
  /** `nats://…` or `tls://…`, several with commas between them. */
  readonly url: string;
  /** Who may have signed the servers' certificates, as PEM; undefined for whom the system trusts. */
  readonly ca?: string | undefined;
  /** What the servers are told that this is. */
  readonly name: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
}

/** What a front or a node uses of it. */
export type BusLink = Pick<NatsLink, keyof NatsLink>;

export class NatsLink {
  readonly #options: LinkOptions;
  readonly #rareLog: RareLog;
  readonly #servers: readonly string[];
  #user: LinkUser = { onConnected() {}, onLost() {} };
  #attempts = 0;
  #connection: NatsConnection | undefined;
  /** Bytes of this connection: sent, and of these known to be taken. */
  #sent = 0;
  #taken = 0;
  #isConfirming = false;
  /** Who waits until the server has taken what was sent: told where the connection is lost. */
  readonly #asking = new Set<() => void>();
  #isStopped = false;
  #cancel: Cancel = () => {};
  #connecting: Promise<void> = Promise.resolve();

  constructor(options: LinkOptions) {
    this.#options = options;
    this.#rareLog = createRareLog(options.clock);
    this.#servers = busServersOf(options.url);
  }

  /** Without what signs in there. */
  get url(): string {
    return this.#servers.map(withoutSecrets).join(',');
  }

  get isConnected(): boolean {
    return this.#connection !== undefined;
  }

  /** Resolves after the first attempt, good or bad; attempts go on until `stop`. */
  start(user: LinkUser): Promise<void> {
    this.#user = user;
    this.#options.metrics.busLinks.inc();
    this.#connecting = this.#connect();
    return this.#connecting;
  }

  /** False where there is no connection, or the server does not take what was sent: then it is not sent later, either. */
  publish(subject: string, payload: string | Buffer): boolean {
    const connection = this.#connection;
    if (connection === undefined || this.#sent - this.#taken > UNCONFIRMED_BYTES) return this.#drop();
    try {
      connection.publish(subject, payload);
    } catch (error) {
      this.#rareLog('publish', () =>
        this.#options.log.error({ err: error, subject }, 'NATS took no message'),
      );
      return this.#drop();
    }
    this.#sent += subject.length + payload.length;
    if (this.#sent - this.#taken > CONFIRM_BYTES && !this.#isConfirming) void this.#confirm(connection);
    return true;
  }

  /** Until the connection is lost; returns what ends it before. */
  subscribe(subject: string, onMessage: OnMessage): () => void {
    const subscription = this.#connection?.subscribe(subject, {
      callback: (error, message) => {
        if (error !== null) return;
        const { data } = message;
        onMessage(message.subject, Buffer.from(data.buffer, data.byteOffset, data.byteLength));
      },
    });
    return () => subscription?.unsubscribe();
  }

  /** Resolves to true once all that the server had for this process before is heard; to false where that cannot be known. */
  async settled(): Promise<boolean> {
    return this.#connection !== undefined && (await this.#hasTaken(this.#connection));
  }

  async stop(): Promise<void> {
    if (!this.#isStopped) this.#options.metrics.busLinks.dec();
    this.#isStopped = true;
    this.#cancel();
    await this.#connecting;
    const connection = this.#connection;
    if (connection === undefined) return;
    // What was sent is taken first, unless the server no longer answers.
    await this.#hasTaken(connection);
    this.#lose(connection);
    await connection.close().catch(() => {});
  }

  #drop(): false {
    this.#options.metrics.busDropped.inc();
    return false;
  }

  async #connect(): Promise<void> {
    const { log, metrics } = this.#options;
    // Each server in its turn.
    const server = this.#servers[this.#attempts++ % this.#servers.length] ?? '';
    try {
      const { connect } = await loadNatsClient();
      const connection = await connect(this.#optionsFor(server));
      if (this.#isStopped) return await connection.close();
      this.#connection = connection;
      this.#sent = 0;
      this.#taken = 0;
      this.#isConfirming = false;
      void connection.closed().then((error) => this.#onClosed(connection, error));
      metrics.busConnected.inc();
      log.info({ server: connection.getServer() }, 'connected to NATS');
      this.#user.onConnected();
    } catch (error) {
      this.#rareLog('connect', () =>
        log.warn({ err: error, server: new URL(server).host }, 'NATS cannot be reached'),
      );
      this.#connectLater();
    }
  }

  #connectLater(): void {
    if (this.#isStopped) return;
    this.#cancel = this.#options.clock.after(AGAIN_AFTER_MS, () => {
      this.#connecting = this.#connect();
    });
  }

  #optionsFor(server: string): NodeConnectionOptions {
    const { name, ca } = this.#options;
    const { protocol, hostname, port, username, password } = new URL(server);
    const user = decodeURIComponent(username);
    return {
      servers: `${hostname}:${port || 4222}`,
      name,
      ...(user === ''
        ? {}
        : password === ''
          ? { token: user }
          : { user, pass: decodeURIComponent(password) }),
      ...(protocol === 'tls:' && { tls: ca === undefined ? {} : { ca } }),
      // The library would send later what was to be sent while there was no connection.
      reconnect: false,
      timeout: CONNECT_WITHIN_MS,
      pingInterval: PING_EVERY_MS,
      maxPingOut: PINGS_UNANSWERED,
      noAsyncTraces: true,
    };
  }

  #onClosed(connection: NatsConnection, error: unknown): void {
    if (this.#connection !== connection) return;
    this.#options.log.warn({ err: error }, 'the connection to NATS is lost');
    this.#lose(connection);
    this.#connectLater();
  }

  #lose(connection: NatsConnection): void {
    if (this.#connection !== connection) return;
    this.#connection = undefined;
    this.#options.metrics.busConnected.dec();
    for (const isLost of this.#asking) isLost();
    this.#user.onLost();
  }

  /** Resolves to true once the server has taken all that was sent until now, to false where the connection is lost before. */
  #hasTaken(connection: NatsConnection): Promise<boolean> {
    return new Promise((resolve) => {
      // The library never answers who waits while the connection ends.
      const isLost = () => resolve(false);
      this.#asking.add(isLost);
      connection
        .flush()
        .then(() => resolve(this.#connection === connection), isLost)
        .finally(() => this.#asking.delete(isLost));
    });
  }

  async #confirm(connection: NatsConnection): Promise<void> {
    this.#isConfirming = true;
    const sent = this.#sent;
    if (!(await this.#hasTaken(connection))) return;
    this.#taken = sent;
    this.#isConfirming = false;
  }
}
