// One connection to the embedded broker: who it is, and what the contract lets it do.
import type { Client, ConnectPacket } from 'aedes';
import type { MqttLogin, SiblingEntry } from '../../ports/telemetry.js';
import { createTokenBucket, type TokenBucket } from '../../token-bucket.js';
import { directionOf, kindUnder } from '../../wire/topics.js';
import type { Connection } from './connection-limits.js';

/** Settings of the same names. Rates, bursts and subscriptions are those of one charger. */
export interface SessionLimits {
  readonly mqttKeepaliveMaxS: number;
  readonly mqttMessagesPerS: number;
  readonly mqttMessageBurst: number;
  readonly mqttSubscriptions: number;
}

/** What the broker refuses, as counted. */
export type RefusalReason =
  | 'connections'
  | 'pending'
  | 'tls'
  | 'certificate'
  | 'credentials'
  | 'attempts'
  | 'client-id'
  | 'keepalive'
  | 'will'
  | 'topic'
  | 'retain'
  | 'qos'
  | 'subscriptions'
  | 'revoked'
  | 'slow-reader'
  | 'bus'
  | 'elsewhere';

// A charger that sends more than it may loses messages; one that sends this many times more loses its connection.
const FLOOD = 50;

/** What a client asked for in its CONNECT, before it is known who it is. */
export interface Claim {
  readonly clientId: string;
  readonly keepaliveS: number;
  readonly will: ConnectPacket['will'];
}

export interface Session extends Connection {
  /** Whom its certificate names; undefined where none is asked for. */
  certificateNames: ReadonlySet<string> | undefined;
  client: Client | undefined;
  claim: Claim | undefined;
  login: MqttLogin | undefined;
  prefixes: ReadonlySet<string>;
  readonly subscriptions: Set<string>;
  messages: TokenBucket;
  packets: TokenBucket;
  /** We ended it: errors that follow from that are not counted again. */
  isRefused: boolean;
  /** Its last will is out of date: the charger is elsewhere, or may be. */
  isWillVoid: boolean;
  /** At the siblings, where there are any. */
  entry: SiblingEntry | undefined;
}

export function createSession(connection: Connection, limits: SessionLimits): Session {
  return {
    address: connection.address,
    giveWay: () => connection.giveWay(),
    certificateNames: undefined,
    client: undefined,
    claim: undefined,
    login: undefined,
    prefixes: new Set(),
    subscriptions: new Set(),
    ...bucketsOf(limits, 1),
    isRefused: false,
    isWillVoid: false,
    entry: undefined,
  };
}

/** From now on the session speaks for the login's chargers; a gateway may do for each what a charger may for itself. */
export function admit(session: Session, login: MqttLogin, limits: SessionLimits): void {
  session.login = login;
  session.prefixes = new Set(login.prefixes);
  Object.assign(session, bucketsOf(limits, Math.max(1, session.prefixes.size)));
}

function bucketsOf(limits: SessionLimits, chargers: number) {
  const ratePerS = limits.mqttMessagesPerS * chargers;
  const burst = limits.mqttMessageBurst * chargers;
  return {
    messages: createTokenBucket({ ratePerS, burst }),
    packets: createTokenBucket({ ratePerS: ratePerS * FLOOD, burst: burst * FLOOD }),
  };
}

/** Whether the client's certificate, where one is asked for, names the user or the client id of `login`. */
export function isNamedByCertificate(
  login: MqttLogin,
  { certificateNames }: Pick<Session, 'certificateNames'>,
): boolean {
  if (certificateNames === undefined) return true;
  return certificateNames.has(login.username) || certificateNames.has(login.clientId);
}

/** Why the client may not connect as `login`, or undefined. */
export function refusalOfConnect(
  login: MqttLogin,
  claim: Claim,
  session: Pick<Session, 'certificateNames'>,
  limits: SessionLimits,
): RefusalReason | undefined {
  if (!isNamedByCertificate(login, session)) return 'certificate';
  // A foreign client id would take over a session.
  if (claim.clientId !== login.clientId) return 'client-id';
  if (claim.keepaliveS === 0 || claim.keepaliveS > limits.mqttKeepaliveMaxS) return 'keepalive';
  const { will } = claim;
  if (will === undefined) return undefined;
  const isOwnState = kindUnder(new Set(login.prefixes), will.topic) === 'state';
  return isOwnState && will.qos !== 2 ? undefined : 'will';
}

/** Why the session may not publish this, or undefined. */
export function refusalOfPublish(
  session: Session,
  message: { readonly topic: string; readonly qos: number; readonly retain: boolean },
): RefusalReason | undefined {
  const kind = kindUnder(session.prefixes, message.topic);
  if (kind === undefined || directionOf(kind) !== 'toService') return 'topic';
  if (message.qos === 2) return 'qos';
  return message.retain && kind !== 'state' ? 'retain' : undefined;
}

/** Why the session may not subscribe to this, or undefined. */
export function refusalOfSubscribe(
  session: Session,
  subscription: { readonly topic: string; readonly qos: number },
  limits: SessionLimits,
): RefusalReason | undefined {
  const kind = kindUnder(session.prefixes, subscription.topic);
  if (kind === undefined || directionOf(kind) !== 'toCharger') return 'topic';
  if (subscription.qos === 2) return 'qos';
  const { subscriptions, prefixes } = session;
  const isFull = subscriptions.size >= limits.mqttSubscriptions * prefixes.size;
  return isFull && !subscriptions.has(subscription.topic) ? 'subscriptions' : undefined;
}
