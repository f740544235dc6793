// A virtual charger that speaks OCPP over a real web socket, in real time.
import { type IHandlersOption, RPCClient } from 'ocpp-rpc';
import type { Cancel, Clock } from '../../src/ports/clock.js';
import { OcppDevice } from './ocpp-device.js';
import type { OcppBehaviour, OcppProtocol } from './ocpp-traits.js';
import type { Traffic } from './traffic.js';
import type { VirtualConnectorSpec } from './virtual-connector.js';

export interface OcppChargerOptions {
  /** Such as `ws://127.0.0.1:9000/ocpp`. */
  readonly url: string;
  readonly controllerUuid: string;
  readonly password: string;
  readonly connector: VirtualConnectorSpec;
  /** Each at an EVSE of its own, numbered from 2. */
  readonly otherConnectors?: readonly VirtualConnectorSpec[];
  readonly seed: number;
  readonly protocol?: OcppProtocol;
  readonly traffic: Traffic;
  readonly clock: Clock;
  /** What its clock is ahead of the host's. */
  readonly aheadMs?: number;
  readonly behaviours?: readonly OcppBehaviour[];
}

const RECONNECT = { initialDelay: 1000, maxDelay: 3000, factor: 1.5, randomisationFactor: 0.5 };
const LONGEST_SLEEP_MS = 1000;
const SHORTEST_SLEEP_MS = 20;
const FIRST_EVSE = 1;

export class OcppCharger {
  readonly #options: OcppChargerOptions;
  readonly #client: RPCClient;
  readonly #device: OcppDevice;
  #cancelWake: Cancel = () => {};
  /** How often it was connected: what comes of a call of before is not heard. */
  #connections = 0;
  #isStopped = false;

  constructor(options: OcppChargerOptions) {
    this.#options = options;
    const { url, controllerUuid, password, connector, traffic, clock, aheadMs = 0 } = options;
    const { protocol = 'ocpp1.6', behaviours = [], otherConnectors = [] } = options;
    this.#device = new OcppDevice({
      controllerUuid,
      visitors: traffic,
      seed: options.seed,
      isInstalled: false,
      connectors: [connector, ...otherConnectors].map((spec, i) => ({ ...spec, evse: FIRST_EVSE + i })),
      startsAtMs: clock.monotonicMs(),
      ownMs: clock.nowMs() + aheadMs,
      traits: { protocol, behaviours },
    });
    this.#client = new RPCClient({
      ...OTHERWISE,
      endpoint: url,
      identity: controllerUuid,
      password,
      protocols: [protocol],
      // What the library has of 2.1 it cannot check: the gateway does, both ways.
      strictMode: protocol !== 'ocpp2.1',
      backoff: RECONNECT,
    });
    this.#client.handle(async ({ method = '', params = {} }: IHandlersOption) => {
      const answer = this.#device.answer(method, params, clock.monotonicMs());
      // What it says by itself must not overtake its answer.
      clock.after(0, () => this.#wake());
      return answer;
    });
    this.#client.on('open', () => {
      this.#connections++;
      this.#device.connected(clock.monotonicMs());
      this.#wake();
    });
    this.#client.on('disconnect', () => this.#device.disconnected());
    this.#client.on('close', () => this.#device.disconnected());
  }

  /** What it may draw now, A per phase. */
  get limitA(): number {
    return this.limitAt(this.#options.clock.monotonicMs());
  }

  /** What it may draw at an instant of the monotonic clock by the profiles that it has now, A per phase. */
  limitAt(monotonicMs: number): number {
    return this.#evse.mayDrawA(monotonicMs);
  }

  /** What truly flows, A per phase. */
  get drawnA(): number {
    return this.#evse.outlet.drawnA;
  }

  get isConnected(): boolean {
    return this.#client.state === RPCClient.OPEN;
  }

  /** Connects, and again whenever the connection is lost. */
  start(): void {
    const connect = (): void => {
      if (this.#isStopped) return;
      // Nobody is there yet, or it is not let in yet: it tries again, as chargers do.
      this.#client.connect().catch(() => this.#options.clock.after(RECONNECT.initialDelay, connect));
    };
    connect();
    this.#wake();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancelWake();
    await this.#client.close({ code: 1000, reason: 'Stopped', force: true });
  }

  get #evse() {
    const [evse] = this.#device.evses;
    if (evse === undefined) throw new Error('a charger without an EVSE');
    return evse;
  }

  #wake(): void {
    if (this.#isStopped) return;
    const { clock } = this.#options;
    const nowMs = clock.monotonicMs();
    this.#cancelWake();
    this.#device.advance(nowMs);
    if (this.isConnected) this.#say(nowMs);
    const sleepMs = Math.min(LONGEST_SLEEP_MS, this.#device.nextDueMs(nowMs) - nowMs);
    this.#cancelWake = clock.after(Math.max(SHORTEST_SLEEP_MS, Math.ceil(sleepMs)), () => this.#wake());
  }

  #say(nowMs: number): void {
    const call = this.#device.takeCall(nowMs);
    if (call === undefined) return;
    const [method, params] = call;
    const connection = this.#connections;
    this.#client.call(method, params).then(
      (answer) => {
        if (connection !== this.#connections) return;
        this.#device.answered(answer, this.#options.clock.monotonicMs());
        this.#wake();
      },
      () => {
        if (connection === this.#connections) this.#device.failed();
      },
    );
  }
}

/** The library asks for every option, and has a default for each. */
const OTHERWISE = {
  reconnect: true,
  callTimeoutMs: 15_000,
  pingIntervalMs: 30_000,
  deferPingsOnActivity: false,
  respondWithDetailedErrors: false,
  callConcurrency: 1,
  strictModeValidators: [],
  maxBadMessages: 100,
  wsOpts: {},
  headers: {},
  maxReconnects: Number.POSITIVE_INFINITY,
};
