// OCPP 1.6: turns calls of a charger into events of its session, and answers them.
import { CHARGING_STATUSES, type ChargingStatus } from '../../machines/power/meter-ledger.js';
import {
  authorizeSchema,
  bootSchema,
  meterValuesSchema,
  startedSchema,
  startTransactionSchema,
  statusSchema,
  stopTransactionSchema,
} from '../wire/ocpp16.js';
import { type CallParts, ChargerCalls } from './charger-calls.js';
import { read } from './dialect.js';
import { meteredValues } from './sampled-values.js';
import type { TransactionIds } from './transaction-ids.js';

const ONLY_LOGGED = [
  'FirmwareStatusNotification',
  'DiagnosticsStatusNotification',
  'LogStatusNotification',
  'SecurityEventNotification',
  'SignedFirmwareStatusNotification',
];
/** The effect of these calls depends on their answer. */
const WITH_ANSWER = ['BootNotification', 'StartTransaction'];

/** `Reserved`: no car charges there yet. */
function statusOf(word: string): ChargingStatus {
  return CHARGING_STATUSES.find((status) => status === word) ?? 'Available';
}

interface Parts extends CallParts {
  readonly transactionIds: TransactionIds;
}

/** Calls of one charger. */
export class Ocpp16Events {
  readonly #parts: Parts;
  readonly #calls: ChargerCalls;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#calls = new ChargerCalls(parts, ONLY_LOGGED);
  }

  get isRejected(): boolean {
    return this.#calls.isRejected;
  }

  /** Applies a call to the session. @throws UnusableMessage */
  received(method: string, params: unknown): void {
    const { session, clock } = this.#parts;
    const nowMs = clock.monotonicMs();
    session.received(nowMs);
    if (method === 'StatusNotification') {
      const { connectorId, status, timestamp } = read(statusSchema, params);
      session.receivedStatus(connectorId, statusOf(status), timestamp, nowMs);
    } else if (method === 'MeterValues') {
      this.#metered(params);
    } else if (method === 'StopTransaction') {
      const { transactionId } = read(stopTransactionSchema, params);
      this.#parts.transactionIds.ended(transactionId);
      session.transactionEnded(transactionId, nowMs);
    }
    if (!WITH_ANSWER.includes(method)) this.#calls.wakeAfterAnswer();
  }

  /** Applies a call together with its answer. @returns the answer to send. @throws UnusableMessage, ForwardedError */
  async answered(method: string, params: unknown, answer: object): Promise<object> {
    const { session, clock } = this.#parts;
    if (method === 'BootNotification') {
      const { chargePointVendor, chargePointModel, firmwareVersion } = read(bootSchema, params);
      this.#calls.booted([chargePointVendor, chargePointModel, firmwareVersion], answer);
    } else if (method === 'StartTransaction') {
      const { connectorId } = read(startTransactionSchema, params);
      const { transactionId } = read(startedSchema, answer);
      session.transactionBegan(connectorId, transactionId, clock.monotonicMs());
    }
    if (WITH_ANSWER.includes(method)) this.#calls.wakeAfterAnswer();
    return method === 'Heartbeat' ? this.#calls.tellTime(answer) : answer;
  }

  /** The answer without a CSMS. @throws UnusableMessage, UnknownMethod */
  async answer(method: string, params: unknown): Promise<object> {
    switch (method) {
      case 'StopTransaction':
        return {};
      case 'Authorize': {
        const { idTag } = read(authorizeSchema, params);
        return { idTagInfo: { status: await this.#parts.askIdTag(idTag) } };
      }
      case 'StartTransaction':
        return this.#began(params);
      default:
        return this.#calls.answer(method, params);
    }
  }

  #metered(params: unknown): void {
    const { session, clock } = this.#parts;
    const { connectorId, transactionId, meterValue } = read(meterValuesSchema, params);
    const nowMs = clock.monotonicMs();
    for (const { timestamp, sampledValue } of meterValue) {
      const sampled = sampledValue
        .filter(({ format }) => format === undefined || format === 'Raw')
        .map(({ value, measurand, phase, location, unit }) => ({
          value: value.trim() === '' ? Number.NaN : Number(value),
          measurand,
          phase,
          location,
          unit,
        }));
      session.receivedValues(connectorId, meteredValues(timestamp, transactionId, sampled), nowMs);
    }
  }

  async #began(params: unknown): Promise<object> {
    const { askIdTag, transactionIds, clock } = this.#parts;
    const { connectorId, idTag, meterStart, timestamp } = read(startTransactionSchema, params);
    const status = await askIdTag(idTag);
    const said = `${connectorId} ${timestamp} ${meterStart} ${idTag}`;
    return { transactionId: transactionIds.idOf(said, clock.nowMs()), idTagInfo: { status } };
  }
}
