// Sums up the energy, starts, limits and times of one connector, event by event.
import type { LimitReason } from '../../machines/ledger/grant.js';
import type { EpochMs } from '../../machines/values/time.js';
import type { EventOf } from '../log/trace-state.js';

/** The stay of one car. */
export interface SessionSummary {
  readonly sessionId: string;
  readonly arrivedAtMs: EpochMs;
  /** Absent if the car was still there at the end. */
  readonly leftAtMs?: EpochMs;
  readonly requestedWh: number;
  readonly deliveredWh: number;
  readonly starts: number;
  readonly stops: number;
}

export interface ConnectorSummary {
  readonly controllerUuid: string;
  readonly connectorId: string;
  readonly sessions: number;
  readonly requestedWh: number;
  readonly deliveredWh: number;
  readonly peakW: number;
  /** Number of times that power began to flow while a car was there, and number of times that it stopped. */
  readonly starts: number;
  readonly stops: number;
  /** Number of changes of the limit while a car was there. */
  readonly limitChanges: number;
  /**
   * Time during which a car could have taken more power. The cause is a share, a rotation, a lease or a last resort.
   * Pauses are included.
   */
  readonly throttledS: number;
  readonly pausedS: number;
  /** Time with a car during which a priority lock was lowered as a last resort. */
  readonly lockedThrottledS: number;
  /** In the order of arrival. */
  readonly visits: readonly SessionSummary[];
}

/** Sums over the sessions of an account. `share` is the delivered part of the requested energy, at most 1. */
export interface SessionShares {
  readonly count: number;
  readonly sum: number;
  readonly sumOfSquares: number;
}

const MS_PER_HOUR = 3_600_000;
const BELOW_DEMAND: ReadonlySet<LimitReason> = new Set([
  'fairShare',
  'clusterShare',
  'departure',
  'waiting',
  'paused',
  'minimumPause',
  'lastResort',
  'failsafe',
  'reserved',
]);

const PAUSED: ReadonlySet<LimitReason> = new Set(['paused', 'minimumPause']);

export class ConnectorAccount {
  readonly #controllerUuid: string;
  readonly #connectorId: string;
  readonly #sums = {
    sessions: 0,
    requestedWh: 0,
    deliveredWh: 0,
    peakW: 0,
    starts: 0,
    stops: 0,
    limitChanges: 0,
  };
  readonly #shares = { count: 0, sum: 0, sumOfSquares: 0 };
  readonly #lasted = { throttledMs: 0, pausedMs: 0, lockedThrottledMs: 0 };
  #now: EventOf<'connector'> | undefined;
  #car: EventOf<'session'> | undefined;
  #carWms = 0;
  readonly #visits: SessionSummary[] = [];
  /** Starts and stops before the arrival of the current car. */
  #before = { starts: 0, stops: 0 };
  #addedUpToMs: EpochMs = 0;

  constructor(name: {
    readonly controllerUuid: string;
    readonly connectorId: string;
  }) {
    this.#controllerUuid = name.controllerUuid;
    this.#connectorId = name.connectorId;
  }

  /** Adds up the state until `event`, and then takes the new state. */
  change(event: EventOf<'connector'>): void {
    this.#addUpTo(event.atMs);
    if (this.#car !== undefined) {
      const wasFlowing = this.#now !== undefined && this.#now.powerW > 0;
      const isFlowing = event.powerW > 0;
      if (isFlowing && !wasFlowing) this.#sums.starts++;
      if (wasFlowing && !isFlowing) this.#sums.stops++;
      if (this.#now !== undefined && this.#now.limitTenthsA !== event.limitTenthsA) this.#sums.limitChanges++;
    }
    this.#now = event;
  }

  session(event: EventOf<'session'>): void {
    this.#addUpTo(event.atMs);
    // The order of the events of a car and of its power must not matter.
    const isFlowing = this.#now !== undefined && this.#now.powerW > 0;
    if (event.what === 'left') {
      if (this.#car !== undefined && isFlowing) this.#sums.stops++;
      this.#endSession(event.deliveredWh, event.atMs);
      return;
    }
    this.#car = event;
    this.#carWms = 0;
    this.#before = { starts: this.#sums.starts, stops: this.#sums.stops };
    this.#sums.sessions++;
    if (isFlowing) this.#sums.starts++;
    this.#sums.requestedWh += event.requestedWh;
  }

  /** The sums up to `endsAtMs`; a car that is still there counts with the energy so far. */
  total(endsAtMs: EpochMs): { readonly summary: ConnectorSummary; readonly shares: SessionShares } {
    this.#addUpTo(endsAtMs);
    this.#endSession(Math.round(this.#carWms / MS_PER_HOUR));
    const summary = {
      controllerUuid: this.#controllerUuid,
      connectorId: this.#connectorId,
      ...this.#sums,
      throttledS: this.#lasted.throttledMs / 1000,
      pausedS: this.#lasted.pausedMs / 1000,
      lockedThrottledS: this.#lasted.lockedThrottledMs / 1000,
      visits: this.#visits,
    };
    return { summary, shares: this.#shares };
  }

  /** Adds up the state that lasted until `atMs`. */
  #addUpTo(atMs: EpochMs): void {
    const ms = atMs - this.#addedUpToMs;
    this.#addedUpToMs = atMs;
    if (this.#now === undefined || this.#car === undefined || ms === 0) return;
    this.#carWms += this.#now.powerW * ms;
    if (this.#now.powerW > this.#sums.peakW) this.#sums.peakW = this.#now.powerW;
    if (this.#now.status === 'SuspendedEV' || !BELOW_DEMAND.has(this.#now.reason)) return;
    this.#lasted.throttledMs += ms;
    if (PAUSED.has(this.#now.reason)) this.#lasted.pausedMs += ms;
    if (this.#now.reason === 'lastResort') this.#lasted.lockedThrottledMs += ms;
  }

  #endSession(deliveredWh: number, leftAtMs?: EpochMs): void {
    if (this.#car === undefined) return;
    this.#sums.deliveredWh += deliveredWh;
    const { sessionId, atMs: arrivedAtMs, requestedWh } = this.#car;
    this.#visits.push({
      sessionId,
      arrivedAtMs,
      ...(leftAtMs === undefined ? {} : { leftAtMs }),
      requestedWh,
      deliveredWh,
      starts: this.#sums.starts - this.#before.starts,
      stops: this.#sums.stops - this.#before.stops,
    });
    if (this.#car.requestedWh > 0) {
      const share = Math.min(deliveredWh / this.#car.requestedWh, 1);
      this.#shares.count++;
      this.#shares.sum += share;
      this.#shares.sumOfSquares += share * share;
    }
    this.#car = undefined;
  }
}
