// A charging profile as a management system sends it, in any version of OCPP, as the gateway keeps it.
import type { ForeignProfile, ForeignProfiles } from '../../machines/session/foreign-profiles.js';
import type { TransactionRef } from '../../machines/session/gateway-request.js';
import { outcomeSchema } from '../wire/ocpp16.js';
import { type Guarded, UnusableMessage } from './dialect.js';
import { isOwnProfileId } from './own-profiles.js';

const ACCEPTED: Guarded = { kind: 'answered', answer: { status: 'Accepted' } };
export const REJECTED: Guarded = { kind: 'answered', answer: { status: 'Rejected' } };
const UNKNOWN: Guarded = { kind: 'answered', answer: { status: 'Unknown' } };
/** After a remote start: chargers wait for a car no longer than a few minutes (`ConnectionTimeOut`). */
const STARTS_WITHIN_MS = 600_000;
const KEPT = ['TxDefaultProfile', 'TxProfile'];

export interface GuardParts {
  readonly profiles: ForeignProfiles;
  readonly heartbeatMs: number;
  /** The transaction that runs at an EVSE. */
  readonly transactionAt: (evse: number) => TransactionRef | undefined;
  readonly nowMs: () => number;
  /** Its profiles are others than before. */
  readonly changed: () => void;
}

/** What the versions' profiles have in common, in their words; instants in epoch ms. */
export interface SentProfile {
  readonly id: number;
  readonly evse: number;
  readonly stackLevel: number;
  /** `ChargePointMaxProfile` and `ChargingStationMaxProfile` are no business of this. */
  readonly chargingProfilePurpose: string;
  readonly transactionId?: TransactionRef | undefined;
  readonly chargingProfileKind: string;
  readonly recurrencyKind?: string | undefined;
  readonly validFrom?: number | undefined;
  readonly validTo?: number | undefined;
  readonly schedule: {
    readonly startSchedule?: number | undefined;
    readonly duration?: number | undefined;
    readonly chargingRateUnit: 'A' | 'W';
    readonly chargingSchedulePeriod: readonly {
      readonly startPeriod: number;
      readonly limit: number;
      readonly numberPhases?: number | undefined;
    }[];
  };
}

/**
 * What a management system sets: it goes to the charger where it goes before no lease, and is kept here otherwise.
 * @param passes purposes that the charger applies beside all others: they can only lower what is granted
 * @throws UnusableMessage
 */
export function takeSent(
  parts: GuardParts,
  params: unknown,
  sent: SentProfile,
  passes: readonly string[],
): Guarded {
  // A charger would put it in the place of one of the gateway's, whatever its purpose.
  if (isOwnProfileId(sent.id)) return REJECTED;
  const purpose = sent.chargingProfilePurpose;
  if (passes.includes(purpose)) return { kind: 'forward', params };
  // 2.1 knows more purposes; what they do to a lease is not known.
  return KEPT.includes(purpose) ? keepSent(parts, sent, false) : REJECTED;
}

/** Keeps it where the standard would have a charger take it. @throws UnusableMessage */
function keepSent(parts: GuardParts, sent: SentProfile, comesWithStart: boolean): Guarded {
  const isOfTransaction = sent.chargingProfilePurpose === 'TxProfile';
  const running = comesWithStart ? undefined : parts.transactionAt(sent.evse);
  // For a transaction that runs, and none that is over; with a remote start, for the next one.
  if (isOfTransaction && !comesWithStart) {
    if (running === undefined || (sent.transactionId ?? running) !== running) return REJECTED;
    parts.profiles.began(sent.evse, running, parts.nowMs());
  }
  const nowMs = parts.nowMs();
  const waitsUntilMs = isOfTransaction && comesWithStart ? nowMs + STARTS_WITHIN_MS : undefined;
  const foreign = foreignOf(sent, nowMs, isOfTransaction ? running : undefined);
  if (!parts.profiles.put({ ...foreign, waitsUntilMs })) return REJECTED;
  parts.changed();
  return ACCEPTED;
}

/**
 * A profile that comes with a start would go before every lease: it is kept here, and the start goes on without it. Where the
 * charger does not start, it is forgotten.
 */
export function startWithout(sent: SentProfile | undefined, start: object, parts: GuardParts): Guarded {
  if (sent !== undefined && (isOwnProfileId(sent.id) || keepSent(parts, sent, true) === REJECTED))
    return REJECTED;
  if (sent === undefined) return { kind: 'forward', params: start };
  const failed = () => {
    if (parts.profiles.forgetWaiting(sent.id)) parts.changed();
  };
  const answerOf = (answer: unknown) => {
    if (outcomeSchema.safeParse(answer).data?.status !== 'Accepted') failed();
    return answer;
  };
  return { kind: 'forward', params: start, answerOf, failed };
}

/** @throws UnusableMessage */
function foreignOf(
  sent: SentProfile,
  nowMs: number,
  transaction: TransactionRef | undefined,
): ForeignProfile {
  const { id, evse, stackLevel, validFrom, validTo, schedule } = sent;
  const { duration, startSchedule, chargingRateUnit: unit, chargingSchedulePeriod } = schedule;
  const periods = chargingSchedulePeriod
    .map(({ startPeriod, limit, numberPhases }) => ({
      startS: startPeriod,
      limit,
      ...(numberPhases === undefined ? {} : { phases: numberPhases }),
    }))
    .sort((a, b) => a.startS - b.startS);
  if (periods[0]?.startS !== 0) throw new UnusableMessage('the first period must begin at 0');
  return {
    id,
    evse,
    stackLevel,
    unit,
    periods,
    purpose: sent.chargingProfilePurpose === 'TxProfile' ? 'transaction' : 'default',
    ...(transaction === undefined ? {} : { transaction }),
    kind: kindOf(sent.chargingProfileKind, sent.recurrencyKind),
    startsAtMs: startSchedule ?? nowMs,
    ...(validFrom === undefined ? {} : { validFromMs: validFrom }),
    ...(validTo === undefined ? {} : { validToMs: validTo }),
    ...(duration === undefined ? {} : { durationS: duration }),
  };
}

function kindOf(kind: string, recurrency: string | undefined): ForeignProfile['kind'] {
  if (kind === 'Relative') return 'relative';
  if (kind === 'Recurring') return recurrency === 'Weekly' ? 'weekly' : 'daily';
  return 'absolute';
}

/**
 * What the gateway keeps of it is cleared; what it does not know may be the charger's own of before.
 * @param words.params what was asked for
 * @param words.maxOnly the same of what goes before no lease
 */
export function clearSent(
  { profiles, changed }: GuardParts,
  { params, maxOnly }: { readonly params: unknown; readonly maxOnly: object },
  criteria: {
    readonly id: number | undefined;
    readonly evse: number | undefined;
    readonly purpose: string | undefined;
    readonly stackLevel: number | undefined;
  },
): Guarded {
  const { id, evse, stackLevel, purpose } = criteria;
  // Some chargers go by the id alone.
  if (id !== undefined && isOwnProfileId(id)) return UNKNOWN;
  const isTransactions = purpose === 'TxProfile';
  const isKnown = purpose === undefined || isTransactions || purpose === 'TxDefaultProfile';
  if (!isKnown) return { kind: 'forward', params };
  const kept = purpose === undefined ? undefined : isTransactions ? 'transaction' : 'default';
  const isCleared = profiles.clear({ id, evse, stackLevel, purpose: kept }) > 0;
  if (isCleared) changed();
  if (id !== undefined) return isCleared ? ACCEPTED : { kind: 'forward', params };
  // Without an id, what the gateway set would go with it, unless only what is at the whole charger is asked for.
  if (purpose !== undefined || (evse ?? 0) > 0) return isCleared ? ACCEPTED : UNKNOWN;
  return {
    kind: 'forward',
    params: maxOnly,
    answerOf: (answer) => (isCleared ? { status: 'Accepted' } : answer),
  };
}

/** What a management system that was away is told once it is back: that the charger started, and the last status of each place. */
export function topicToTell(method: string, placeOf: () => number | undefined): string | undefined {
  if (method === 'BootNotification') return method;
  const place = method === 'StatusNotification' ? placeOf() : undefined;
  return place === undefined ? undefined : `${method} ${place}`;
}

/** What leases are counted by, beside what the management system wants to be told. */
const NEEDED_MEASURANDS = ['Power.Active.Import', 'Current.Import'];

/** A list of measurands, with one that leases can go by. */
export function enoughMeasurands(list: string): string {
  const asked = list
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '');
  const isEnough = NEEDED_MEASURANDS.some((measurand) => asked.includes(measurand));
  return (isEnough ? asked : ['Power.Active.Import', ...asked]).join(',');
}

/** An interval in seconds, no longer than a heartbeat. */
export function soonEnough(everyS: string, heartbeatMs: number): string {
  const mostS = heartbeatMs / 1000;
  const askedS = Number(everyS);
  return String(askedS > 0 ? Math.min(askedS, mostS) : mostS);
}
