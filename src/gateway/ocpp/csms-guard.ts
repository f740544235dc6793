// Calls of a CSMS in any version of OCPP: the gateway keeps its charging profiles, and forwards or rejects its calls.
import type { TransactionRef } from '../../../machines/session/gateway-request.js';
import { outcomeSchema } from '../ocpp16/messages.js';
import { isOwnProfileId } from './charger-requests.js';
import type { CsmsProfile, CsmsProfiles } from './csms-profiles.js';
import { type Guarded, UnusableMessage } from './ocpp-dialect.js';

const ACCEPTED: Guarded = { kind: 'answered', answer: { status: 'Accepted' } };
export const REJECTED: Guarded = { kind: 'answered', answer: { status: 'Rejected' } };
const UNKNOWN: Guarded = { kind: 'answered', answer: { status: 'Unknown' } };
/** After a remote start chargers wait for a car no longer than a few minutes (`ConnectionTimeOut`). */
const STARTS_WITHIN_MS = 600_000;
const KEPT = ['TxDefaultProfile', 'TxProfile'];

export interface GuardParts {
  readonly profiles: CsmsProfiles;
  readonly heartbeatMs: number;
  /** The running transaction of an EVSE. */
  readonly transactionAt: (evse: number) => TransactionRef | undefined;
  readonly nowMs: () => number;
  /** Called after a change of the kept profiles. */
  readonly changed: () => void;
}

/** The common part of a profile in all versions, in the words of OCPP; instants in epoch ms. */
export interface SentProfile {
  readonly id: number;
  readonly evse: number;
  readonly stackLevel: number;
  /** `ChargePointMaxProfile` and `ChargingStationMaxProfile` are never kept. */
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
 * `SetChargingProfile` of a CSMS: a profile that could override a lease is kept here, others go to the charger.
 * @param passes purposes that the charger applies beside all others: they can only lower a grant
 * @throws UnusableMessage
 */
export function takeSent(
  parts: GuardParts,
  params: unknown,
  sent: SentProfile,
  passes: readonly string[],
): Guarded {
  // A charger would replace the gateway's profile with the same id, for any purpose.
  if (isOwnProfileId(sent.id)) return REJECTED;
  const purpose = sent.chargingProfilePurpose;
  if (passes.includes(purpose)) return { kind: 'forward', params };
  // OCPP 2.1 has more purposes. Their effect on a lease is unknown.
  return KEPT.includes(purpose) ? keepSent(parts, sent, false) : REJECTED;
}

/** Keeps the profile if the standard lets a charger accept it. @throws UnusableMessage */
function keepSent(parts: GuardParts, sent: SentProfile, comesWithStart: boolean): Guarded {
  const isOfTransaction = sent.chargingProfilePurpose === 'TxProfile';
  const running = comesWithStart ? undefined : parts.transactionAt(sent.evse);
  // Without a remote start the profile must be for the running transaction. With one it is for the next transaction.
  if (isOfTransaction && !comesWithStart) {
    if (running === undefined || (sent.transactionId ?? running) !== running) return REJECTED;
    parts.profiles.began(sent.evse, running, parts.nowMs());
  }
  const nowMs = parts.nowMs();
  const waitsUntilMs = isOfTransaction && comesWithStart ? nowMs + STARTS_WITHIN_MS : undefined;
  const foreign = csmsProfileOf(sent, nowMs, isOfTransaction ? running : undefined);
  if (!parts.profiles.put({ ...foreign, waitsUntilMs })) return REJECTED;
  parts.changed();
  return ACCEPTED;
}

/**
 * A profile that comes with a remote start would override every lease. So the gateway keeps it, and forwards the start
 * without it. If the charger does not start, the profile is dropped.
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
function csmsProfileOf(
  sent: SentProfile,
  nowMs: number,
  transaction: TransactionRef | undefined,
): CsmsProfile {
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

function kindOf(kind: string, recurrency: string | undefined): CsmsProfile['kind'] {
  if (kind === 'Relative') return 'relative';
  if (kind === 'Recurring') return recurrency === 'Weekly' ? 'weekly' : 'daily';
  return 'absolute';
}

/**
 * Clears the kept profiles that match. An unknown id goes on to the charger: it may be an old profile of its own.
 * @param words.params the call as received
 * @param words.maxOnly the same call for the purpose that never overrides a lease
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
  // Some chargers match by the id alone.
  if (id !== undefined && isOwnProfileId(id)) return UNKNOWN;
  const isTransactions = purpose === 'TxProfile';
  const isKnown = purpose === undefined || isTransactions || purpose === 'TxDefaultProfile';
  if (!isKnown) return { kind: 'forward', params };
  const kept = purpose === undefined ? undefined : isTransactions ? 'transaction' : 'default';
  const isCleared = profiles.clear({ id, evse, stackLevel, purpose: kept }) > 0;
  if (isCleared) changed();
  if (id !== undefined) return isCleared ? ACCEPTED : { kind: 'forward', params };
  // Without an id the charger would clear the gateway's profiles too. So only
  // profiles of the whole charger are cleared there.
  if (purpose !== undefined || (evse ?? 0) > 0) return isCleared ? ACCEPTED : UNKNOWN;
  return {
    kind: 'forward',
    params: maxOnly,
    answerOf: (answer) => (isCleared ? { status: 'Accepted' } : answer),
  };
}

/**
 * Topic of a call that a CSMS which was away receives later: the
 * charger's start, and the last status of each connector.
 */
export function topicToForward(method: string, placeOf: () => number | undefined): string | undefined {
  if (method === 'BootNotification') return method;
  const place = method === 'StatusNotification' ? placeOf() : undefined;
  return place === undefined ? undefined : `${method} ${place}`;
}

/** Leases need one of these, beside the measurands that the CSMS wants. */
const NEEDED_MEASURANDS = ['Power.Active.Import', 'Current.Import'];

/** The list of measurands, completed by one that leases need. */
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
