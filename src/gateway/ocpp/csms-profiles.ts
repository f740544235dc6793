// Charging profiles of a CSMS for one charger. They may lower a grant, and never raise it.
import { ampereOfDcW } from '../../../machines/session/dc-output.js';
import type { TransactionRef } from '../../../machines/session/gateway-request.js';
import type { RateUnit } from '../../../machines/session/lease-schedule.js';
import type { LimitedConnector } from '../charger-bridge.js';

/** Independent of the OCPP version. Instants in epoch ms. */
export interface CsmsProfile {
  readonly id: number;
  /** 0: every connector. */
  readonly evse: number;
  readonly stackLevel: number;
  /** `transaction`: for the named transaction, or for the next one to begin if none is named. */
  readonly purpose: 'default' | 'transaction';
  readonly transaction?: TransactionRef | undefined;
  /** That transaction must begin before this instant. */
  readonly waitsUntilMs?: number | undefined;
  readonly kind: 'absolute' | 'daily' | 'weekly' | 'relative';
  /** Instant at which the CSMS set the profile, unless the profile names another start. */
  readonly startsAtMs: number;
  readonly validFromMs?: number | undefined;
  readonly validToMs?: number | undefined;
  readonly durationS?: number | undefined;
  readonly unit: RateUnit;
  /** In order of their starts; the first begins at 0. */
  readonly periods: readonly {
    readonly startS: number;
    readonly limit: number;
    readonly phases?: number | undefined;
  }[];
}

/** Selects the profiles to forget: all that match every given field. */
export interface CsmsProfileCriteria {
  readonly id?: number | undefined;
  readonly evse?: number | undefined;
  readonly purpose?: CsmsProfile['purpose'] | undefined;
  readonly stackLevel?: number | undefined;
}

/** First report of the transaction that runs at an EVSE, or ran there last. */
export interface BegunTransaction {
  readonly evse: number;
  readonly transaction: TransactionRef;
  readonly atMs: number;
}

/** State that has to outlast the gateway process. */
export interface KeptProfiles {
  readonly profiles: readonly CsmsProfile[];
  readonly transactions: readonly BegunTransaction[];
}

const CYCLE_MS = { daily: 86_400_000, weekly: 7 * 86_400_000 };
/** More than any CSMS sets for one charger. */
const MOST_PROFILES = 100;

export class CsmsProfiles {
  #profiles: readonly CsmsProfile[];
  #begun: readonly BegunTransaction[];
  #kept: KeptProfiles | undefined;

  constructor(kept?: KeptProfiles) {
    this.#kept = kept;
    this.#profiles = kept?.profiles ?? [];
    this.#begun = kept?.transactions ?? [];
  }

  /** The same object until its content changes; undefined without profiles. */
  get kept(): KeptProfiles | undefined {
    const [profiles, transactions] = [this.#profiles, this.#begun];
    if (profiles.length === 0) return undefined;
    const isSame = this.#kept?.profiles === profiles && this.#kept.transactions === transactions;
    if (!isSame) this.#kept = { profiles, transactions };
    return this.#kept;
  }

  get all(): readonly CsmsProfile[] {
    return this.#profiles;
  }

  /**
   * Replaces a profile with the same id, or one of the same kind at the same level.
   * @returns false if there are too many
   */
  put(profile: CsmsProfile): boolean {
    const others = this.#profiles.filter(
      (each) =>
        each.id !== profile.id &&
        !(
          each.evse === profile.evse &&
          each.purpose === profile.purpose &&
          each.stackLevel === profile.stackLevel &&
          each.transaction === profile.transaction
        ),
    );
    if (others.length >= MOST_PROFILES) return false;
    this.#profiles = [...others, profile];
    return true;
  }

  /**
   * That transaction runs there. Profiles of an earlier transaction there are over. A profile that waits for the next
   * transaction becomes a profile of this one, unless its deadline has passed.
   */
  began(evse: number, transaction: TransactionRef, nowMs: number): void {
    const before = this.#begun.find((each) => each.evse === evse);
    if (before?.transaction === transaction) return;
    const others = this.#begun.filter((each) => each !== before);
    this.#begun = [...others, { evse, transaction, atMs: nowMs }];
    const isOver = (each: CsmsProfile) =>
      isWaiting(each)
        ? (each.waitsUntilMs ?? Number.POSITIVE_INFINITY) <= nowMs
        : each.evse === evse && each.purpose === 'transaction' && each.transaction !== transaction;
    const isItsOwn = (each: CsmsProfile) => isWaiting(each) && [0, evse].includes(each.evse);
    if (!this.#profiles.some((each) => isOver(each) || isItsOwn(each))) return;
    this.#profiles = this.#profiles
      .filter((each) => !isOver(each))
      .map((each) => (isItsOwn(each) ? { ...each, evse, transaction } : each));
  }

  /** The transaction that the profile with that id waits for will not begin. @returns false if no such profile waits */
  forgetWaiting(id: number): boolean {
    const kept = this.#profiles.filter((each) => each.id !== id || !isWaiting(each));
    if (kept.length === this.#profiles.length) return false;
    this.#profiles = kept;
    return true;
  }

  /** @returns the number of removed profiles */
  clear({ id, evse, purpose, stackLevel }: CsmsProfileCriteria): number {
    const kept = this.#profiles.filter(
      (each) =>
        (id !== undefined && each.id !== id) ||
        (evse !== undefined && each.evse !== evse) ||
        (purpose !== undefined && each.purpose !== purpose) ||
        (stackLevel !== undefined && each.stackLevel !== stackLevel),
    );
    const cleared = this.#profiles.length - kept.length;
    if (cleared > 0) this.#profiles = kept;
    return cleared;
  }

  /** Lowest limit from `fromMs` to `untilMs`, both included, A per phase; infinite without a limit. */
  lowestA(connector: LimitedConnector, fromMs: number, untilMs: number): number {
    const beganAtMs = this.#beganAtMs(connector, fromMs);
    const stacked = this.#profiles
      .filter((each) => appliesTo(each, connector))
      .sort((a, b) => rankOf(b) - rankOf(a) || b.stackLevel - a.stackLevel || b.evse - a.evse);
    const instants = new Set([fromMs]);
    for (const profile of stacked)
      for (const atMs of changesOf(profile, beganAtMs, fromMs))
        if (atMs > fromMs && atMs <= untilMs) instants.add(atMs);
    let lowestA = Number.POSITIVE_INFINITY;
    for (const atMs of instants) {
      for (const profile of stacked) {
        const limitA = limitAt(profile, connector, beganAtMs, atMs);
        if (limitA === undefined) continue;
        lowestA = Math.min(lowestA, limitA);
        break;
      }
    }
    return lowestA;
  }

  #beganAtMs({ evse, transaction }: LimitedConnector, nowMs: number): number {
    if (transaction === undefined) return nowMs;
    this.began(evse, transaction, nowMs);
    return this.#begun.find((each) => each.evse === evse)?.atMs ?? nowMs;
  }
}

function isWaiting({ purpose, transaction }: CsmsProfile): boolean {
  return purpose === 'transaction' && transaction === undefined;
}

function appliesTo({ evse, purpose, transaction }: CsmsProfile, connector: LimitedConnector): boolean {
  if (evse !== 0 && evse !== connector.evse) return false;
  return purpose === 'default' || (transaction !== undefined && transaction === connector.transaction);
}

/** The profile of a transaction precedes any default. */
function rankOf({ purpose }: CsmsProfile): number {
  return purpose === 'transaction' ? 1 : 0;
}

/** Start of the schedule that applies at `atMs`. */
function startOf({ kind, startsAtMs }: CsmsProfile, beganAtMs: number, atMs: number): number {
  if (kind === 'relative') return beganAtMs;
  if (kind === 'absolute') return startsAtMs;
  const cycleMs = CYCLE_MS[kind];
  return startsAtMs + Math.floor((atMs - startsAtMs) / cycleMs) * cycleMs;
}

function limitAt(
  profile: CsmsProfile,
  { phases, voltageV, dc }: LimitedConnector,
  beganAtMs: number,
  atMs: number,
): number | undefined {
  const { validFromMs = atMs, validToMs = Number.POSITIVE_INFINITY, durationS, unit, periods } = profile;
  const elapsedMs = atMs - startOf(profile, beganAtMs, atMs);
  if (atMs < validFromMs || atMs >= validToMs || elapsedMs < 0) return undefined;
  if (durationS !== undefined && elapsedMs >= 1000 * durationS) return undefined;
  const period = periods.findLast(({ startS }) => 1000 * startS <= elapsedMs);
  if (period === undefined) return undefined;
  const { limit } = period;
  if (dc !== undefined) return ampereOfDcW(unit === 'W' ? limit : limit * dc.maxVoltageV, dc);
  return unit === 'A' ? limit : limit / (voltageV * Math.min(phases, period.phases ?? 3));
}

/** Instants at which the limit may change, in the cycle around `fromMs` and in the next one. */
function changesOf(profile: CsmsProfile, beganAtMs: number, fromMs: number): readonly number[] {
  const { kind, durationS = 0, periods, validFromMs = fromMs, validToMs = fromMs } = profile;
  const startMs = startOf(profile, beganAtMs, fromMs);
  const cycleMs = kind === 'daily' || kind === 'weekly' ? CYCLE_MS[kind] : 0;
  const offsetsMs = [...periods.map(({ startS }) => 1000 * startS), 1000 * durationS];
  const starts = cycleMs === 0 ? [startMs] : [startMs, startMs + cycleMs];
  return [validFromMs, validToMs, ...starts.flatMap((atMs) => offsetsMs.map((offsetMs) => atMs + offsetMs))];
}
