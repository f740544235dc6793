// OCPP 1.6: what a charger calls, as events of its session, and what it is answered.
import type { z } from 'zod';
import { CHARGING_STATUSES, type ChargingStatus } from '../../machines/power/meter-ledger.js';
import type { ChargerSession } from '../../machines/session/charger-session.js';
import type { Clock } from '../ports/clock.js';
import type { Log } from '../ports/log.js';
import {
  authorizeSchema,
  bootSchema,
  meterValuesSchema,
  startTransactionSchema,
  statusSchema,
  stopTransactionSchema,
} from '../wire/ocpp16.js';
import { UnknownMethod, UnusableMessage } from './dialect.js';
import type { AskIdTag } from './id-tags.js';
import { meteredValues } from './sampled-values.js';

/** Often enough that a charger's clock is never far off, and so seldom that it is hardly ever set. */
const HEARTBEAT_INTERVAL_S = 900;
/** What the charger only reports, and nobody here acts upon. */
const ONLY_LOGGED = new Set([
  'FirmwareStatusNotification',
  'DiagnosticsStatusNotification',
  'LogStatusNotification',
  'SecurityEventNotification',
  'SignedFirmwareStatusNotification',
]);
const AFTER_ANSWER_MS = 50;
/** Transaction ids are seconds since then: higher than any that a gateway gave before it started again. */
const IDS_SINCE_MS = Date.UTC(2025, 0, 1);

interface Parts {
  readonly session: ChargerSession;
  readonly clock: Clock;
  readonly log: Log;
  readonly askIdTag: AskIdTag;
  /** Something that may lead to a request happened. */
  readonly changed: () => void;
}

function read<S extends z.ZodType>(schema: S, params: unknown): z.output<S> {
  const { data, error } = schema.safeParse(params);
  if (error === undefined) return data;
  const [issue] = error.issues;
  throw new UnusableMessage(`${issue?.path.join('.')}: ${issue?.message}`);
}

/** `Reserved`: nobody charges there yet. */
function statusOf(word: string): ChargingStatus {
  return CHARGING_STATUSES.find((status) => status === word) ?? 'Available';
}

/** One charger's calls. */
export class Ocpp16Events {
  readonly #parts: Parts;
  #lastTransactionId = 0;
  /** By what was said when it began: a charger that missed the answer says the same again. */
  readonly #begun = new Map<string, number>();

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** @throws UnusableMessage, UnknownMethod */
  async receive(method: string, params: unknown): Promise<object> {
    const answer = await this.#receive(method, params);
    // What it is asked for this must not overtake the answer.
    this.#parts.clock.after(AFTER_ANSWER_MS, this.#parts.changed);
    return answer;
  }

  async #receive(method: string, params: unknown): Promise<object> {
    const { session, clock, log, askIdTag } = this.#parts;
    switch (method) {
      case 'BootNotification':
        return this.#booted(params);
      case 'Heartbeat':
        session.heard(clock.monotonicMs());
        return { currentTime: this.#wallTime() };
      case 'StatusNotification': {
        const { connectorId, status, timestamp } = read(statusSchema, params);
        session.heardStatus(connectorId, statusOf(status), timestamp, clock.monotonicMs());
        return {};
      }
      case 'MeterValues':
        return this.#metered(params);
      case 'Authorize':
        return { idTagInfo: { status: await askIdTag(read(authorizeSchema, params).idTag) } };
      case 'StartTransaction':
        return this.#began(params);
      case 'StopTransaction': {
        const { transactionId } = read(stopTransactionSchema, params);
        session.transactionEnded(transactionId, clock.monotonicMs());
        return {};
      }
      case 'DataTransfer':
        return { status: 'UnknownVendorId' };
      default:
        if (!ONLY_LOGGED.has(method)) throw new UnknownMethod(method);
        log.info({ method, params }, 'told by a charger, and not managed by the gateway');
        return {};
    }
  }

  #wallTime(): string {
    return new Date(this.#parts.clock.nowMs()).toISOString();
  }

  #booted(params: unknown): object {
    const { session, clock } = this.#parts;
    const { chargePointVendor, chargePointModel, firmwareVersion } = read(bootSchema, params);
    const words = [chargePointVendor, chargePointModel, firmwareVersion].filter((word) => word !== undefined);
    session.booted(words.join(' '), clock.monotonicMs());
    return { status: 'Accepted', currentTime: this.#wallTime(), interval: HEARTBEAT_INTERVAL_S };
  }

  #metered(params: unknown): object {
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
      // Chargers say 0 or less where none runs.
      const transaction = transactionId !== undefined && transactionId > 0 ? transactionId : undefined;
      session.heardValues(connectorId, meteredValues(timestamp, transaction, sampled), nowMs);
    }
    return {};
  }

  async #began(params: unknown): Promise<object> {
    const { session, clock, askIdTag } = this.#parts;
    const { connectorId, idTag, meterStart, timestamp } = read(startTransactionSchema, params);
    const status = await askIdTag(idTag);
    const said = `${connectorId} ${timestamp} ${meterStart} ${idTag}`;
    const transactionId = this.#begun.get(said) ?? this.#nextTransactionId();
    this.#begun.delete(said);
    this.#begun.set(said, transactionId);
    const [oldest] = this.#begun.keys();
    if (this.#begun.size > 20 && oldest !== undefined) this.#begun.delete(oldest);
    session.transactionBegan(connectorId, transactionId, clock.monotonicMs());
    return { transactionId, idTagInfo: { status } };
  }

  #nextTransactionId(): number {
    const seconds = Math.floor((this.#parts.clock.nowMs() - IDS_SINCE_MS) / 1000);
    this.#lastTransactionId = Math.max(this.#lastTransactionId + 1, seconds);
    return this.#lastTransactionId;
  }
}
