// OCPP 2.0.1 and 2.1: what a charger calls, as events of its session, and what it is answered.
import type { ChargingStatus } from '../../machines/power/meter-ledger.js';
import type { ChargerSession } from '../../machines/session/charger-session.js';
import type { Clock } from '../ports/clock.js';
import type { Log } from '../ports/log.js';
import {
  authorizeSchema,
  bootSchema,
  type MeterValue,
  meterValuesSchema,
  statusSchema,
  transactionEventSchema,
} from '../wire/ocpp201.js';
import { read, UnknownMethod } from './dialect.js';
import type { AskIdTag } from './id-tags.js';
import { meteredValues } from './sampled-values.js';

/** Often enough that a charger's clock is never far off, and so seldom that it is hardly ever set. */
const HEARTBEAT_INTERVAL_S = 900;
const AFTER_ANSWER_MS = 50;
/** What the charger only reports, and nobody here acts upon. */
const ONLY_LOGGED = new Set([
  'ClearedChargingLimit',
  'FirmwareStatusNotification',
  'LogStatusNotification',
  'NotifyChargingLimit',
  'NotifyEvent',
  'NotifyMonitoringReport',
  'NotifyReport',
  'PublishFirmwareStatusNotification',
  'ReportChargingProfiles',
  'SecurityEventNotification',
]);
const STATUS_OF_STATE: Readonly<Record<string, ChargingStatus>> = {
  Charging: 'Charging',
  EVConnected: 'Preparing',
  SuspendedEV: 'SuspendedEV',
  SuspendedEVSE: 'SuspendedEVSE',
  Idle: 'Finishing',
};

interface Parts {
  readonly session: ChargerSession;
  /** The charger's EVSEs, by number. */
  readonly evses: readonly number[];
  readonly clock: Clock;
  readonly log: Log;
  readonly askIdTag: AskIdTag;
  /** Something that may lead to a request happened. */
  readonly changed: () => void;
}

/** One charger's calls. */
export class Ocpp201Events {
  readonly #parts: Parts;
  /** Where transactions run: a charger names the EVSE in the first event of one, and may leave it out of the others. */
  readonly #evseOf = new Map<string, number>();
  /** What the car of an EVSE does, while it is there. */
  readonly #stateAt = new Map<number, ChargingStatus>();

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** Takes in what it says by itself. @throws UnusableMessage */
  heard(method: string, params: unknown): void {
    const { session, clock } = this.#parts;
    const nowMs = clock.monotonicMs();
    session.heard(nowMs);
    if (method === 'StatusNotification') {
      const { evseId, connectorStatus, timestamp } = read(statusSchema, params);
      session.heardStatus(evseId, this.#statusOf(evseId, connectorStatus), timestamp, nowMs);
    } else if (method === 'MeterValues') {
      const { evseId, meterValue } = read(meterValuesSchema, params);
      this.#metered(evseId, undefined, meterValue, nowMs);
    } else if (method === 'TransactionEvent') {
      this.#transaction(params, nowMs);
    }
    if (method !== 'BootNotification') this.#wake();
  }

  /** Takes in what it says with what it was answered. @throws UnusableMessage */
  answered(method: string, params: unknown): void {
    if (method !== 'BootNotification') return;
    const { vendorName, model, firmwareVersion } = read(bootSchema, params).chargingStation;
    const words = [vendorName, model, firmwareVersion].filter((word) => word !== undefined);
    this.#parts.session.booted(words.join(' '), this.#parts.clock.monotonicMs());
    this.#evseOf.clear();
    this.#stateAt.clear();
    this.#wake();
  }

  /** The answer where no management system gives one. @throws UnusableMessage, UnknownMethod */
  async answer(method: string, params: unknown): Promise<object> {
    const { clock, log, askIdTag } = this.#parts;
    const currentTime = new Date(clock.nowMs()).toISOString();
    switch (method) {
      case 'BootNotification':
        return { status: 'Accepted', currentTime, interval: HEARTBEAT_INTERVAL_S };
      case 'Heartbeat':
        return { currentTime };
      case 'StatusNotification':
      case 'MeterValues':
        return {};
      case 'TransactionEvent': {
        const { idToken } = read(transactionEventSchema, params);
        if (idToken === undefined) return {};
        return { idTokenInfo: { status: await askIdTag(idToken.idToken) } };
      }
      case 'Authorize':
        return { idTokenInfo: { status: await askIdTag(read(authorizeSchema, params).idToken.idToken) } };
      case 'DataTransfer':
        return { status: 'UnknownVendorId' };
      // What the car would like is not asked: it shows by what it draws.
      case 'NotifyEVChargingNeeds':
      case 'NotifyEVChargingSchedule':
      case 'SignCertificate':
        return { status: 'Rejected' };
      default:
        if (!ONLY_LOGGED.has(method)) throw new UnknownMethod(method);
        log.info({ method, params }, 'told by a charger, and not managed by the gateway');
        return {};
    }
  }

  /** What it is asked for this must not overtake the answer. */
  #wake(): void {
    this.#parts.clock.after(AFTER_ANSWER_MS, this.#parts.changed);
  }

  #statusOf(evseId: number, word: string): ChargingStatus {
    if (word === 'Unavailable' || word === 'Faulted') return word;
    if (word === 'Occupied') return this.#stateAt.get(evseId) ?? 'Preparing';
    // Free: or reserved, and nobody charges there yet.
    this.#stateAt.delete(evseId);
    return 'Available';
  }

  #transaction(params: unknown, nowMs: number): void {
    const { session } = this.#parts;
    const { eventType, timestamp, transactionInfo, evse, meterValue } = read(transactionEventSchema, params);
    const { transactionId, chargingState } = transactionInfo;
    const evseId = evse?.id ?? this.#evseOf.get(transactionId) ?? this.#only;
    if (evseId === undefined) return;
    if (eventType === 'Ended') {
      this.#evseOf.delete(transactionId);
      this.#stateAt.set(evseId, 'Finishing');
      session.heardStatus(evseId, 'Finishing', timestamp, nowMs);
      session.transactionEnded(transactionId, nowMs);
      return;
    }
    if (!this.#evseOf.has(transactionId)) {
      this.#evseOf.set(transactionId, evseId);
      session.transactionBegan(evseId, transactionId, nowMs);
    }
    const status = STATUS_OF_STATE[chargingState ?? ''];
    if (status !== undefined) {
      this.#stateAt.set(evseId, status);
      session.heardStatus(evseId, status, timestamp, nowMs);
    }
    this.#metered(evseId, transactionId, meterValue, nowMs);
  }

  /** Of a transaction that began before this gateway did, and of which the EVSE is not said: there is only one. */
  get #only(): number | undefined {
    const { evses } = this.#parts;
    return evses.length === 1 ? evses[0] : undefined;
  }

  #metered(
    evseId: number,
    transaction: string | undefined,
    meterValue: readonly MeterValue[],
    nowMs: number,
  ): void {
    for (const { timestamp, sampledValue } of meterValue) {
      const sampled = sampledValue.map(({ unitOfMeasure, phase, location, ...each }) => ({
        ...each,
        phase,
        location,
        unit: unitOfMeasure?.unit,
        multiplier: unitOfMeasure?.multiplier,
      }));
      this.#parts.session.heardValues(evseId, meteredValues(timestamp, transaction, sampled), nowMs);
    }
  }
}
