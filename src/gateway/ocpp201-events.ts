// OCPP 2.0.1 and 2.1: turns calls of a charger into events of its session, and answers them.
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
  /** EVSE numbers of the charger. */
  readonly evses: readonly number[];
  /** Outlasts a connection. */
  readonly uses: EvseUses;
  /** Outlasts a connection and a restart of the gateway. */
  readonly places: TransactionPlaces;
}

/** Calls of one charger. */
export class Ocpp201Events {
  readonly #parts: Parts;
  readonly #calls: ChargerCalls;
  /**
   * Transactions reported on this connection: the newest of each EVSE, and the one
   * before. Late events of that one begin nothing.
   */
  readonly #evseOf = new Map<string, number>();

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#calls = new ChargerCalls(parts, ONLY_LOGGED);
  }

  get isRejected(): boolean {
    return this.#calls.isRejected;
  }

  /** Applies a call to the session. @throws UnusableMessage */
  received(method: string, params: unknown): void {
    const { session, clock, uses } = this.#parts;
    const nowMs = clock.monotonicMs();
    session.received(nowMs);
    if (method === 'StatusNotification') {
      const { evseId, connectorId, connectorStatus, timestamp } = read(statusSchema, params);
      const status = uses.receivedStatus(evseId, connectorId, connectorStatus);
      session.receivedStatus(evseId, status, timestamp, nowMs);
    } else if (method === 'MeterValues') {
      const { evseId, meterValue } = read(meterValuesSchema, params);
      this.#metered(evseId, undefined, meterValue, nowMs);
    } else if (method === 'TransactionEvent') {
      this.#transaction(params, nowMs);
    }
    if (method !== 'BootNotification') this.#calls.wakeAfterAnswer();
  }

  /** Applies a call together with its answer. @returns the answer to send. @throws UnusableMessage, ForwardedError */
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

  /** The answer without a CSMS. @throws UnusableMessage, UnknownMethod */
  async answer(method: string, params: unknown): Promise<object> {
    const { askIdTag } = this.#parts;
    switch (method) {
      case 'TransactionEvent': {
        const { idToken } = read(eventTokenSchema, params);
        return idToken === undefined ? {} : { idTokenInfo: { status: await askIdTag(idToken.idToken) } };
      }
      case 'Authorize':
        return { idTokenInfo: { status: await askIdTag(read(authorizeSchema, params).idToken.idToken) } };
      // The gateway needs no charging needs: the demand of a car shows in its draw.
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
    if (evse?.connectorId !== undefined) uses.receivedConnector(evseId, evse.connectorId);
    if (eventType === 'Ended') {
      this.#evseOf.delete(transactionId);
      places.ended(transactionId);
      uses.receivedState(evseId, 'Finishing');
      session.receivedStatus(evseId, 'Finishing', timestamp, nowMs);
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
      uses.receivedState(evseId, status);
      session.receivedStatus(evseId, status, timestamp, nowMs);
    }
    session.transactionGoesOn(evseId, transactionId, timestamp);
    this.#metered(evseId, transactionId, meterValue, nowMs);
  }

  /** End events get lost, and a connection lasts for months. */
  #remember(transactionId: string, evseId: number): void {
    const before = [...this.#evseOf].filter(([, evse]) => evse === evseId);
    for (const [older] of before.slice(0, -1)) this.#evseOf.delete(older);
    this.#evseOf.set(transactionId, evseId);
  }

  /** The EVSE of a transaction whose event does not name it: the one of an earlier event, or the only EVSE. */
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
      this.#parts.session.receivedValues(evseId, meteredValues(timestamp, transaction, sampled), nowMs);
    }
  }
}
