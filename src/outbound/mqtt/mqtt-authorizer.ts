// MQTT authorizer: decides for every packet of every client whether the embedded
// broker accepts it, by the rules of its session.
import type { AedesOptions, Client, ConnectPacket, PublishPacket, Subscription } from 'aedes';
import { GuessLimit } from '../../guess-limit.js';
import type { Metrics } from '../../metrics.js';
import { PasswordCheck } from '../../password-check.js';
import type { Clock } from '../../ports/clock.js';
import type { Log } from '../../ports/log.js';
import type { MessageBus, MqttLogin, MqttLogins, Siblings, TopicMemo } from '../../ports/telemetry.js';
import { createRareLog, type RareLog } from '../../rare-log.js';
import { SignInLog } from '../../sign-in-log.js';
import { kindUnder } from '../../wire/topics.js';
import { type Connection, type ConnectionLimitSettings, ConnectionLimits } from './connection-limits.js';
import { type PublishedMessage, pubackPacket, publishPacket } from './data-packets.js';
import type { PacketFault } from './packet-guard.js';
import { RetainedTopics } from './retained-topics.js';
import {
  admit,
  createSession,
  isBirth,
  isNamedByCertificate,
  judgePublish,
  NewestSessions,
  type RefusalReason,
  refusalOfConnect,
  refusalOfSubscribe,
  type Session,
  type SessionLimits,
} from './session.js';

// Counts refusals of the embedded broker by reason, and logs them once a minute for each source.

/** SignInLog logs failed sign-ins. A lost bus is logged once. A charger that moves to another front is no fault. */
const LOGGED_ELSEWHERE: ReadonlySet<RefusalReason | PacketFault> = new Set([
  'credentials',
  'attempts',
  'bus',
  'elsewhere',
]);

class Refusals {
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

// Checks the name and password of a client, and slows down guesses. Every failure is logged and counted.

/** `attempts`: not checked now; the client may try again. The login is undefined if it was removed meanwhile. */
type SignInVerdict =
  | { readonly refusal: 'credentials' | 'attempts' }
  | { readonly login: MqttLogin | undefined };

// This many threads check the passwords of a site that reconnects as a whole.
const PASSWORD_CHECKS_AT_ONCE = 2;

class MqttSignIn {
  readonly #logins: MqttLogins;
  readonly #metrics: Metrics;
  readonly #signInLog: SignInLog;
  readonly #passwordCheck: PasswordCheck;

  constructor(options: {
    readonly clock: Clock;
    readonly log: Log;
    readonly metrics: Metrics;
    readonly logins: MqttLogins;
    readonly authFailuresPerMin: number;
  }) {
    this.#logins = options.logins;
    this.#metrics = options.metrics;
    this.#signInLog = new SignInLog(options.clock, options.log);
    const guessLimit = new GuessLimit(options.clock, options.authFailuresPerMin);
    this.#passwordCheck = new PasswordCheck(guessLimit, PASSWORD_CHECKS_AT_ONCE);
  }

  async check(
    address: string,
    username: string | undefined,
    password: Buffer | undefined,
  ): Promise<SignInVerdict> {
    if (username === undefined || password === undefined) {
      this.#signInLog.add({ via: 'mqtt', address, username, reason: 'no name or password' });
      return { refusal: 'credentials' };
    }
    const stored = this.#logins.find(username)?.secretHash;
    const verdict = await this.#passwordCheck.check({
      address,
      name: username,
      password: password.toString(),
      stored,
    });
    if (verdict.is !== 'right') {
      const reason = stored === undefined ? 'no such name' : 'wrong password';
      this.#signInLog.add({ via: 'mqtt', address, username, reason });
      if (verdict.is === 'later') return { refusal: 'attempts' };
      this.#metrics.authFailures.inc({ via: 'mqtt' });
      return { refusal: 'credentials' };
    }
    const found = this.#logins.find(username);
    // It changed during the check: the next attempt is checked against the new value.
    return found?.secretHash === stored ? { login: found?.login } : { refusal: 'attempts' };
  }
}

/** Hooks that aedes calls first. None of these throws. */
type Hooks = Required<Pick<AedesOptions, HookName>>;
type HookName = 'preConnect' | 'authenticate' | 'authorizePublish' | 'authorizeSubscribe';

export interface MqttAuthorizerSettings extends SessionLimits, ConnectionLimitSettings {
  readonly mqttPacketLimitBytes: number;
  readonly authFailuresPerMin: number;
}

// CONNACK return codes (MQTT 3.1.1, section 3.2.2.3).
type ReturnCode = 2 | 3 | 4 | 5;
const SERVER_UNAVAILABLE: ReturnCode = 3;
const NOT_AUTHORIZED: ReturnCode = 5;
const RETURN_CODES: Partial<Record<RefusalReason, ReturnCode>> = {
  'client-id': 2,
  attempts: SERVER_UNAVAILABLE,
  credentials: 4,
};
// A client that leaves this many packets of the largest size unread is disconnected.
const UNREAD_PACKETS = 4;
// So is one that has more unread than its socket buffers, for this long.
const DRAIN_TIMEOUT_MS = 10_000;
// Silence after which a client is gone, in its keepalives (MQTT 3.1.1, section 3.1.2.10).
const SILENT_KEEPALIVES = 1.5;
const LAST_PACKET_ID = 65_535;

type OnMessage = Parameters<MessageBus['start']>[0];

export class MqttAuthorizer {
  readonly #settings: MqttAuthorizerSettings;
  readonly #clock: Clock;
  readonly #connectionClock: Clock;
  readonly #metrics: Metrics;
  readonly #logins: MqttLogins;
  readonly #onMessage: OnMessage;
  readonly #refusals: Refusals;
  readonly #signIn: MqttSignIn;
  readonly #connectionLimits: ConnectionLimits;
  readonly #sessions = new Set<Session>();
  readonly #sessionOf = new WeakMap<Client, Session>();
  readonly #newest: NewestSessions;
  /** Sessions that have subscribed to each topic: usually one. */
  readonly #readers = new Map<string, readonly Session[]>();
  readonly #retained: RetainedTopics;

  constructor(options: {
    readonly settings: MqttAuthorizerSettings;
    readonly clock: Clock;
    readonly connectionClock: Clock;
    readonly log: Log;
    readonly metrics: Metrics;
    readonly logins: MqttLogins;
    readonly onMessage: OnMessage;
    readonly siblings?: Siblings | undefined;
  }) {
    this.#settings = options.settings;
    this.#clock = options.clock;
    this.#connectionClock = options.connectionClock;
    this.#metrics = options.metrics;
    this.#logins = options.logins;
    this.#onMessage = options.onMessage;
    this.#refusals = new Refusals(options);
    const { authFailuresPerMin } = options.settings;
    this.#signIn = new MqttSignIn({ ...options, authFailuresPerMin });
    this.#connectionLimits = new ConnectionLimits(options.settings);
    this.#logins.onReplaced(() => this.#endRevoked());
    this.#retained = new RetainedTopics({
      connectionClock: options.connectionClock,
      drainTimeoutMs: DRAIN_TIMEOUT_MS,
      isKept: options.siblings === undefined,
    });
    this.#newest = new NewestSessions({
      siblings: options.siblings,
      end: (session, why) => this.#end(session, why),
      onWill: options.onMessage,
    });
  }

  get hooks(): Hooks {
    return {
      preConnect: (client, packet, callback) => {
        const error = this.#refusals.judged(() => this.#claim(client, packet));
        callback(error ?? null, error === undefined);
      },
      authenticate: (client, username, password, done) => {
        this.#refusalOf(client, username, password)
          .then((error) => (error === undefined ? done(null, true) : done(error, false)))
          .catch((error) => this.#refusals.countDefect(error));
      },
      authorizePublish: (client, packet, callback) => {
        // A packet without a client is a last will that the broker had kept.
        callback(client === null ? null : this.#refusals.judged(() => this.#judgePublish(client, packet)));
      },
      authorizeSubscribe: (client, subscription, callback) => {
        const isGranted = this.#refusals.judged(() => this.#subscribe(client, subscription));
        // Refused with 128 in the SUBACK; the session goes on.
        callback(null, isGranted === true ? subscription : null);
      },
    };
  }

  /** Opens a session for a connection; `bind` its client before it reads. undefined if no place is free. */
  open({ address, giveWay }: Connection): Session | undefined {
    const connection: Connection = {
      address,
      giveWay: () => {
        this.refuse(session, 'pending');
        giveWay();
      },
    };
    const session = createSession(connection, this.#settings);
    // Closed without a CONNACK: some clients treat any of those as final.
    if (!this.#newest.isOpen) {
      this.refuse(session, 'bus');
      return undefined;
    }
    if (!this.#connectionLimits.open(session)) {
      this.refuse(session, 'connections');
      return undefined;
    }
    this.#sessions.add(session);
    this.#metrics.mqttConnections.set(this.#sessions.size);
    return session;
  }

  /** The broker stops, and its chargers go on: their last wills would be wrong. */
  voidWills(): void {
    for (const session of this.#sessions) session.isWillVoid = true;
  }

  bind(session: Session, client: Client): void {
    session.client = client;
    this.#sessionOf.set(client, session);
  }

  close(session: Session): void {
    this.#connectionLimits.close(session);
    this.#sessions.delete(session);
    session.cancelKeepalive();
    session.cancelDrain();
    for (const topic of session.subscriptions.keys()) this.#forget(topic, session);
    this.#retained.leave(session);
    this.#metrics.mqttConnections.set(this.#sessions.size);
    this.#newest.leave(session);
  }

  /** Takes a token for one more packet of the session. */
  admitPacket(session: Session): boolean {
    session.spokeAtMs = this.#connectionClock.monotonicMs();
    return session.packets.take(this.#clock.monotonicMs());
  }

  /**
   * Acknowledges and passes on a message of a connected client.
   * @returns false for a message that aedes has to refuse, or to acknowledge once the client reads again
   */
  receive(session: Session, message: PublishedMessage): boolean {
    return this.#refusals.judged(() => this.#receive(session, message)) === true;
  }

  /** Passes a message on that came by way of aedes. */
  consume(packet: PublishPacket, client: Client): void {
    this.#refusals.judged(() => this.#consume(packet, client));
  }

  /**
   * Sends a message to every client that has subscribed to its topic. Nothing is sent again: QoS 1 sends again only to
   * a client that resumes its session, and all sessions are clean.
   */
  send(topic: string, payload: string | Buffer, qos: 0 | 1): void {
    for (const session of this.#readers.get(topic) ?? [])
      this.#refusals.judged(() => this.#send(session, topic, payload, qos));
  }

  /** Sends a message to the readers of its location, and keeps it for later ones; an empty one is not kept. */
  retain(topic: string, payload: string): void {
    this.#refusals.judged(() => this.#retained.put(topic, payload));
  }

  /** The client has the answer to its subscriptions. */
  subscribed(topics: readonly string[], client: Client): void {
    const session = this.#sessionOf.get(client);
    if (session === undefined || session.reads.length === 0) return;
    this.#refusals.judged(() => this.#retained.deliver(session, topics));
  }

  unsubscribe(topics: readonly string[], client: Client): void {
    const session = this.#sessionOf.get(client);
    if (session === undefined) return;
    for (const topic of topics) {
      this.#retained.unsubscribe(session, topic);
      session.subscriptions.delete(topic);
      this.#forget(topic, session);
    }
  }

  /** Counts and logs a refusal, and marks the session, so that its end is not counted again. */
  refuse(session: Session, reason: RefusalReason | PacketFault): Error {
    return this.#refusals.refuse(session, reason);
  }

  failHandshake(session: Session, error: unknown): void {
    this.#refusals.failHandshake(session, error);
  }

  /** Counts and logs an error of the connection itself. */
  fail(client: Client, error: Error): void {
    const session = this.#sessionOf.get(client);
    if (session !== undefined) this.#refusals.failConnection(session, error);
  }

  #find(client: Client): Session {
    const session = this.#sessionOf.get(client);
    if (session === undefined) throw new Error('a client without a session');
    return session;
  }

  #endRevoked(): void {
    for (const session of this.#sessions) {
      if (session.login !== undefined && !this.#logins.isCurrent(session.login))
        this.#end(session, 'revoked');
    }
  }

  #end(session: Session, reason: RefusalReason): void {
    this.refuse(session, reason);
    session.prefixes = new Set();
    this.#retained.leave(session);
    session.published.clear();
    session.client?.close();
  }

  #forget(topic: string, session: Session): void {
    const others = this.#readers.get(topic)?.filter((each) => each !== session) ?? [];
    if (others.length > 0) this.#readers.set(topic, others);
    else this.#readers.delete(topic);
  }

  /** aedes keeps no such timer: it reads few of the packets. */
  #watchSilence(session: Session, allowedMs: number): void {
    const silentMs = this.#connectionClock.monotonicMs() - session.spokeAtMs;
    if (silentMs >= allowedMs) {
      session.client?.conn.destroy(new Error('keep alive timeout'));
      return;
    }
    session.cancelKeepalive = this.#connectionClock.after(Math.ceil(allowedMs - silentMs), () =>
      this.#watchSilence(session, allowedMs),
    );
  }

  #claim(client: Client, packet: ConnectPacket): undefined {
    const session = this.#find(client);
    this.#connectionLimits.spoke(session);
    session.claim = { clientId: packet.clientId, keepaliveS: packet.keepalive ?? 0, will: packet.will };
    packet.clean = true;
    packet.keepalive = 0;
    // aedes distinguishes sessions by client id alone, which is unique only inside its tenant.
    packet.clientId = packet.username ?? session.address;
    return undefined;
  }

  /** The refusal of a client with a return code for aedes; undefined if it is admitted. */
  async #refusalOf(
    client: Client,
    username: string | undefined,
    password: Buffer | undefined,
  ): Promise<(Error & { readonly returnCode: ReturnCode }) | undefined> {
    try {
      const session = this.#find(client);
      const reason = await this.#authenticate(session, username, password);
      if (reason === undefined) return undefined;
      const returnCode = RETURN_CODES[reason] ?? NOT_AUTHORIZED;
      return Object.assign(this.refuse(session, reason), { returnCode });
    } catch (error) {
      return Object.assign(this.#refusals.countDefect(error), { returnCode: SERVER_UNAVAILABLE });
    }
  }

  async #authenticate(
    session: Session,
    username: string | undefined,
    password: Buffer | undefined,
  ): Promise<RefusalReason | undefined> {
    const { address, claim } = session;
    if (claim === undefined) throw new Error('a client that signs in before its CONNECT was read');
    const held = username === undefined ? undefined : this.#logins.find(username);
    // Before the check of the password: a client with a wrong certificate must use up no attempts of the charger.
    if (held !== undefined && !isNamedByCertificate(held.login, session)) return 'certificate';
    const verdict = await this.#signIn.check(address, username, password);
    if ('refusal' in verdict) return verdict.refusal;
    const { login } = verdict;
    // The client disconnected, or lost its login, meanwhile.
    if (login === undefined || !this.#sessions.has(session)) return undefined;
    const reason = refusalOfConnect(login, claim, session, this.#settings);
    if (reason !== undefined) return reason;
    admit(session, login, this.#settings);
    // Before others receive the login: a node answers it with the messages for a reader.
    this.#retained.enter(session);
    if (!(await this.#newest.enter(session))) {
      session.client?.conn.destroy();
      return 'bus';
    }
    this.#connectionLimits.loggedIn(session);
    this.#watchSilence(session, SILENT_KEEPALIVES * 1000 * claim.keepaliveS);
    return undefined;
  }

  #judgePublish(client: Client, packet: PublishPacket): Error | null {
    const session = this.#find(client);
    // A will was checked when its client connected.
    if (packet === session.claim?.will || (isBirth(session, packet.topic) && packet.qos !== 2)) return null;
    const judged = judgePublish(session, packet);
    return typeof judged === 'string' ? this.refuse(session, judged) : null;
  }

  /** @returns false if the session may not subscribe */
  #subscribe(client: Client, subscription: Subscription): boolean {
    const session = this.#find(client);
    const reason = refusalOfSubscribe(session, subscription, this.#settings);
    if (reason !== undefined) {
      this.#refusals.count(session, reason);
      return false;
    }
    const { topic, qos } = subscription;
    if (session.reads.length > 0) {
      this.#retained.subscribe(session, topic);
      return true;
    }
    const readers = this.#readers.get(topic) ?? [];
    if (!readers.includes(session)) this.#readers.set(topic, [...readers, session]);
    session.subscriptions.set(topic, qos === 0 ? 0 : 1);
    return true;
  }

  #receive(session: Session, message: PublishedMessage): boolean {
    const conn = session.client?.conn;
    if (conn === undefined) return false;
    const published = judgePublish(session, message);
    if (typeof published === 'string') return false;
    if (message.qos === 1) {
      if (conn.writableNeedDrain) return false;
      conn.write(pubackPacket(message.packetId));
    }
    this.#passOn(session, message.topic, message.payload, published.memo);
    return true;
  }

  #consume(packet: PublishPacket, client: Client): void {
    const session = this.#find(client);
    const { topic } = packet;
    const payload = typeof packet.payload === 'string' ? Buffer.from(packet.payload) : packet.payload;
    // Birth and last will of a reader reach nobody.
    if (session.reads.length > 0) return;
    if (packet === session.claim?.will) this.#newest.sayWill(session, topic, payload);
    else this.#passOn(session, topic, payload, session.published.get(topic)?.memo);
  }

  /** Passes a message on, unless the client is above its rate. */
  #passOn(session: Session, topic: string, payload: Buffer, memo: TopicMemo | undefined): void {
    if (session.messages.take(this.#clock.monotonicMs())) {
      this.#onMessage(topic, payload, memo);
    } else {
      const kind = kindUnder(session.prefixes, topic) ?? 'none';
      this.#metrics.mqttMessages.inc({ kind, result: 'limited' });
    }
  }

  #send(session: Session, topic: string, payload: string | Buffer, qos: 0 | 1): void {
    const conn = session.client?.conn;
    if (conn === undefined || conn.destroyed || session.isRefused) return;
    if (conn.writableLength > UNREAD_PACKETS * this.#settings.mqttPacketLimitBytes) {
      conn.destroy(this.refuse(session, 'slow-reader'));
      return;
    }
    const isAcknowledged = qos === 1 && session.subscriptions.get(topic) === 1;
    if (isAcknowledged) session.packetId = (session.packetId % LAST_PACKET_ID) + 1;
    const isWaiting = conn.writableNeedDrain;
    if (conn.write(publishPacket(topic, payload, isAcknowledged ? session.packetId : 0)) || isWaiting) return;
    session.cancelDrain = this.#connectionClock.after(DRAIN_TIMEOUT_MS, () =>
      conn.destroy(new Error('drain timeout')),
    );
    conn.once('drain', () => session.cancelDrain());
  }
}
