// One connection of a virtual OCPP charger at the gateway: the production session between two simulated wires.
import type { ChargerBridge, ChargerSocket } from '../../src/gateway/charger-bridge.js';
import { TIME_WAITS_MS } from '../../src/gateway/charger-calls.js';
import { answerCall } from '../../src/gateway/dialect.js';
import type { ChargerUplink, LastWill } from '../../src/gateway/uplink.js';
import type { Clock } from '../../src/ports/clock.js';
import { parseTopic, type Topic } from '../../src/wire/topics.js';
import { type ChargerMessage, publishedMessage } from '../charger/charger-message.js';
import type { OcppProtocol } from '../charger/ocpp-traits.js';
import type { Words } from '../charger/ocpp-words.js';
import type { Wire } from './wire.js';
import type { WorldGateway } from './world-gateway.js';

/** The gateway gives up its call to the charger after this time without an answer. */
const ANSWERED_WITHIN_MS = 15_000;

/** A login at the service whose connection is the charger's wire to the broker. */
class BridgedUplink implements ChargerUplink {
  isEnded = false;
  #isAttached = false;
  readonly #topics = new Map<string, Topic>();
  readonly #options: Pick<GatewaySessionOptions, 'isUplinkUp' | 'setWill' | 'say'>;

  constructor(options: Pick<GatewaySessionOptions, 'isUplinkUp' | 'setWill' | 'say'>) {
    this.#options = options;
  }

  get isListening(): boolean {
    return this.#isAttached && this.#isUp;
  }

  get #isUp(): boolean {
    return !this.isEnded && this.#options.isUplinkUp();
  }

  async attach(): Promise<void> {
    this.#isAttached = true;
  }

  detach(): void {
    this.#isAttached = false;
  }

  setWill({ topic, body }: LastWill): void {
    if (!this.isEnded) this.#options.setWill(publishedMessage(topic, body, this.#read(topic)));
  }

  publish(topic: string, body: object): void {
    if (this.#isUp) this.#options.say(publishedMessage(topic, body, this.#read(topic)));
  }

  /** Caches parsed topics: a charger has few topics, and sends many messages on each. */
  #read(topic: string): Topic | undefined {
    const known = this.#topics.get(topic);
    if (known !== undefined) return known;
    const read = parseTopic(topic);
    if (read !== undefined) this.#topics.set(topic, read);
    return read;
  }
}

export interface GatewaySessionOptions {
  readonly gateway: WorldGateway;
  readonly bridge: ChargerBridge;
  readonly protocol: OcppProtocol;
  /** Clock of the gateway's present life. */
  readonly clock: Clock;
  readonly line: Wire;
  readonly isUplinkUp: () => boolean;
  readonly say: (message: ChargerMessage) => void;
  /** The broker publishes `will` if the connection breaks. */
  readonly setWill: (will: ChargerMessage) => void;
  /** Hands over a call that reached the charger, and returns the charger's answer. */
  readonly answer: (method: string, params: object) => unknown;
  /** The gateway gives up the connection. */
  readonly onOver: () => void;
  /** Completes all pending promises before virtual time goes on. */
  readonly settle: () => void;
}

export class GatewaySession {
  readonly bridge: ChargerBridge;
  readonly #options: GatewaySessionOptions;
  readonly #uplink: BridgedUplink;
  readonly #socket: ChargerSocket;
  #isPongDue = false;
  #isOver = false;

  constructor(options: GatewaySessionOptions) {
    const { gateway, bridge, protocol, onOver } = options;
    this.#options = options;
    this.bridge = bridge;
    this.#uplink = new BridgedUplink(options);
    this.#socket = {
      dialect: gateway.dialectOf(bridge, protocol),
      call: (method, params) => this.#call(method, params),
      close: onOver,
    };
  }

  get isListening(): boolean {
    return this.#uplink.isListening;
  }

  begin(): void {
    void this.bridge.open(this.#socket, this.#uplink);
    this.#ping();
  }

  /** Another connection with the same name replaced this one at the broker. */
  loseUplink(): void {
    this.#uplink.isEnded = true;
  }

  end(): void {
    this.#isOver = true;
    this.bridge.close(this.#socket);
    this.#uplink.isEnded = true;
  }

  /** Handles a charger's call that reached the gateway, and sends the answer back. */
  receive([method, params]: Words, back: (answer: object | undefined) => void): void {
    const { clock, line, settle } = this.#options;
    const reply = (answer: object | undefined) => {
      if (!this.#isOver) line.travelDown({ arrive: () => back(answer) });
    };
    answerCall(this.#socket.dialect, method, params).then(reply, () => reply(undefined));
    settle();
    // A Heartbeat may wait for the service, and a timer then answers it.
    if (method === 'Heartbeat') clock.after(TIME_WAITS_MS, settle);
  }

  /** If no pong arrives before the next ping, the charger is gone. */
  #ping(): void {
    const { clock, line, onOver } = this.#options;
    clock.after(this.bridge.heartbeatMs, () => {
      if (this.#isOver) return;
      if (this.#isPongDue) {
        onOver();
        return;
      }
      this.#isPongDue = true;
      const arrive = () => {
        this.#isPongDue = false;
        if (!this.#isOver) this.bridge.session.received(clock.monotonicMs());
      };
      line.travelDown({ arrive: () => void line.travelUp({ arrive }) });
      this.#ping();
    });
  }

  #call(method: string, params: object): Promise<unknown> {
    const { clock, line, answer, settle } = this.#options;
    return new Promise((resolve, reject) => {
      const cancel = clock.after(ANSWERED_WITHIN_MS, () => {
        reject(new Error('no answer came'));
        settle();
      });
      const arrive = () => {
        const answered = answer(method, params);
        const come = () => {
          cancel();
          resolve(answered);
          settle();
        };
        line.travelUp({ arrive: come });
      };
      line.travelDown({ arrive });
    });
  }
}
