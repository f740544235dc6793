// A virtual charger that speaks OCPP 1.6J over a real web socket: a connector with cars, a meter, and charging profiles.
import { type IHandlersOption, RPCClient } from 'ocpp-rpc';
import { mersenne } from 'pure-rand/generator/mersenne';
import type { Cancel, Clock } from '../../src/ports/clock.js';
import type { NextCar } from './car.js';
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
  readonly traffic: Traffic;
  readonly clock: Clock;
  /** What its clock is ahead of the host's. */
  readonly aheadMs?: number;
  readonly faults?: Partial<ProfileFaults>;
}

const RECONNECT = { initialDelay: 1000, maxDelay: 3000, factor: 1.5, randomisationFactor: 0.5 };
const LONGEST_SLEEP_MS = 1000;
const SHORTEST_SLEEP_MS = 20;
const EVSE = 1;
const SETTINGS = {
  SupportedFeatureProfiles: 'Core,SmartCharging,RemoteTrigger',
  ChargingScheduleAllowedChargingRateUnit: 'Current,Power',
  ChargeProfileMaxStackLevel: '8',
  ChargingScheduleMaxPeriods: '8',
};
const CAR_CHARGES = ['Charging', 'SuspendedEV', 'SuspendedEVSE'];

interface Period {
  readonly startPeriod: number;
  readonly limit: number;
}
interface Profile {
  readonly chargingProfileId: number;
  readonly stackLevel: number;
  readonly chargingProfilePurpose: string;
  readonly chargingSchedule: {
    readonly startSchedule: string;
    readonly chargingRateUnit: 'A' | 'W';
    readonly chargingSchedulePeriod: readonly Period[];
  };
}

export class OcppCharger {
  readonly #options: OcppChargerOptions;
  readonly #client: RPCClient;
  readonly #store: ProfileStore;
  readonly #outlet: Outlet;
  readonly #settings = new Map<string, string>(Object.entries(SETTINGS));
  readonly #slotOfProfile = new Map<number, 'failsafe' | 'default' | 'transaction'>();
  #status = '';
  #transactionId: number | undefined;
  #hasBooted = false;
  #isStarting = false;
  #meteredAtMs = Number.NEGATIVE_INFINITY;
  #meterEveryMs = 60_000;
  #cancelWake: Cancel = () => {};
  #isStopped = false;

  constructor(options: OcppChargerOptions) {
    this.#options = options;
    const { url, controllerUuid, password, connector, seed, traffic, clock, faults } = options;
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
      protocols: ['ocpp1.6'],
      strictMode: true,
      backoff: RECONNECT,
    });
    this.#client.handle(async (call: IHandlersOption) => this.#answer(call));
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
    const maker = { chargePointVendor: 'Virtual', chargePointModel: 'OCPP' };
    if (!this.#hasBooted) await this.#client.call('BootNotification', maker);
    this.#hasBooted = true;
    this.#status = '';
  }

  /** Says what changed, and its meter values while a transaction runs. */
  async #report(nowMs: number): Promise<void> {
    const { status } = this.#outlet;
    if (status !== this.#status) {
      this.#status = status;
      await this.#tellTransaction(CAR_CHARGES.includes(status));
      await this.#client.call('StatusNotification', {
        ...{ connectorId: EVSE, errorCode: 'NoError', status },
        timestamp: this.#ownTime,
      });
    }
    if (this.#transactionId === undefined || nowMs - this.#meteredAtMs < this.#meterEveryMs) return;
    this.#meteredAtMs = nowMs;
    await this.#client.call('MeterValues', this.#meterValues(this.#transactionId));
  }

  async #tellTransaction(isCharging: boolean): Promise<void> {
    const meter = Math.round(this.#outlet.energyWh);
    const timestamp = this.#ownTime;
    if (isCharging && this.#transactionId === undefined && !this.#isStarting) {
      this.#isStarting = true;
      const start = { connectorId: EVSE, idTag: 'VIRTUAL', meterStart: meter, timestamp };
      const answer = await this.#client.call('StartTransaction', start).finally(() => {
        this.#isStarting = false;
      });
      this.#transactionId = (answer as { transactionId: number }).transactionId;
      this.#meteredAtMs = Number.NEGATIVE_INFINITY;
    } else if (!isCharging && this.#transactionId !== undefined) {
      const transactionId = this.#transactionId;
      this.#transactionId = undefined;
      this.#store.clear('transaction');
      await this.#client.call('StopTransaction', { transactionId, meterStop: meter, timestamp });
    }
  }

  #meterValues(transactionId: number): object {
    const { connector } = this.#options;
    const { drawnA, phases, energyWh } = this.#outlet;
    const names = ['L1', 'L2', 'L3'].slice(0, Math.max(1, phases));
    const powerW = drawnA * connector.voltageV * phases;
    return {
      connectorId: EVSE,
      transactionId,
      meterValue: [
        {
          timestamp: this.#ownTime,
          sampledValue: [
            { measurand: 'Power.Active.Import', unit: 'W', value: powerW.toFixed(0) },
            ...names.map((phase) => ({
              ...{ measurand: 'Current.Import', unit: 'A', phase },
              value: drawnA.toFixed(1),
            })),
            ...['L1-N', 'L2-N', 'L3-N'].slice(0, connector.phases).map((phase) => ({
              ...{ measurand: 'Voltage', unit: 'V', phase },
              value: String(connector.voltageV),
            })),
            { measurand: 'Energy.Active.Import.Register', unit: 'Wh', value: energyWh.toFixed(0) },
          ],
        },
      ],
    };
  }

  #answer({ method, params = {} }: IHandlersOption): Record<string, unknown> {
    switch (method) {
      case 'GetConfiguration': {
        const keys = (params as { key?: string[] }).key ?? [...this.#settings.keys()];
        const known = keys.filter((key) => this.#settings.has(key));
        return {
          configurationKey: known.map((key) => ({ key, readonly: true, value: this.#settings.get(key) })),
          unknownKey: keys.filter((key) => !this.#settings.has(key)),
        };
      }
      case 'ChangeConfiguration': {
        const { key, value } = params as { key: string; value: string };
        if (key === 'MeterValueSampleInterval') this.#meterEveryMs = 1000 * Number(value);
        return { status: 'Accepted' };
      }
      case 'SetChargingProfile':
        return this.#setProfile((params as { csChargingProfiles: Profile }).csChargingProfiles);
      case 'ClearChargingProfile': {
        const slot = this.#slotOfProfile.get((params as { id: number }).id);
        if (slot !== undefined) this.#store.clear(slot);
        return { status: slot === undefined ? 'Unknown' : 'Accepted' };
      }
      case 'GetCompositeSchedule':
        return this.#composite(params as { duration: number; chargingRateUnit: 'A' | 'W' });
      case 'TriggerMessage':
        if ((params as { requestedMessage: string }).requestedMessage !== 'MeterValues') this.#status = '';
        else this.#meteredAtMs = Number.NEGATIVE_INFINITY;
        this.#options.clock.after(0, () => this.#wake());
        return { status: 'Accepted' };
      default:
        return { status: 'Rejected' };
    }
  }

  #setProfile({ chargingProfileId, stackLevel, chargingProfilePurpose, chargingSchedule }: Profile) {
    const { startSchedule, chargingRateUnit: unit, chargingSchedulePeriod } = chargingSchedule;
    const [first, second] = chargingSchedulePeriod;
    const slot =
      chargingProfilePurpose === 'TxProfile' ? 'transaction' : stackLevel > 0 ? 'default' : 'failsafe';
    this.#slotOfProfile.set(chargingProfileId, slot);
    const limit = first?.limit ?? 0;
    if (slot === 'failsafe') {
      this.#store.setFailsafe({ kind: 'setFailsafe', evse: EVSE, unit, limit });
    } else {
      const [startsAtOwnMs, ttlS, thenLimit] = [
        Date.parse(startSchedule),
        second?.startPeriod ?? 0,
        second?.limit ?? limit,
      ];
      const schedule = { unit, phases: 3, startsAtOwnMs, limit, ttlS, thenLimit } as const;
      const transaction = this.#transactionId;
      this.#store.setLease(
        { kind: 'setLease', evse: EVSE, slot, transaction, stackLevel, schedule },
        this.#ownMs,
      );
    }
    this.#options.clock.after(0, () => this.#wake());
    return { status: 'Accepted' };
  }

  #composite({ duration, chargingRateUnit }: { duration: number; chargingRateUnit: 'A' | 'W' }) {
    const { unit, startsAtOwnMs, periods } = this.#store.composite(this.#ownMs, duration, chargingRateUnit);
    return {
      status: 'Accepted',
      connectorId: EVSE,
      scheduleStart: new Date(startsAtOwnMs).toISOString(),
      chargingSchedule: {
        duration,
        chargingRateUnit: unit,
        chargingSchedulePeriod: periods.map(({ startS, limit }) => ({ startPeriod: startS, limit })),
      },
    };
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
