// A front's connection to NATS: messages of its chargers go to the nodes, and the nodes' messages to the
// chargers. Fronts announce logins to each other.
import { randomUUID } from 'node:crypto';
import type { Log } from '../../ports/log.js';
import type { MessageBus, MqttLogin, SiblingEntry, Siblings } from '../../ports/telemetry.js';
import { createRareLog, type RareLog } from '../../rare-log.js';
import {
  downFilterOf,
  type LoginMessage,
  loginFilterOf,
  loginSchema,
  loginSubjectOf,
  parseBusMessage,
  topicOfSubject,
  upSubjectOf,
  type WillMessage,
  willSubjectOf,
} from '../../wire/bus.js';
import { readPrefixIn } from '../../wire/topics.js';
import { LoginOrder } from './login-order.js';
import { type BusLink, type LinkOptions, NatsLink } from './nats-link.js';

type How = Parameters<MessageBus['publish']>[2];
type OnMessage = (topic: string, payload: Buffer, how: How) => void;

/** Limits and sync requests. */
const TO_CHARGERS: How = { qos: 1, retain: false };
const TO_READERS: How = { qos: 0, retain: true };

/** A prefix of chargers at this front, with the number of connections for it. */
interface Heard {
  connections: number;
  readonly unsubscribe: () => void;
}

export class FrontBus implements Siblings {
  readonly #link: BusLink;
  readonly #log: Log;
  readonly #rareLog: RareLog;
  readonly #frontId = randomUUID();
  #onMessage: OnMessage = () => {};
  #onElsewhere: (username: string) => void = () => {};
  #onLost: () => void = () => {};
  readonly #received = new Map<string, Heard>();
  #logins = 0;
  /**
   * Newest login of each name that this front has announced and not yet
   * received back. Logins received meanwhile are older.
   */
  readonly #told = new Map<string, number>();
  readonly #order = new LoginOrder();

  constructor(options: LinkOptions, link: BusLink = new NatsLink(options)) {
    this.#link = link;
    this.#log = options.log;
    this.#rareLog = createRareLog(options.clock);
  }

  /**
   * Begins to pass on messages for chargers of this front. Resolves after the first attempt to connect, good or bad.
   */
  start(onMessage: OnMessage): Promise<void> {
    this.#onMessage = onMessage;
    return this.#link.start({
      onConnected: () =>
        void this.#link.subscribe(loginFilterOf(), (_, payload) => this.#receiveLogin(payload)),
      onLost: () => {
        this.#told.clear();
        this.#order.forget();
        this.#received.clear();
        this.#onLost();
      },
    });
  }

  /** Sends a charger's message to the node of its tenant; drops it without a connection. */
  send(topic: string, payload: Buffer): void {
    this.#link.publish(upSubjectOf(topic), payload);
  }

  isHealthy(): boolean {
    return this.#link.isConnected;
  }

  stop(): Promise<void> {
    this.#onMessage = () => {};
    this.#onLost = () => {};
    return this.#link.stop();
  }

  enter({ tenantUuid, username, prefixes, reads }: MqttLogin): SiblingEntry | undefined {
    const [live] = reads;
    const message: LoginMessage = { front: this.#frontId, login: ++this.#logins, username, reads: live };
    if (!this.#link.publish(loginSubjectOf(tenantUuid), JSON.stringify(message))) return undefined;
    this.#told.set(username, message.login);
    const leave = [...prefixes, ...reads].map((prefix) => this.#receive(prefix));
    return {
      leave() {
        for (const each of leave) each();
      },
      sayWill: (topic, payload) => {
        const will: WillMessage = { ...message, topic, payload: payload.toString() };
        this.#link.publish(willSubjectOf(tenantUuid), JSON.stringify(will));
      },
    };
  }

  settled(): Promise<boolean> {
    return this.#link.settled();
  }

  onElsewhere(listener: (username: string) => void): void {
    this.#onElsewhere = listener;
  }

  onLost(listener: () => void): void {
    this.#onLost = listener;
  }

  /** The subscription lasts until every caller has called the function that it got. */
  #receive(prefix: string): () => void {
    const received = this.#received.get(prefix) ?? { connections: 0, unsubscribe: this.#subscribe(prefix) };
    received.connections++;
    this.#received.set(prefix, received);
    return () => {
      received.connections--;
      if (received.connections > 0) return;
      received.unsubscribe();
      // After a loss another entry may be there.
      if (this.#received.get(prefix) === received) this.#received.delete(prefix);
    };
  }

  #subscribe(prefix: string): () => void {
    const how = readPrefixIn(`${prefix}/`) === prefix ? TO_READERS : TO_CHARGERS;
    return this.#link.subscribe(downFilterOf(prefix), (subject, payload) =>
      this.#onMessage(topicOfSubject(subject), payload, how),
    );
  }

  /** NATS delivers all logins to all fronts in the same order, their own included. So all agree on the newer of two. */
  #receiveLogin(payload: Buffer): void {
    let told: LoginMessage;
    try {
      told = parseBusMessage(loginSchema, payload);
    } catch (error) {
      this.#rareLog('login', () => this.#log.warn({ err: error }, 'a login of another front cannot be read'));
      return;
    }
    const { front, login, username } = told;
    if (!this.#order.isNew(told)) return;
    if (front === this.#frontId) {
      if (this.#told.get(username) === login) this.#told.delete(username);
    } else if (!this.#told.has(username)) {
      this.#onElsewhere(username);
    }
  }
}
