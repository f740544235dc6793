// Decides for every packet of every client whether the embedded broker takes it: aedes asks, the session's rules answer.
import type { AedesOptions, Client, ConnectPacket, PublishPacket } from 'aedes';
import { GuessLimit } from '../../guess-limit.js';
import type { Metrics } from '../../metrics.js';
import { PasswordCheck } from '../../password-check.js';
import type { Clock } from '../../ports/clock.js';
import type { Log } from '../../ports/log.js';
import type { MqttLogins } from '../../ports/telemetry.js';
import { createRareLog } from '../../rare-log.js';
import { SignInLog } from '../../sign-in-log.js';
import { kindUnder } from '../../wire/topics.js';
import { type Connection, type ConnectionLimitSettings, ConnectionLimits } from './connection-limits.js';
import type { PacketFault } from './packet-guard.js';
import {
  admit,
  createSession,
  type RefusalReason,
  refusalOfConnect,
  refusalOfPublish,
  refusalOfSubscribe,
  type Session,
  type SessionLimits,
} from './session.js';

type HookName =
  | 'preConnect'
  | 'authenticate'
  | 'authorizePublish'
  | 'authorizeSubscribe'
  | 'authorizeForward';

export interface GatekeeperSettings extends SessionLimits, ConnectionLimitSettings {
  readonly mqttPacketLimitBytes: number;
  readonly authFailuresPerMin: number;
}

export interface Gatekeeper {
  /** What aedes asks before it does anything. None of these throws. */
  readonly hooks: Required<Pick<AedesOptions, HookName>>;
  /** A connection was made; `bind` its client before it reads. undefined where there is no room for it. */
  open(connection: Connection): Session | undefined;
  bind(session: Session, client: Client): void;
  close(session: Session): void;
  /** Whether one more packet is bearable. */
  takePacket(session: Session): boolean;
  /** Hands on what a client published, unless it sends more than it may. */
  consume(packet: PublishPacket, client: Client): void;
  unsubscribe(topics: readonly string[], client: Client): void;
  /** Counts and logs, and marks the session, whose end then needs no further word. */
  refuse(session: Session, reason: RefusalReason | PacketFault): Error;
  /** Counts and logs that the connection never came to speak MQTT. */
  failHandshake(session: Session, error: unknown): void;
  /** Counts and logs an error of the connection itself. */
  fail(client: Client, error: Error): void;
}

// A site that comes back after a restart is let in by as many threads.
const PASSWORD_CHECKS_AT_ONCE = 2;
// CONNACK return codes (MQTT 3.1.1, section 3.2.2.3).
type ReturnCode = 2 | 3 | 4 | 5;
const SERVER_UNAVAILABLE: ReturnCode = 3;
const NOT_AUTHORIZED: ReturnCode = 5;
const RETURN_CODES: Partial<Record<RefusalReason, ReturnCode>> = {
  'client-id': 2,
  attempts: SERVER_UNAVAILABLE,
  credentials: 4,
};
// So much unread by a client, in packets of the largest size, and it is given up.
const UNREAD_PACKETS = 4;

export function createGatekeeper(options: {
  readonly settings: GatekeeperSettings;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly logins: MqttLogins;
  readonly onMessage: (topic: string, payload: Buffer) => void;
}): Gatekeeper {
  const { settings, clock, log, metrics, logins, onMessage } = options;
  const rareLog = createRareLog(clock);
  const signInLog = new SignInLog(clock, log);
  const passwordCheck = new PasswordCheck(
    new GuessLimit(clock, settings.authFailuresPerMin),
    PASSWORD_CHECKS_AT_ONCE,
  );
  const connectionLimits = new ConnectionLimits(settings);
  const sessions = new Set<Session>();
  const sessionOf = new WeakMap<Client, Session>();
  /** The latest session of each username: the one whose word counts. */
  const latest = new Map<string, Session>();

  function find(client: Client): Session {
    const session = sessionOf.get(client);
    if (session === undefined) throw new Error('a client without a session');
    return session;
  }

  function count(session: Session, reason: RefusalReason | PacketFault): Error {
    metrics.mqttRefusals.inc({ reason });
    // These have a log of their own.
    if (reason === 'credentials' || reason === 'attempts') return new Error(`refused: ${reason}`);
    const source = session.login?.username ?? session.address;
    rareLog(source, () => log.warn({ reason, source, address: session.address }, 'MQTT client refused'));
    return new Error(`refused: ${reason}`);
  }

  function refuse(session: Session, reason: RefusalReason | PacketFault): Error {
    session.isRefused = true;
    return count(session, reason);
  }

  /** What `judge` says. aedes crashes on a throw, so a defect of ours is an error to it like any other. */
  function judged<T>(judge: () => T): T | Error {
    try {
      return judge();
    } catch (error) {
      return faultOf(error);
    }
  }

  function faultOf(error: unknown): Error {
    metrics.mqttRefusals.inc({ reason: 'defect' });
    rareLog('defect', () => log.error({ err: error }, 'MQTT rule failed'));
    return error instanceof Error ? error : new Error(String(error));
  }

  function claim(client: Client, packet: ConnectPacket): undefined {
    const session = find(client);
    connectionLimits.spoke(session);
    session.claim = { clientId: packet.clientId, keepaliveS: packet.keepalive ?? 0, will: packet.will };
    packet.clean = true;
    // aedes tells sessions apart by client id alone, which is unique only inside its tenant.
    packet.clientId = packet.username ?? session.address;
    return undefined;
  }

  async function authenticate(
    session: Session,
    username: string | undefined,
    password: Buffer | undefined,
  ): Promise<RefusalReason | undefined> {
    const { address, claim } = session;
    if (claim === undefined || username === undefined || password === undefined) {
      signInLog.add({ via: 'mqtt', address, username, reason: 'no name or password' });
      return 'credentials';
    }
    const stored = logins.find(username)?.secretHash;
    const verdict = await passwordCheck.check({
      address,
      name: username,
      password: password.toString(),
      stored,
    });
    if (verdict.is !== 'right') {
      const reason = stored === undefined ? 'no such name' : 'wrong password';
      signInLog.add({ via: 'mqtt', address, username, reason });
      if (verdict.is === 'later') return 'attempts';
      metrics.authFailures.inc({ via: 'mqtt' });
      return 'credentials';
    }
    const found = logins.find(username);
    // Changed while it was checked: the next attempt is checked against what is stored now.
    if (found?.secretHash !== stored) return 'attempts';
    // Who left meanwhile needs no session.
    if (found === undefined || !sessions.has(session)) return undefined;
    const reason = refusalOfConnect(found.login, claim, session, settings);
    if (reason !== undefined) return reason;
    admit(session, found.login, settings);
    connectionLimits.loggedIn(session);
    latest.set(found.login.username, session);
    return undefined;
  }

  /** Why the client may not come in, as aedes is told it. */
  async function refusalOf(
    client: Client,
    username: string | undefined,
    password: Buffer | undefined,
  ): Promise<(Error & { readonly returnCode: ReturnCode }) | undefined> {
    try {
      const session = find(client);
      const reason = await authenticate(session, username, password);
      if (reason === undefined) return undefined;
      return Object.assign(refuse(session, reason), { returnCode: RETURN_CODES[reason] ?? NOT_AUTHORIZED });
    } catch (error) {
      return Object.assign(faultOf(error), { returnCode: SERVER_UNAVAILABLE });
    }
  }

  function isPublishRefused(client: Client, packet: PublishPacket): Error | null {
    const session = find(client);
    // A will was judged when its client connected.
    if (packet === session.claim?.will) return null;
    const reason = refusalOfPublish(session, packet);
    return reason === undefined ? null : refuse(session, reason);
  }

  function isReading(client: Client): boolean {
    if (client.conn.writableLength <= UNREAD_PACKETS * settings.mqttPacketLimitBytes) return true;
    client.conn.destroy(refuse(find(client), 'slow-reader'));
    return false;
  }

  const hooks: Gatekeeper['hooks'] = {
    preConnect(client, packet, callback) {
      const error = judged(() => claim(client, packet));
      callback(error ?? null, error === undefined);
    },
    authenticate(client, username, password, done) {
      refusalOf(client, username, password)
        .then((error) => (error === undefined ? done(null, true) : done(error, false)))
        .catch(faultOf);
    },
    authorizePublish(client, packet, callback) {
      // Without a client it is a will that the broker had kept.
      callback(client === null ? null : judged(() => isPublishRefused(client, packet)));
    },
    authorizeSubscribe(client, subscription, callback) {
      const granted = judged(() => {
        const session = find(client);
        const reason = refusalOfSubscribe(session, subscription, settings);
        if (reason !== undefined) count(session, reason);
        else session.subscriptions.add(subscription.topic);
        return reason === undefined;
      });
      // Refused with 128 in the SUBACK; the session goes on.
      callback(null, granted === true ? subscription : null);
    },
    authorizeForward: (client, packet) => (judged(() => isReading(client)) === true ? packet : null),
  };

  function consume(packet: PublishPacket, client: Client): void {
    const session = find(client);
    if (packet === session.claim?.will) {
      const newest = session.login && latest.get(session.login.username);
      // The charger is back already: what its lost connection had to say is out of date.
      if (newest !== undefined && newest !== session) return;
    } else if (!session.messages.take(clock.monotonicMs())) {
      const kind = kindUnder(session.prefixes, packet.topic) ?? 'none';
      metrics.mqttMessages.inc({ kind, result: 'limited' });
      return;
    }
    const { payload } = packet;
    onMessage(packet.topic, typeof payload === 'string' ? Buffer.from(payload) : payload);
  }

  logins.onReplaced(() => {
    for (const session of sessions) {
      if (session.login === undefined || logins.isCurrent(session.login)) continue;
      refuse(session, 'revoked');
      session.prefixes = new Set();
      session.client?.close();
    }
  });

  return {
    hooks,
    open({ address, giveWay }) {
      const session: Session = createSession(
        {
          address,
          giveWay() {
            refuse(session, 'pending');
            giveWay();
          },
        },
        settings,
      );
      if (!connectionLimits.open(session)) {
        refuse(session, 'connections');
        return undefined;
      }
      sessions.add(session);
      metrics.mqttConnections.set(sessions.size);
      return session;
    },
    bind(session, client) {
      session.client = client;
      sessionOf.set(client, session);
    },
    close(session) {
      connectionLimits.close(session);
      sessions.delete(session);
      metrics.mqttConnections.set(sessions.size);
      const username = session.login?.username;
      if (username !== undefined && latest.get(username) === session) latest.delete(username);
    },
    takePacket: (session) => session.packets.take(clock.monotonicMs()),
    consume: (packet, client) => void judged(() => consume(packet, client)),
    unsubscribe(topics, client) {
      const session = sessionOf.get(client);
      for (const topic of topics) session?.subscriptions.delete(topic);
    },
    refuse,
    failHandshake(session, error) {
      if (session.isRefused) return;
      session.isRefused = true;
      metrics.mqttRefusals.inc({ reason: 'tls' });
      const { address } = session;
      rareLog(`TLS ${address}`, () =>
        log.warn({ err: error, address }, 'TLS handshake of an MQTT client failed'),
      );
    },
    fail(client, error) {
      const session = sessionOf.get(client);
      if (session === undefined || session.isRefused) return;
      metrics.mqttRefusals.inc({ reason: 'connection' });
      const source = session.login?.username ?? session.address;
      rareLog(source, () => log.warn({ err: error, source }, 'MQTT connection failed'));
    },
  };
}
