// A virtual OCPP charger on a real WebSocket, in real time.
import { type IHandlersOption, RPCClient } from 'ocpp-rpc';
import type { Cancel, Clock } from '../../src/ports/clock.js';
import { OcppDevice } from './ocpp-device.js';
import type { Traffic } from './traffic.js';
import type { OcppBehaviour, OcppProtocol } from './traits.js';
import type { VirtualConnectorSpec } from './virtual-connector.js';

export interface OcppChargerOptions {
  /** For example `ws://127.0.0.1:9000/ocpp`. */
  readonly url: string;
  readonly controllerUuid: string;
  readonly password: string;
  readonly connector: VirtualConnectorSpec;
  /** Each has an EVSE of its own, numbered from 2. */
  readonly otherConnectors?: readonly VirtualConnectorSpec[];
  readonly seed: number;
  readonly protocol?: OcppProtocol;
  readonly traffic: Traffic;
  readonly clock: Clock;
  /** Lead of its clock over the host's clock. */
  readonly aheadMs?: number;
  readonly behaviours?: readonly OcppBehaviour[];
  /** Shortest and longest time before it connects again, ms; each may vary by half. */
  readonly reconnectMs?: readonly [number, number];
}

const RECONNECT_MS = [1000, 3000] as const;
const LONGEST_SLEEP_MS = 1000;
const SHORTEST_SLEEP_MS = 20;
const FIRST_EVSE = 1;

export class OcppCharger {
  readonly #options: OcppChargerOptions;
  readonly #client: RPCClient;
  readonly #device: OcppDevice;
  #cancelWake: Cancel = () => {};
  /** Number of connections so far: answers to calls of an earlier connection are ignored. */
  #connections = 0;
  #isStopped = false;

  constructor(options: OcppChargerOptions) {
    this.#options = options;
    const { url, controllerUuid, password, connector, traffic, clock, aheadMs = 0 } = options;
    const [initialDelay, maxDelay] = options.reconnectMs ?? RECONNECT_MS;
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
      // The library cannot check the part of OCPP 2.1 that it has. The gateway checks 2.1 in both directions.
      strictMode: protocol !== 'ocpp2.1',
      backoff: { initialDelay, maxDelay, factor: 1.5, randomisationFactor: 0.5 },
    });
    this.#client.handle(async ({ method = '', params = {} }: IHandlersOption) => {
      const answer = this.#device.answer(method, params, clock.monotonicMs());
      // The charger's own calls must not overtake its answer.
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

  /** Limit of its profiles now, A per phase. */
  get limitA(): number {
    return this.limitAt(this.#options.clock.monotonicMs());
  }

  /** Limit at an instant of the monotonic clock by the profiles that it has now, A per phase. */
  limitAt(monotonicMs: number): number {
    return this.#evse.mayDrawA(monotonicMs);
  }

  /** Physical current, A per phase. */
  get drawnA(): number {
    return this.#evse.outlet.drawnA;
  }

  get isConnected(): boolean {
    return this.#client.state === RPCClient.OPEN;
  }

  /** Connects, and reconnects after each loss of the connection. */
  start(): void {
    const connect = (): void => {
      if (this.#isStopped) return;
      // The server may be absent or may still refuse the charger, so the charger retries, as real chargers do.
      this.#client
        .connect()
        .catch(() => this.#options.clock.after(this.#options.reconnectMs?.[0] ?? RECONNECT_MS[0], connect));
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

/** The library requires every option, and has a default for each. */
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
