// What one connector did for its cars and what was asked of it, added up event by event.
import type { LimitReason } from '../../machines/grant.js';
import type { EpochMs } from '../../machines/time.js';
import type { EventOf } from '../trace/trace-state.js';

export interface ConnectorSummary {
  readonly controllerUuid: string;
  readonly connectorId: string;
  readonly sessions: number;
  readonly requestedWh: number;
  readonly deliveredWh: number;
  readonly peakW: number;
  /** How often power began to flow while a car was there, and how often it ceased. */
  readonly starts: number;
  readonly stops: number;
  /** How often its limit changed while a car was there. */
  readonly limitChanges: number;
  /** A car that would have taken more had less: by shares, turns, leases or a last resort. Pauses are part of it. */
  readonly throttledS: number;
  readonly pausedS: number;
  /** Priority-locked, with a car, and lowered as a last resort. */
  readonly lockedThrottledS: number;
}

/** What the sessions of an account sum up to; `share` is delivered of requested, at most 1. */
export interface SessionShares {
  readonly count: number;
  readonly sum: number;
  readonly sumOfSquares: number;
}

export interface ConnectorAccount {
  /** What it was up to `event`, and then what it is. */
  change(event: EventOf<'connector'>): void;
  session(event: EventOf<'session'>): void;
  /** The sums up to `endsAtMs`; a car that is still there counts with what it has got. */
  total(endsAtMs: EpochMs): { readonly summary: ConnectorSummary; readonly shares: SessionShares };
}

const MS_PER_HOUR = 3_600_000;
const BELOW_DEMAND: ReadonlySet<LimitReason> = new Set([
  'fairShare',
  'clusterShare',
  'waiting',
  'paused',
  'minimumPause',
  'lastResort',
  'failsafe',
]);

const PAUSED: ReadonlySet<LimitReason> = new Set(['paused', 'minimumPause']);

export function createConnectorAccount(name: {
  readonly controllerUuid: string;
  readonly connectorId: string;
}): ConnectorAccount {
  const { controllerUuid, connectorId } = name;
  const sums = {
    sessions: 0,
    requestedWh: 0,
    deliveredWh: 0,
    peakW: 0,
    starts: 0,
    stops: 0,
    limitChanges: 0,
  };
  const shares = { count: 0, sum: 0, sumOfSquares: 0 };
  const lasted = { throttledMs: 0, pausedMs: 0, lockedThrottledMs: 0 };
  let now: EventOf<'connector'> | undefined;
  let car: EventOf<'session'> | undefined;
  let carWms = 0;
  let settledAtMs: EpochMs = 0;

  /** Adds what lasted until `atMs`. */
  function settle(atMs: EpochMs): void {
    const ms = atMs - settledAtMs;
    settledAtMs = atMs;
    if (now === undefined || car === undefined || ms === 0) return;
    carWms += now.powerW * ms;
    if (now.powerW > sums.peakW) sums.peakW = now.powerW;
    if (now.status === 'SuspendedEV' || !BELOW_DEMAND.has(now.reason)) return;
    lasted.throttledMs += ms;
    if (PAUSED.has(now.reason)) lasted.pausedMs += ms;
    if (now.reason === 'lastResort') lasted.lockedThrottledMs += ms;
  }

  function endSession(deliveredWh: number): void {
    if (car === undefined) return;
    sums.deliveredWh += deliveredWh;
    if (car.requestedWh > 0) {
      const share = Math.min(deliveredWh / car.requestedWh, 1);
      shares.count++;
      shares.sum += share;
      shares.sumOfSquares += share * share;
    }
    car = undefined;
  }

  return {
    change(event) {
      settle(event.atMs);
      if (car !== undefined) {
        const wasFlowing = now !== undefined && now.powerW > 0;
        const isFlowing = event.powerW > 0;
        if (isFlowing && !wasFlowing) sums.starts++;
        if (wasFlowing && !isFlowing) sums.stops++;
        if (now !== undefined && now.limitTenthsA !== event.limitTenthsA) sums.limitChanges++;
      }
      now = event;
    },
    session(event) {
      settle(event.atMs);
      // Whether the car or its power is told first must not matter.
      const isFlowing = now !== undefined && now.powerW > 0;
      if (event.what === 'left') {
        if (car !== undefined && isFlowing) sums.stops++;
        endSession(event.deliveredWh);
        return;
      }
      car = event;
      carWms = 0;
      sums.sessions++;
      if (isFlowing) sums.starts++;
      sums.requestedWh += event.requestedWh;
    },
    total(endsAtMs) {
      settle(endsAtMs);
      endSession(Math.round(carWms / MS_PER_HOUR));
      const summary = {
        controllerUuid,
        connectorId,
        ...sums,
        throttledS: lasted.throttledMs / 1000,
        pausedS: lasted.pausedMs / 1000,
        lockedThrottledS: lasted.lockedThrottledMs / 1000,
      };
      return { summary, shares };
    },
  };
}
