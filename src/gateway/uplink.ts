// An MQTT login of chargers at the service: the charger's own or, for chargers with certificates, a gateway's.
import { connect, type ErrorWithReasonCode, type MqttClient } from 'mqtt';
import type { ChargerAddress, ConnectorId } from '../../machines/values/ids.js';
import type { Clock } from '../ports/clock.js';
import { type LimitMessage, limitSchema, syncSchema } from '../wire/mqtt.js';
import { buildTopic, parseTopic } from '../wire/topics.js';

export interface UplinkLogin {
  readonly url: string;
  readonly ca: string | undefined;
  readonly clientId: string;
  readonly username: string;
  readonly password: Buffer;
  /** Milliseconds between attempts, random, so that not all logins come back at once. */
  readonly reconnectMs: number;
  readonly clock: Clock;
}

/** Messages of the service to one charger. */
export interface UplinkReceiver {
  limit(connectorId: ConnectorId, limit: LimitMessage): void;
  sync(): void;
  /** The topics are subscribed, for the first time or again. */
  listening(): void;
  /** The service no longer accepts this login. */
  refused(): void;
}

export interface ChargerUplink {
  /** The topics of every charger on this login are subscribed. */
  readonly isListening: boolean;
  /**
   * Sends and receives for this charger from now on. If the service has refused the
   * login meanwhile, `receiver.refused` is called.
   */
  attach(
    address: ChargerAddress,
    connectors: readonly ConnectorId[],
    receiver: UplinkReceiver,
  ): Promise<void>;
  detach(address: ChargerAddress): void;
  /**
   * The broker publishes `will` if the connection breaks. MQTT sets a will only at login. So a changed
   * will ends the connection in order, which publishes no will, and logs in again; `listening`
   * follows. A login of several chargers has no will.
   */
  setWill(will: LastWill): void;
  /** Drops the message without a connection: it would be out of date later. */
  publish(topic: string, body: object, options: { readonly qos: 0 | 1; readonly retain: boolean }): void;
}

export interface LastWill {
  readonly topic: string;
  readonly body: object;
}

/** `password`: it is wrong. `attempts`: not checked after too many wrong passwords. `unreachable`: no answer. */
export type LoginFailure = 'password' | 'attempts' | 'unreachable';

interface Attached {
  readonly topics: readonly string[];
  readonly receiver: UplinkReceiver;
}

const KEEPALIVE_S = 30;
const CONNECT_TIMEOUT_MS = 5_000;
/** A connection that has not ended in order by then is cut off. */
const LEAVES_WITHIN_MS = 5_000;
/** CONNACK: identifier rejected, bad user name or password, not authorized. */
const REFUSED = [2, 4, 5];
/** CONNACK: server unavailable. The service also answers this above its limit of wrong passwords. */
const UNAVAILABLE = 3;

export class Uplink implements ChargerUplink {
  readonly #login: UplinkLogin;
  readonly #attached = new Map<string, Attached>();
  #client: MqttClient;
  #will: LastWill | undefined;
  /** Pending while the login before a new one ends. */
  #leaving: Promise<void> | undefined;
  #isListening = false;
  #isRefused = false;
  #ended: Promise<void> | undefined;

  /** @param will the broker publishes it if this connection breaks */
  constructor(login: UplinkLogin, will: LastWill | undefined) {
    this.#login = login;
    this.#will = will;
    this.#client = this.#connect();
  }

  get isListening(): boolean {
    return this.#isListening;
  }

  /** The service accepted the login before and refuses it now. There is no further attempt. */
  get isRefused(): boolean {
    return this.#isRefused;
  }

  /** Resolves to undefined after the service has accepted the login. */
  async opened(): Promise<LoginFailure | undefined> {
    const failure = await new Promise<LoginFailure | undefined>((resolve) => {
      this.#client.once('connect', () => resolve(undefined));
      this.#client.once('error', (error) => resolve(failureOf(error)));
      this.#client.once('close', () => resolve('unreachable'));
    });
    // A later failure is one of an established login.
    this.#keep(this.#client);
    return failure;
  }

  async attach(
    address: ChargerAddress,
    connectors: readonly ConnectorId[],
    receiver: UplinkReceiver,
  ): Promise<void> {
    const limits = connectors.map((connectorId) => buildTopic({ ...address, kind: 'limit', connectorId }));
    const topics = [buildTopic({ ...address, kind: 'sync' }), ...limits];
    const attached = { topics, receiver };
    this.#attached.set(address.controllerUuid, attached);
    if (this.#isRefused) {
      receiver.refused();
      return;
    }
    const client = this.#client;
    await subscribe(client, attached);
    this.#isListening = this.#isUp(client);
  }

  detach(address: ChargerAddress): void {
    const attached = this.#attached.get(address.controllerUuid);
    this.#attached.delete(address.controllerUuid);
    if (attached !== undefined && this.#isUp(this.#client)) this.#client.unsubscribe([...attached.topics]);
  }

  setWill(will: LastWill): void {
    if (this.#ended !== undefined || this.#will === undefined || isSame(this.#will, will)) return;
    this.#will = will;
    this.#isListening = false;
    this.#leaving ??= this.#logInAnew();
  }

  publish(topic: string, body: object, options: { readonly qos: 0 | 1; readonly retain: boolean }): void {
    if (this.#isUp(this.#client)) this.#client.publish(topic, JSON.stringify(body), options);
  }

  /** Logs out for good. Resolves once the connection is closed, after 5 s at the most. */
  end(): Promise<void> {
    this.#ended ??= this.#leaving ?? this.#leave();
    return this.#ended;
  }

  #isUp(client: MqttClient): boolean {
    return client === this.#client && client.connected && this.#leaving === undefined;
  }

  #connect(): MqttClient {
    const { url, ca, clientId, username, password, reconnectMs } = this.#login;
    const client = connect(url, {
      clientId,
      username,
      password,
      protocolVersion: 4,
      clean: true,
      keepalive: KEEPALIVE_S,
      connectTimeout: CONNECT_TIMEOUT_MS,
      reconnectPeriod: reconnectMs,
      // By default the library treats every refusal as final. An unavailable server is temporary.
      reconnectOnConnackError: true,
      resubscribe: false,
      queueQoSZero: false,
      // The cache of the library takes 6 MB: a buffer for each of 65,536 numbers.
      writeCache: false,
      // The default log function builds an array several times for each message.
      log: () => {},
      ...(ca === undefined ? {} : { ca }),
      ...(this.#will === undefined ? {} : { will: packetOf(this.#will) }),
    });
    client.on('message', (topic, payload) => this.#received(topic, payload));
    client.on('close', () => {
      if (client === this.#client) this.#isListening = false;
    });
    return client;
  }

  #keep(client: MqttClient): void {
    client.on('connect', () => void this.#subscribeAll(client));
    client.on('error', (error) => {
      if (failureOf(error) === 'password') this.#refuse();
    });
  }

  /** Logins do not overlap: a second one would cut off the first, and the broker would publish its will. */
  async #logInAnew(): Promise<void> {
    await this.#leave();
    this.#leaving = undefined;
    if (this.#ended !== undefined) return;
    this.#client = this.#connect();
    this.#keep(this.#client);
  }

  /** Resolves once the connection is closed. */
  async #leave(): Promise<void> {
    const client = this.#client;
    if (!client.connected) {
      client.end(true);
      return;
    }
    await new Promise<void>((resolve) => {
      const cancel = this.#login.clock.after(LEAVES_WITHIN_MS, () => client.stream.destroy());
      client.once('close', () => {
        cancel();
        resolve();
      });
      client.end();
    });
  }

  /** The service would refuse this login the next time too. */
  #refuse(): void {
    this.#isRefused = true;
    this.#client.end(true);
    for (const { receiver } of this.#attached.values()) receiver.refused();
  }

  async #subscribeAll(client: MqttClient): Promise<void> {
    await Promise.all([...this.#attached.values()].map((attached) => subscribe(client, attached)));
    if (!this.#isUp(client)) return;
    this.#isListening = true;
    for (const { receiver } of this.#attached.values()) receiver.listening();
  }

  #received(topic: string, payload: Buffer): void {
    const to = parseTopic(topic);
    const attached = to === undefined ? undefined : this.#attached.get(to.controllerUuid);
    if (to === undefined || attached?.topics.includes(topic) !== true) return;
    const body = parseJson(payload);
    if (to.kind === 'sync' && syncSchema.safeParse(body).success) attached.receiver.sync();
    if (to.kind !== 'limit') return;
    const limit = limitSchema.safeParse(body).data;
    if (limit !== undefined) attached.receiver.limit(to.connectorId, limit);
  }
}

async function subscribe(client: MqttClient, { topics }: Attached): Promise<void> {
  // A connection that is gone by then subscribes again after its next login.
  await client.subscribeAsync([...topics], { qos: 1 }).catch(() => {});
}

function packetOf({ topic, body }: LastWill) {
  return { topic, payload: Buffer.from(JSON.stringify(body)), qos: 1, retain: true } as const;
}

function isSame(one: LastWill, other: LastWill): boolean {
  return packetOf(one).payload.equals(packetOf(other).payload);
}

function failureOf(error: Error | ErrorWithReasonCode): LoginFailure {
  const code = 'code' in error ? Number(error.code) : undefined;
  if (code === UNAVAILABLE) return 'attempts';
  return code !== undefined && REFUSED.includes(code) ? 'password' : 'unreachable';
}

function parseJson(payload: Buffer): unknown {
  try {
    return JSON.parse(payload.toString());
  } catch {
    return undefined;
  }
}
