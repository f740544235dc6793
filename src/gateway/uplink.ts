// A login of chargers at the service, over MQTT: the charger's own or, for chargers with certificates, a gateway's.
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
  /** Milliseconds between attempts; at random, so that not all come back as one. */
  readonly reconnectMs: number;
  readonly clock: Clock;
}

/** What the service says to one charger. */
export interface UplinkReceiver {
  limit(connectorId: ConnectorId, limit: LimitMessage): void;
  sync(): void;
  /** Its topics are subscribed, for the first time or again. */
  listening(): void;
  /** The service no longer takes this login. */
  refused(): void;
}

/** A login as a charger's session uses it. */
export interface ChargerUplink {
  /** Every topic of every charger on it is subscribed. */
  readonly isListening: boolean;
  /** Hears and speaks for this charger from now on; where the service has refused the login since it was opened, that is what it hears. */
  attach(
    address: ChargerAddress,
    connectors: readonly ConnectorId[],
    receiver: UplinkReceiver,
  ): Promise<void>;
  detach(address: ChargerAddress): void;
  /**
   * The broker is to say this from now on, should the connection break. A last will is said at a login: where it is another than
   * before, it leaves in order, so that nobody speaks the one of before, and logs in anew; `listening` follows. A login of several
   * chargers has none.
   */
  setWill(will: LastWill): void;
  /** Drops it where there is no connection: by the time there is one it would be out of date. */
  publish(topic: string, body: object, options: { readonly qos: 0 | 1; readonly retain: boolean }): void;
}

/** What the broker is to say for a charger should its connection break. */
export interface LastWill {
  readonly topic: string;
  readonly body: object;
}

/** Why a login failed. `password`: it is wrong. `attempts`: it was not checked, after too many wrong ones. `unreachable`: no answer. */
export type LoginFailure = 'password' | 'attempts' | 'unreachable';

interface Attached {
  readonly topics: readonly string[];
  readonly receiver: UplinkReceiver;
}

const KEEPALIVE_S = 30;
const CONNECT_TIMEOUT_MS = 5_000;
/** A connection that does not end in order by then is broken off. */
const LEAVES_WITHIN_MS = 5_000;
/** CONNACK: identifier rejected, bad user name or password, not authorized. */
const REFUSED = [2, 4, 5];
/** CONNACK: server unavailable, which is also the service's answer above its limit of wrong passwords. */
const UNAVAILABLE = 3;

export class Uplink implements ChargerUplink {
  readonly #login: UplinkLogin;
  readonly #attached = new Map<string, Attached>();
  #client: MqttClient;
  #will: LastWill | undefined;
  /** Until it is over, the login before a new one is being left. */
  #leaving: Promise<void> | undefined;
  #isListening = false;
  #isRefused = false;
  #ended: Promise<void> | undefined;

  /** @param will spoken by the broker should this connection break */
  constructor(login: UplinkLogin, will: LastWill | undefined) {
    this.#login = login;
    this.#will = will;
    this.#client = this.#connect();
  }

  get isListening(): boolean {
    return this.#isListening;
  }

  /** It was taken before, and is taken no longer: it does not try again. */
  get isRefused(): boolean {
    return this.#isRefused;
  }

  /** Resolves with undefined once the service took the login. */
  async opened(): Promise<LoginFailure | undefined> {
    const failure = await new Promise<LoginFailure | undefined>((resolve) => {
      this.#client.once('connect', () => resolve(undefined));
      this.#client.once('error', (error) => resolve(failureOf(error)));
      this.#client.once('close', () => resolve('unreachable'));
    });
    // From here on a failure is one of an established login.
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

  /** Logs out for good. Resolves once the connection is closed, which takes 5 s at the most. */
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
      // The library takes every refusal for the last word; a server that is unavailable for a while does not mean it so.
      reconnectOnConnackError: true,
      resubscribe: false,
      queueQoSZero: false,
      // Else the library keeps a buffer of its own for each of 65,536 numbers: 6 MB.
      writeCache: false,
      // Else it makes an array of what it would log, several times for each message.
      log: () => {},
      ...(ca === undefined ? {} : { ca }),
      ...(this.#will === undefined ? {} : { will: packetOf(this.#will) }),
    });
    client.on('message', (topic, payload) => this.#heard(topic, payload));
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

  /** One login after the other: a second one would end the first out of order, and the broker speak its will. */
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

  /** The service will not take this login the next time either. */
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

  #heard(topic: string, payload: Buffer): void {
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
  // A connection that is gone by then subscribes anew when it is back.
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
