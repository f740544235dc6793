// One connection to NATS, which reconnects by itself. Messages are never queued while it is lost.
import type { NatsConnection, NodeConnectionOptions } from '@nats-io/transport-node';
import { busServersOf, withoutSecrets } from '../../broker-url.js';
import type { Metrics } from '../../metrics.js';
import type { Cancel, Clock } from '../../ports/clock.js';
import type { Log } from '../../ports/log.js';
import { createRareLog, type RareLog } from '../../rare-log.js';

const CONNECT_WITHIN_MS = 2_000;
const AGAIN_AFTER_MS = 500;
// A frozen server is given up after this many unanswered pings.
const PING_EVERY_MS = 1_000;
const PINGS_UNANSWERED = 2;
/** After this many bytes the server is asked to confirm them. */
const CONFIRM_BYTES = 64 * 1024;
/** Most unconfirmed bytes. */
const UNCONFIRMED_BYTES = 8 * 1024 * 1024;

/** Loaded on demand: most services have no bus. */
export const loadNatsClient = () => import('@nats-io/transport-node');

type OnMessage = (subject: string, payload: Buffer) => void;

/** The user of the link. Neither function throws. */
export interface LinkUser {
  /** The user subscribes again, and sends. */
  onConnected(): void;
  onLost(): void;
}

export interface LinkOptions {
  /** `nats://…` or `tls://…`, several with commas between them. */
  readonly url: string;
  /** PEM of the authorities that may sign the servers' certificates; undefined for the system's own. */
  readonly ca?: string | undefined;
  /** Client name for the servers. */
  readonly name: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
}

export type BusLink = Pick<NatsLink, keyof NatsLink>;

export class NatsLink {
  readonly #options: LinkOptions;
  readonly #rareLog: RareLog;
  readonly #servers: readonly string[];
  #user: LinkUser = { onConnected() {}, onLost() {} };
  #attempts = 0;
  #connection: NatsConnection | undefined;
  /** Bytes of this connection: sent, and confirmed. */
  #sent = 0;
  #taken = 0;
  #isConfirming = false;
  /** Pending confirmations; each function is called if the connection is lost. */
  readonly #asking = new Set<() => void>();
  #isStopped = false;
  #cancel: Cancel = () => {};
  #connecting: Promise<void> = Promise.resolve();

  constructor(options: LinkOptions) {
    this.#options = options;
    this.#rareLog = createRareLog(options.clock);
    this.#servers = busServersOf(options.url);
  }

  /** The URLs without secrets. */
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

  /** @returns false without a connection, or with too many unconfirmed bytes: then the message is dropped */
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

  /** Lasts until the connection is lost. @returns a function that ends it before */
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

  /** @returns true once this process has received all earlier messages of the server; false if that is uncertain */
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
    // Sent messages are confirmed first, unless the server no longer answers.
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
      // The library would queue messages without a connection and send them later.
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

  /** @returns true once the server has taken all messages sent so far; false if the connection is lost before */
  #hasTaken(connection: NatsConnection): Promise<boolean> {
    return new Promise((resolve) => {
      // The library leaves its callers without an answer if the connection ends meanwhile.
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
