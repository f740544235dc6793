// One connection to the embedded broker, with the contract's rules for it.
import type { Client, ConnectPacket } from 'aedes';
import type { Cancel } from '../../ports/clock.js';
import type { MqttLogin, SiblingEntry, Siblings, TopicMemo } from '../../ports/telemetry.js';
import { createTokenBucket, type TokenBucket } from '../../token-bucket.js';
import { DISCOVERY, directionOf, kindUnder } from '../../wire/topics.js';
import type { Connection } from './connection-limits.js';

/** Settings of the same names. Rates, bursts and subscriptions are those of one charger. */
export interface SessionLimits {
  readonly mqttKeepaliveMaxS: number;
  readonly mqttMessagesPerS: number;
  readonly mqttMessageBurst: number;
  readonly mqttSubscriptions: number;
}

/** Refusals of the broker, as counted. */
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

// A charger above its rate loses messages. Above this multiple of the rate it loses its connection.
const FLOOD = 50;

/** Fields of a CONNECT before its authentication. */
export interface Claim {
  readonly clientId: string;
  readonly keepaliveS: number;
  readonly will: ConnectPacket['will'];
}

interface Published {
  readonly isState: boolean;
  /** Undefined if the session has too many topics. */
  readonly memo: TopicMemo | undefined;
}

// A charger may name connectors that do not exist.
const PUBLISHED_EACH = 32;

/** Subscriptions of a reader. Those with a wildcard are matched level by level. */
interface Filters {
  readonly exact: Set<string>;
  readonly wildcards: Map<string, readonly string[]>;
}

export interface Session extends Connection {
  /** Names in the client's certificate; undefined if none is required. */
  certificateNames: ReadonlySet<string> | undefined;
  client: Client | undefined;
  claim: Claim | undefined;
  login: MqttLogin | undefined;
  prefixes: ReadonlySet<string>;
  /** Topics to which it has published; it may do so again. */
  readonly published: Map<string, Published>;
  /** Granted QoS of each topic. */
  readonly subscriptions: Map<string, 0 | 1>;
  /** Begins of the topics that a reader may receive; none for others. */
  reads: readonly string[];
  readonly filters: Filters;
  /** Filters of a reader whose retained messages it does not have yet. */
  readonly asked: Set<string>;
  /** Topics to send to a reader, `true` for a retained message. */
  readonly due: Map<string, boolean>;
  isDraining: boolean;
  /** Of the newest message to it. */
  packetId: number;
  /** Time of its newest packet, monotonic ms. */
  spokeAtMs: number;
  /** Cuts the connection if the client stays silent, or does not read. */
  cancelKeepalive: Cancel;
  cancelDrain: Cancel;
  messages: TokenBucket;
  packets: TokenBucket;
  /** The broker ended it: resulting errors are not counted again. */
  isRefused: boolean;
  /** The last will is out of date: the charger is connected elsewhere, or may be. */
  isWillVoid: boolean;
  /** The session's entry at the other brokers, if there are any. */
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
    published: new Map(),
    subscriptions: new Map(),
    reads: [],
    filters: { exact: new Set(), wildcards: new Map() },
    asked: new Set(),
    due: new Map(),
    isDraining: false,
    packetId: 0,
    spokeAtMs: 0,
    cancelKeepalive() {},
    cancelDrain() {},
    ...bucketsOf(limits, 1),
    isRefused: false,
    isWillVoid: false,
    entry: undefined,
  };
}

/** From now on the session speaks for the login's chargers. A gateway has for each charger the charger's own rights. */
export function admit(session: Session, login: MqttLogin, limits: SessionLimits): void {
  session.login = login;
  session.prefixes = new Set(login.prefixes);
  session.reads = login.reads;
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

/** The client's certificate, if one is required, names the user or the client id of `login`. */
export function isNamedByCertificate(
  login: MqttLogin,
  { certificateNames }: Pick<Session, 'certificateNames'>,
): boolean {
  if (certificateNames === undefined) return true;
  return certificateNames.has(login.username) || certificateNames.has(login.clientId);
}

/** undefined if the client may connect as `login`. */
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
  if (will === undefined || isBirth(login, will.topic)) return undefined;
  const isOwnState = kindUnder(new Set(login.prefixes), will.topic) === 'state';
  return isOwnState && will.qos !== 2 ? undefined : 'will';
}

/**
 * Home Assistant announces its begin and its end by default, and a refusal would cut it: the broker drops these messages
 * of a reader.
 */
export function isBirth({ reads }: Pick<MqttLogin, 'reads'>, topic: string): boolean {
  return reads.length > 0 && topic === `${DISCOVERY}/status`;
}

/** The topic as published, or the reason that the session may not publish this. */
export function judgePublish(
  session: Session,
  message: { readonly topic: string; readonly qos: number; readonly retain: boolean },
): Published | RefusalReason {
  const published = session.published.get(message.topic) ?? publishedOf(session, message.topic);
  if (published === undefined) return 'topic';
  if (message.qos === 2) return 'qos';
  return message.retain && !published.isState ? 'retain' : published;
}

function publishedOf({ published, prefixes }: Session, topic: string): Published | undefined {
  const kind = kindUnder(prefixes, topic);
  if (kind === undefined || directionOf(kind) !== 'toService') return undefined;
  const isKept = published.size < PUBLISHED_EACH * prefixes.size;
  const added: Published = { isState: kind === 'state', memo: isKept ? {} : undefined };
  if (isKept) published.set(topic, added);
  return added;
}

/** undefined if the session may subscribe to this. */
export function refusalOfSubscribe(
  session: Session,
  subscription: { readonly topic: string; readonly qos: number },
  limits: SessionLimits,
): RefusalReason | undefined {
  if (session.reads.length > 0)
    return subscription.qos === 2 ? 'qos' : refusalOfFilter(session, subscription.topic);
  const kind = kindUnder(session.prefixes, subscription.topic);
  if (kind === undefined || directionOf(kind) !== 'toCharger') return 'topic';
  if (subscription.qos === 2) return 'qos';
  const { subscriptions, prefixes } = session;
  const isFull = subscriptions.size >= limits.mqttSubscriptions * prefixes.size;
  return isFull && !subscriptions.has(subscription.topic) ? 'subscriptions' : undefined;
}

/** Home Assistant subscribes to each topic of a state, and to each kind of its entities by wildcards. */
const FILTERS = 1_000;
const WILDCARDS = 128;
/** Identifiers are bounded: no topic of a location is longer. */
const LONGEST_FILTER = 2_000;

/** A reader subscribes below its own topics, and to discovery, of which it receives its own location's alone. */
function refusalOfFilter({ reads, filters }: Session, topic: string): RefusalReason | undefined {
  const { exact, wildcards } = filters;
  const isOwn = reads.some((prefix) => topic.startsWith(`${prefix}/`));
  if (topic.length > LONGEST_FILTER || !(isOwn || topic.startsWith(`${DISCOVERY}/`))) return 'topic';
  const isFull = exact.size + wildcards.size >= FILTERS || (isWildcard(topic) && wildcards.size >= WILDCARDS);
  return isFull && !exact.has(topic) && !wildcards.has(topic) ? 'subscriptions' : undefined;
}

export function isWildcard(filter: string): boolean {
  return filter.includes('+') || filter.includes('#');
}

// Tracks the newest connection of each client, at this broker or at
// another one: last wills of older ones are out of date.

/** Reason to end a session that is not its client's newest, or may not be. */
type Ending = 'elsewhere' | 'bus';

export class NewestSessions {
  readonly #siblings: Siblings | undefined;
  /** Sessions of each client, oldest first. A session that ends before its login leaves the earlier ones in place. */
  readonly #sessions = new Map<string, Session[]>();
  readonly #onWill: (topic: string, payload: Buffer) => void;

  constructor({
    siblings,
    end,
    onWill,
  }: {
    readonly siblings: Siblings | undefined;
    /** Ends a session whose will is void from now on. */
    readonly end: (session: Session, why: Ending) => void;
    /** Receives the wills if there are no other brokers. */
    readonly onWill: (topic: string, payload: Buffer) => void;
  }) {
    this.#siblings = siblings;
    this.#onWill = onWill;
    const endVoid = (session: Session, why: Ending) => {
      session.isWillVoid = true;
      end(session, why);
    };
    siblings?.onElsewhere((username) => {
      for (const session of [...(this.#sessions.get(username) ?? [])]) endVoid(session, 'elsewhere');
    });
    // Clients of this broker may have logged in elsewhere meanwhile. The others connect again and report their state.
    siblings?.onLost(() => {
      for (const session of [...this.#sessions.values()].flat()) endVoid(session, 'bus');
    });
  }

  /** Clients may log in: the other brokers can be informed. */
  get isOpen(): boolean {
    return this.#siblings?.isHealthy() ?? true;
  }

  /**
   * The session has logged in, and is its client's newest.
   * @returns true once the other brokers will receive this before any later login
   * of the client; false if they cannot be informed
   */
  async enter(session: Session): Promise<boolean> {
    const { login } = session;
    if (login === undefined) throw new Error('a session that has not logged in');
    if (this.#siblings !== undefined) {
      session.entry = this.#siblings.enter(login);
      if (session.entry === undefined) return false;
    }
    this.#sessions.set(login.username, [...(this.#sessions.get(login.username) ?? []), session]);
    return this.#siblings === undefined || this.#siblings.settled();
  }

  /** The connection of the session has ended. */
  leave(session: Session): void {
    session.entry?.leave();
    const username = session.login?.username;
    if (username === undefined) return;
    const forget = () => {
      const others = this.#sessions.get(username)?.filter((each) => each !== session) ?? [];
      if (others.length > 0) this.#sessions.set(username, others);
      else this.#sessions.delete(username);
    };
    // The will may be void until all logins elsewhere have arrived here.
    if (this.#siblings === undefined) forget();
    else void this.#siblings.settled().then(forget);
  }

  /** Passes the will on, unless the client is connected again, here or elsewhere: then the will is out of date. */
  sayWill(session: Session, topic: string, payload: Buffer): void {
    const isNewest = () => {
      const newest = session.login && this.#sessions.get(session.login.username)?.at(-1);
      return !session.isWillVoid && (newest === undefined || newest === session);
    };
    if (this.#siblings === undefined) {
      if (isNewest()) this.#onWill(topic, payload);
      return;
    }
    // A will that is known to be void here is not sent. The service judges the others.
    void this.#siblings
      .settled()
      .then((isSure) => isSure && isNewest() && session.entry?.sayWill(topic, payload));
  }
}
