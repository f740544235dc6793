// OCPP 2.0.1 and 2.1: what a charger calls, as events of its session, and what it is answered.
import type { ChargingStatus } from '../../machines/power/meter-ledger.js';
import {
  authorizeSchema,
  bootSchema,
  eventTokenSchema,
  type MeterValue,
  meterValuesSchema,
  statusSchema,
  transactionEventSchema,
} from '../wire/ocpp201.js';
import { type CallParts, ChargerCalls } from './charger-calls.js';
import { read } from './dialect.js';
import type { EvseUses } from './evse-uses.js';
import { meteredValues } from './sampled-values.js';
import type { TransactionPlaces } from './transaction-places.js';

const ONLY_LOGGED = [
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
];
const STATUS_OF_STATE: Readonly<Record<string, ChargingStatus>> = {
  Charging: 'Charging',
  EVConnected: 'Preparing',
  SuspendedEV: 'SuspendedEV',
  SuspendedEVSE: 'SuspendedEVSE',
  Idle: 'Finishing',
};

interface Parts extends CallParts {
  /** The charger's EVSEs, by number. */
  readonly evses: readonly number[];
  /** What was said of them, on connections before too. */
  readonly uses: EvseUses;
  /** Where its transactions run, as said on connections before and to a gateway before this one, too. */
  readonly places: TransactionPlaces;
}

/** One charger's calls. */
export class Ocpp201Events {
  readonly #parts: Parts;
  readonly #calls: ChargerCalls;
  /** Transactions that this connection spoke of. Of each EVSE the newest, and the one before: late events of that one begin nothing. */
  readonly #evseOf = new Map<string, number>();

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#calls = new ChargerCalls(parts, ONLY_LOGGED);
  }

  get isRejected(): boolean {
    return this.#calls.isRejected;
  }

  /** Takes in what it says by itself. @throws UnusableMessage */
  heard(method: string, params: unknown): void {
    const { session, clock, uses } = this.#parts;
    const nowMs = clock.monotonicMs();
    session.heard(nowMs);
    if (method === 'StatusNotification') {
      const { evseId, connectorId, connectorStatus, timestamp } = read(statusSchema, params);
      const status = uses.heardStatus(evseId, connectorId, connectorStatus);
      session.heardStatus(evseId, status, timestamp, nowMs);
    } else if (method === 'MeterValues') {
      const { evseId, meterValue } = read(meterValuesSchema, params);
      this.#metered(evseId, undefined, meterValue, nowMs);
    } else if (method === 'TransactionEvent') {
      this.#transaction(params, nowMs);
    }
    if (method !== 'BootNotification') this.#calls.wakeAfterAnswer();
  }

  /** Takes in what it says with what it is to be answered. @returns what it is. @throws UnusableMessage, ForwardedError */
  async answered(method: string, params: unknown, answer: object): Promise<object> {
    if (method === 'Heartbeat') return this.#calls.tellTime(answer);
    if (method !== 'BootNotification') return answer;
    const { vendorName, model, firmwareVersion } = read(bootSchema, params).chargingStation;
    this.#calls.booted([vendorName, model, firmwareVersion], answer);
    this.#evseOf.clear();
    this.#parts.uses.forget();
    this.#calls.wakeAfterAnswer();
    return answer;
  }

  /** The answer where no management system gives one. @throws UnusableMessage, UnknownMethod */
  async answer(method: string, params: unknown): Promise<object> {
    const { askIdTag } = this.#parts;
    switch (method) {
      case 'TransactionEvent': {
        const { idToken } = read(eventTokenSchema, params);
        return idToken === undefined ? {} : { idTokenInfo: { status: await askIdTag(idToken.idToken) } };
      }
      case 'Authorize':
        return { idTokenInfo: { status: await askIdTag(read(authorizeSchema, params).idToken.idToken) } };
      // What the car would like is not asked: it shows by what it draws.
      case 'NotifyEVChargingNeeds':
      case 'NotifyEVChargingSchedule':
      case 'SignCertificate':
        return { status: 'Rejected' };
      default:
        return this.#calls.answer(method, params);
    }
  }

  #transaction(params: unknown, nowMs: number): void {
    const { session, uses, places } = this.#parts;
    const { eventType, timestamp, transactionInfo, evse, meterValue } = read(transactionEventSchema, params);
    const { transactionId, chargingState } = transactionInfo;
    const evseId = evse?.id ?? this.#placeOf(transactionId);
    if (evseId === undefined) return;
    if (evse?.connectorId !== undefined) uses.heardConnector(evseId, evse.connectorId);
    if (eventType === 'Ended') {
      this.#evseOf.delete(transactionId);
      places.ended(transactionId);
      uses.heardState(evseId, 'Finishing');
      session.heardStatus(evseId, 'Finishing', timestamp, nowMs);
      session.transactionEnded(transactionId, nowMs);
      return;
    }
    places.began(transactionId, evseId);
    if (!this.#evseOf.has(transactionId)) {
      this.#remember(transactionId, evseId);
      session.transactionBegan(evseId, transactionId, nowMs);
    }
    const status = STATUS_OF_STATE[chargingState ?? ''];
    if (status !== undefined) {
      uses.heardState(evseId, status);
      session.heardStatus(evseId, status, timestamp, nowMs);
    }
    session.transactionGoesOn(evseId, transactionId, timestamp);
    this.#metered(evseId, transactionId, meterValue, nowMs);
  }

  /** Ends are lost, and a charger connects for months. */
  #remember(transactionId: string, evseId: number): void {
    const before = [...this.#evseOf].filter(([, evse]) => evse === evseId);
    for (const [older] of before.slice(0, -1)) this.#evseOf.delete(older);
    this.#evseOf.set(transactionId, evseId);
  }

  /** The EVSE of a transaction whose event does not name it: as it was named before, or the only one that there is. */
  #placeOf(transactionId: string): number | undefined {
    const { evses, places } = this.#parts;
    return places.evseOf(transactionId) ?? (evses.length === 1 ? evses[0] : undefined);
  }

  #metered(
    evseId: number,
    transaction: string | undefined,
    meterValue: readonly MeterValue[],
    nowMs: number,
  ): void {
    for (const { timestamp, sampledValue } of meterValue) {
      const sampled = sampledValue.map(({ value, measurand, phase, location, unitOfMeasure }) => ({
        value,
        measurand,
        phase,
        location,
        unit: unitOfMeasure?.unit,
        multiplier: unitOfMeasure?.multiplier,
      }));
      this.#parts.session.heardValues(evseId, meteredValues(timestamp, transaction, sampled), nowMs);
    }
  }
}
