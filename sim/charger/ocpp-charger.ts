// A virtual charger that speaks OCPP over a real web socket: a connector with cars, a meter, and charging profiles.
import { type IHandlersOption, RPCClient } from 'ocpp-rpc';
import { mersenne } from 'pure-rand/generator/mersenne';
import type { TransactionRef } from '../../machines/session/gateway-request.js';
import type { Cancel, Clock } from '../../src/ports/clock.js';
import type { NextCar } from './car.js';
import { type Device, EVSE, type OcppWords, type SetProfile, type Shown, type Words } from './ocpp-words.js';
import { Ocpp16Words } from './ocpp16-words.js';
import { Ocpp201Words } from './ocpp201-words.js';
import { createOutlet, type Outlet } from './outlet.js';
import { type ProfileFaults, ProfileStore } from './profile-store.js';
import { drawCar, type Traffic } from './traffic.js';
import type { VirtualConnectorSpec } from './virtual-connector.js';

export interface OcppChargerOptions {
  /** Such as `ws://127.0.0.1:9000/ocpp`. */
  readonly url: string;
  readonly controllerUuid: string;
  readonly password: string;
  readonly connector: VirtualConnectorSpec;
  readonly seed: number;
  readonly protocol?: 'ocpp1.6' | 'ocpp2.0.1' | 'ocpp2.1';
  readonly traffic: Traffic;
  readonly clock: Clock;
  /** What its clock is ahead of the host's. */
  readonly aheadMs?: number;
  readonly faults?: Partial<ProfileFaults>;
}

const RECONNECT = { initialDelay: 1000, maxDelay: 3000, factor: 1.5, randomisationFactor: 0.5 };
const LONGEST_SLEEP_MS = 1000;
const SHORTEST_SLEEP_MS = 20;
const CAR_CHARGES = ['Charging', 'SuspendedEV', 'SuspendedEVSE'];

export class OcppCharger {
  readonly #options: OcppChargerOptions;
  readonly #client: RPCClient;
  readonly #store: ProfileStore;
  readonly #outlet: Outlet;
  readonly #slotOfProfile = new Map<number, 'failsafe' | 'default' | 'transaction'>();
  #status = '';
  #words: OcppWords = new Ocpp16Words();
  #transaction: TransactionRef | undefined;
  #hasBooted = false;
  #isStarting = false;
  #meteredAtMs = Number.NEGATIVE_INFINITY;
  #meterEveryMs = 60_000;
  #cancelWake: Cancel = () => {};
  #isStopped = false;

  constructor(options: OcppChargerOptions) {
    this.#options = options;
    const { url, controllerUuid, password, connector, seed, traffic, clock, faults } = options;
    const { protocol = 'ocpp1.6' } = options;
    let transactions = 0;
    if (protocol !== 'ocpp1.6')
      this.#words = new Ocpp201Words(() => `${controllerUuid}-${clock.nowMs()}-${++transactions}`);
    this.#store = new ProfileStore({ losesPeriods: false, ignoresStart: false, ...faults });
    this.#outlet = createOutlet({
      rating: connector,
      startsAtMs: clock.monotonicMs(),
      offeredA: this.limitA,
      nextCar: drawnCars(traffic, seed),
      onCar: () => {},
      overdraw: 1,
      lateMs: undefined,
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
    this.#client.handle(async ({ method = '', params = {} }: IHandlersOption) =>
      this.#words.answer(method, params, this.#device),
    );
    this.#client.on('open', () => void this.#greet().catch(() => {}));
  }

  /** What it may draw now, A per phase. */
  get limitA(): number {
    const { connector } = this.#options;
    const allowed = this.#store.limitAt(this.#ownMs);
    if (allowed === undefined) return connector.maxCurrentA;
    const { unit, limit } = allowed;
    const limitA = unit === 'A' ? limit : limit / (connector.voltageV * connector.phases);
    return Math.min(limitA, connector.maxCurrentA);
  }

  /** What truly flows, A per phase. */
  get drawnA(): number {
    return this.#outlet.drawnA;
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

  get #ownMs(): number {
    const { clock, aheadMs = 0 } = this.#options;
    return clock.nowMs() + aheadMs;
  }

  get #ownTime(): string {
    return new Date(1000 * Math.floor(this.#ownMs / 1000)).toISOString();
  }

  #wake(): void {
    if (this.#isStopped) return;
    const { clock } = this.#options;
    const nowMs = clock.monotonicMs();
    this.#cancelWake();
    this.#outlet.offer(this.limitA, nowMs);
    if (this.isConnected) void this.#report(nowMs).catch(() => {});
    const toChangeMs = this.#store.nextChangeMs(this.#ownMs) - this.#ownMs;
    const sleepMs = Math.min(LONGEST_SLEEP_MS, toChangeMs, this.#outlet.nextDueMs - nowMs);
    this.#cancelWake = clock.after(Math.max(SHORTEST_SLEEP_MS, Math.ceil(sleepMs)), () => this.#wake());
  }

  /** A connection that comes back is no start. */
  async #greet(): Promise<void> {
    if (!this.#hasBooted) await this.#say(this.#words.boot());
    this.#hasBooted = true;
    this.#status = '';
  }

  async #say([method, params]: Words): Promise<unknown> {
    return this.#client.call(method, params);
  }

  get #shown(): Shown {
    const { voltageV, phases: ratedPhases } = this.#options.connector;
    const { status, energyWh, drawnA, phases } = this.#outlet;
    const powerW = drawnA * voltageV * phases;
    return { ownTime: this.#ownTime, status, energyWh, powerW, drawnA, phases, ratedPhases, voltageV };
  }

  /** Says what changed, and its meter values while a transaction runs. */
  async #report(nowMs: number): Promise<void> {
    const { status } = this.#outlet;
    if (status !== this.#status) {
      this.#status = status;
      await this.#tellTransaction(CAR_CHARGES.includes(status));
      await this.#say(this.#words.status(this.#shown));
    }
    if (this.#transaction === undefined || nowMs - this.#meteredAtMs < this.#meterEveryMs) return;
    this.#meteredAtMs = nowMs;
    await this.#say(this.#words.values(this.#transaction, this.#shown));
  }

  async #tellTransaction(isCharging: boolean): Promise<void> {
    if (isCharging && this.#transaction === undefined && !this.#isStarting) {
      this.#isStarting = true;
      const answer = await this.#say(this.#words.started(this.#shown)).finally(() => {
        this.#isStarting = false;
      });
      this.#transaction = this.#words.transactionOf(answer);
      this.#meteredAtMs = Number.NEGATIVE_INFINITY;
    } else if (!isCharging && this.#transaction !== undefined) {
      const transaction = this.#transaction;
      this.#transaction = undefined;
      this.#store.clear('transaction');
      await this.#say(this.#words.ended(transaction, this.#shown));
    }
  }

  get #device(): Device {
    return {
      setProfile: (profile) => this.#setProfile(profile),
      clearProfile: (id) => {
        const slot = this.#slotOfProfile.get(id);
        if (slot !== undefined) this.#store.clear(slot);
        return slot !== undefined;
      },
      composite: (durationS, unit) => {
        const shown = this.#store.composite(this.#ownMs, durationS, unit);
        return {
          unit: shown.unit,
          startTime: new Date(shown.startsAtOwnMs).toISOString(),
          periods: shown.periods.map(({ startS, limit }) => ({ startPeriod: startS, limit })),
        };
      },
      reportEvery: (ms) => {
        this.#meterEveryMs = ms;
      },
      say: (what) => {
        if (what === 'values') this.#meteredAtMs = Number.NEGATIVE_INFINITY;
        else this.#status = '';
        this.#options.clock.after(0, () => this.#wake());
      },
    };
  }

  #setProfile({ id, isOfTransaction, stackLevel, startSchedule, unit, periods }: SetProfile): void {
    const [first, second] = periods;
    const slot = isOfTransaction ? 'transaction' : stackLevel > 0 ? 'default' : 'failsafe';
    this.#slotOfProfile.set(id, slot);
    const limit = first?.limit ?? 0;
    if (slot === 'failsafe') {
      this.#store.setFailsafe({ kind: 'setFailsafe', evse: EVSE, unit, limit });
    } else {
      const startsAtOwnMs = Date.parse(startSchedule);
      const [ttlS, thenLimit] = [second?.startPeriod ?? 0, second?.limit ?? limit];
      const schedule = { unit, phases: 3, startsAtOwnMs, limit, ttlS, thenLimit } as const;
      const transaction = this.#transaction;
      this.#store.setLease(
        { kind: 'setLease', evse: EVSE, slot, transaction, stackLevel, schedule },
        this.#ownMs,
      );
    }
    this.#options.clock.after(0, () => this.#wake());
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

function drawnCars(traffic: Traffic, seed: number): NextCar {
  const random = mersenne(seed);
  let isFirst = true;
  return (fromMs) => {
    const car = drawCar(traffic, random, fromMs, isFirst);
    isFirst = false;
    return car;
  };
}
