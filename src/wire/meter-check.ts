// The meter schema once more, by hand: it is asked of every value of every connector, where the schema takes ten times
// as long. A test holds the two together; the schema remains what says why a message is wrong.
import { CHARGING_STATUSES } from '../../machines/meter-ledger.js';
import { METER_BOUNDS, type MeterMessage } from './mqtt.js';

const STATUSES: ReadonlySet<unknown> = new Set(CHARGING_STATUSES);

/** Whether `meterSchema` accepts `value`. */
export function isMeterMessage(value: unknown): value is MeterMessage {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const message = value as Readonly<Record<keyof MeterMessage, unknown>>;
  const { bootLength, atLength, powerW, currentA, voltageV, leaseS } = METER_BOUNDS;
  return (
    Number.isInteger(message.powerW) &&
    isWithin(message.powerW, -powerW, powerW) &&
    (message.v === undefined || message.v === 1) &&
    (message.boot === undefined || (isText(message.boot, bootLength) && message.boot.length > 0)) &&
    isCounter(message.hb) &&
    (message.at === undefined || isText(message.at, atLength)) &&
    (message.status === undefined || STATUSES.has(message.status)) &&
    isThree(message.currentA, -currentA, currentA) &&
    isThree(message.voltageV, 0, voltageV) &&
    isCounter(message.energyWh) &&
    isCounter(message.epoch) &&
    isCounter(message.seq) &&
    (message.limitA === undefined || isWithin(message.limitA, 0, currentA)) &&
    (message.leaseLeftS === undefined || isWithin(message.leaseLeftS, 0, leaseS))
  );
}

function isWithin(value: unknown, least: number, most: number): boolean {
  return typeof value === 'number' && value >= least && value <= most;
}

function isText(value: unknown, most: number): value is string {
  return typeof value === 'string' && value.length <= most;
}

function isCounter(value: unknown): boolean {
  return value === undefined || (Number.isSafeInteger(value) && isWithin(value, 0, Number.MAX_SAFE_INTEGER));
}

function isThree(value: unknown, least: number, most: number): boolean {
  if (value === undefined) return true;
  if (!Array.isArray(value) || value.length !== 3) return false;
  return (
    isWithin(value[0], least, most) && isWithin(value[1], least, most) && isWithin(value[2], least, most)
  );
}
