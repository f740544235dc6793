// Sums up the figures of a run per location and connector, for the table at its end and for summary.json.
import { compareNaturally } from '../../machines/values/natural-order.js';
import type { EpochMs } from '../../machines/values/time.js';
import type { TraceEvent } from '../log/trace-event.js';
import type { EventOf } from '../log/trace-state.js';
import { ConnectorAccount, type ConnectorSummary, type SessionShares } from './connector-account.js';

// Sums up the power of one location against its limit, event by event.
interface PowerSummary {
  readonly peakW: number;
  /** The limit in force at the time of the peak; absent if there was none. */
  readonly limitAtPeakW?: number;
  /** Highest ratio of power to the limit that it must not exceed; absent if there was never a limit. */
  readonly highestShare?: number;
  readonly energyWh: number;
  /** Energy as a share of the energy that the limit in force would have allowed, over the time with a limit. */
  readonly utilisation?: number;
  /** Integral of the power above the limit that it must not exceed, in kWs. */
  readonly overshootKws: number;
}

interface LocationAccount {
  /** The limit that power must not exceed: after an unannounced decrease, the earlier one for a while. */
  allowed(atMs: EpochMs, allowedW: number): void;
  /** The limit in force; without a call, it is the limit that power must not exceed. */
  inForce(atMs: EpochMs, limitW: number): void;
  power(atMs: EpochMs, powerW: number): void;
  total(endsAtMs: EpochMs): PowerSummary;
}

const MS_PER_HOUR = 3_600_000;
const WMS_PER_KWS = 1_000_000;

function createLocationAccount(startsAtMs: EpochMs): LocationAccount {
  let allowedW = Number.MAX_SAFE_INTEGER;
  let inForceW: number | undefined;
  let powerW = 0;
  let addedUpToMs = startsAtMs;
  let peakW = 0;
  let limitAtPeakW: number | undefined;
  let highestShare: number | undefined;
  let drawnWms = 0;
  let limitedWms = 0;
  let limitWms = 0;
  let overWms = 0;

  /** Adds up the state that lasted until `atMs`. Of two changes at one instant, the first has no duration. */
  function addUpTo(atMs: EpochMs): void {
    const ms = atMs - addedUpToMs;
    addedUpToMs = atMs;
    if (ms === 0) return;
    const limitW = inForceW ?? allowedW;
    const isLimited = limitW < Number.MAX_SAFE_INTEGER;
    drawnWms += powerW * ms;
    if (powerW > peakW) {
      peakW = powerW;
      limitAtPeakW = isLimited ? limitW : undefined;
    }
    if (isLimited) {
      limitedWms += powerW * ms;
      limitWms += limitW * ms;
    }
    if (allowedW === Number.MAX_SAFE_INTEGER) return;
    overWms += Math.max(powerW - allowedW, 0) * ms;
    if (allowedW > 0) highestShare = Math.max(powerW / allowedW, highestShare ?? 0);
  }

  return {
    allowed(atMs, changedW) {
      addUpTo(atMs);
      allowedW = changedW;
    },
    inForce(atMs, changedW) {
      addUpTo(atMs);
      inForceW = changedW;
    },
    power(atMs, changedW) {
      addUpTo(atMs);
      powerW = changedW;
    },
    total(endsAtMs) {
      addUpTo(endsAtMs);
      return {
        peakW,
        ...(limitAtPeakW === undefined ? {} : { limitAtPeakW }),
        ...(highestShare === undefined ? {} : { highestShare }),
        energyWh: Math.round(drawnWms / MS_PER_HOUR),
        ...(limitWms === 0 ? {} : { utilisation: limitedWms / limitWms }),
        overshootKws: overWms / WMS_PER_KWS,
      };
    },
  };
}

export interface LocationSummary extends PowerSummary {
  readonly locationId: string;
  readonly sessions: number;
  readonly requestedWh: number;
  /** Energy of sessions; `energyWh` also contains energy without a session. */
  readonly deliveredWh: number;
  /** Both absent if no car came. */
  readonly startsPerSession?: number;
  readonly stopsPerSession?: number;
  readonly limitChanges: number;
  readonly lockedThrottledS: number;
  /** Jain's index over the share of its request that each session got: 1 for equal shares. Absent without sessions. */
  readonly fairness?: number;
  readonly violations: number;
  /** Sorted by charger and id, numbers by value. */
  readonly connectors: readonly ConnectorSummary[];
}

export interface Summary {
  readonly startsAtMs: EpochMs;
  readonly endsAtMs: EpochMs;
  readonly events: number;
  /** Number of all violations of all kinds. */
  readonly violations: number;
  readonly firstViolation?: EventOf<'violation'>;
  /** Sorted by id, numbers in it by value. */
  readonly locations: readonly LocationSummary[];
}

interface Location {
  readonly power: LocationAccount;
  readonly connectors: Map<string, ConnectorAccount>;
  violations: number;
}

export class SummaryFold {
  readonly #startsAtMs: EpochMs;
  readonly #locations = new Map<string, Location>();
  readonly #accounts = new Map<string, Map<string, ConnectorAccount>>();
  readonly #locationOfTarget = new Map<string, Location>();
  #events = 0;
  #violations = 0;
  #firstViolation: EventOf<'violation'> | undefined;

  constructor(startsAtMs: EpochMs) {
    this.#startsAtMs = startsAtMs;
  }

  add(event: TraceEvent): void {
    this.#events++;
    if (event.kind === 'connector') this.#accountOf(event).change(event);
    else if (event.kind === 'power') this.#locationOf(event.locationId).power.power(event.atMs, event.powerW);
    else if (event.kind === 'limit')
      this.#locationOf(event.locationId).power.allowed(event.atMs, event.limitW);
    else if (event.kind === 'limits')
      this.#locationOf(event.locationId).power.inForce(event.atMs, event.limitW);
    else if (event.kind === 'session') this.#accountOf(event).session(event);
    else if (event.kind === 'violation') this.#violate(event);
  }

  /** No event may be added afterwards. */
  finish(endsAtMs: EpochMs): Summary {
    return {
      startsAtMs: this.#startsAtMs,
      endsAtMs,
      events: this.#events,
      violations: this.#violations,
      ...(this.#firstViolation === undefined ? {} : { firstViolation: this.#firstViolation }),
      locations: [...this.#locations.entries()]
        .sort(([a], [b]) => compareNaturally(a, b))
        .map(([locationId, location]) => summaryOf(locationId, location, endsAtMs)),
    };
  }

  #locationOf(locationId: string): Location {
    const held = this.#locations.get(locationId);
    if (held !== undefined) return held;
    const location = { power: createLocationAccount(this.#startsAtMs), connectors: new Map(), violations: 0 };
    this.#locations.set(locationId, location);
    this.#locationOfTarget.set(locationId, location);
    return location;
  }

  #accountOf(event: EventOf<'connector' | 'session'>): ConnectorAccount {
    const held = this.#accounts.get(event.controllerUuid)?.get(event.connectorId);
    return held ?? this.#openAccount(event);
  }

  #openAccount(event: EventOf<'connector' | 'session'>): ConnectorAccount {
    const { controllerUuid, connectorId } = event;
    const target = `${controllerUuid}/${connectorId}`;
    const account = new ConnectorAccount({ controllerUuid, connectorId });
    const location = this.#locationOf(event.locationId);
    location.connectors.set(target, account);
    this.#locationOfTarget.set(controllerUuid, location);
    this.#locationOfTarget.set(target, location);
    const siblings = this.#accounts.get(controllerUuid);
    if (siblings === undefined) this.#accounts.set(controllerUuid, new Map([[connectorId, account]]));
    else siblings.set(connectorId, account);
    return account;
  }

  #violate(event: EventOf<'violation'>): void {
    this.#violations++;
    this.#firstViolation ??= event;
    const location = this.#locationOfTarget.get(event.target);
    if (location !== undefined) location.violations++;
  }
}

function summaryOf(locationId: string, location: Location, endsAtMs: EpochMs): LocationSummary {
  const totals = [...location.connectors]
    .sort(([a], [b]) => compareNaturally(a, b))
    .map(([, account]) => account.total(endsAtMs));
  const connectors = totals.map(({ summary }) => summary);
  const sum = (of: (connector: ConnectorSummary) => number) =>
    connectors.reduce((total, connector) => total + of(connector), 0);
  const sessions = sum((connector) => connector.sessions);
  const fairness = jainOf(totals.map(({ shares }) => shares));
  return {
    locationId,
    ...location.power.total(endsAtMs),
    sessions,
    requestedWh: sum((connector) => connector.requestedWh),
    deliveredWh: sum((connector) => connector.deliveredWh),
    ...(sessions === 0
      ? {}
      : {
          startsPerSession: sum(({ starts }) => starts) / sessions,
          stopsPerSession: sum(({ stops }) => stops) / sessions,
        }),
    limitChanges: sum((connector) => connector.limitChanges),
    lockedThrottledS: sum((connector) => connector.lockedThrottledS),
    ...(fairness === undefined ? {} : { fairness }),
    violations: location.violations,
    connectors,
  };
}

/** (Σx)² / (n Σx²), undefined without sessions. If no session got energy, all shares are equal, and the index is 1. */
function jainOf(shares: readonly SessionShares[]): number | undefined {
  const count = shares.reduce((total, share) => total + share.count, 0);
  const sum = shares.reduce((total, share) => total + share.sum, 0);
  const sumOfSquares = shares.reduce((total, share) => total + share.sumOfSquares, 0);
  if (count === 0) return undefined;
  return sumOfSquares === 0 ? 1 : (sum * sum) / (count * sumOfSquares);
}
