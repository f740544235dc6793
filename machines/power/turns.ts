// Whose turn it is to charge where not everybody's floor of 6 A fits: those in their turn, then those that waited longest.

import type { Throttle } from './connector.machine.js';
import { type ConnectorControl, throttleOf, turnOf } from './connector-control.js';

/** How long a turn lasts while others wait. */
export const TURN_MS = 15 * 60_000;
/** A car that was just paused, or just let charge, is not switched back for this long. */
export const DWELL_MS = 60_000;
/** A charger that is lowered has acknowledged it by then, unless it does so with its next heartbeat only. */
const ACKNOWLEDGED_WITHIN_MS = 2_000;

/** In the order they are let charge. */
const RANKS = { inTurn: 0, waiting: 1, pastTurn: 2, resting: 3 } as const;

function rankOf(control: ConnectorControl, nowMs: number): number {
  const { demand } = control;
  const { onSinceMs } = turnOf(control);
  // No current flows that a pause would cut off.
  if (demand.isResting) return RANKS.resting;
  if (onSinceMs === undefined) return RANKS.waiting;
  return nowMs - onSinceMs < TURN_MS ? RANKS.inTurn : RANKS.pastTurn;
}

/** Whether a connector was paused so recently that it stays so. */
export function isDwelling(control: ConnectorControl, nowMs: number): boolean {
  const { pausedSinceMs } = turnOf(control);
  return throttleOf(control) === 'paused' && pausedSinceMs !== undefined && nowMs - pausedSinceMs < DWELL_MS;
}

/**
 * Whether its pause ends so soon that what it is due then must be made free now: others that use it meanwhile have to
 * acknowledge that they were lowered, and the settling time has to pass.
 * @param settleMs after which an acknowledged decrease has freed what it took.
 */
export function isAboutToResume(control: ConnectorControl, nowMs: number, settleMs: number): boolean {
  return isDwelling(control, nowMs) && !isDwelling(control, nowMs + roomMadeWithinMs(settleMs));
}

function roomMadeWithinMs(settleMs: number): number {
  return settleMs + ACKNOWLEDGED_WITHIN_MS;
}

/** The connectors in the order of their turns; ties by key, so that every run decides alike. */
export function inTurnOrder(controls: readonly ConnectorControl[], nowMs: number): ConnectorControl[] {
  const ranked = controls.map((control) => {
    const { onSinceMs, pausedSinceMs } = turnOf(control);
    return {
      control,
      rank: rankOf(control, nowMs),
      sinceMs: onSinceMs ?? pausedSinceMs ?? control.demand.arrivedAtMs,
    };
  });
  // The one that waited longest goes first; of those past their turn, the one that has had the least of it.
  ranked.sort(
    (a, b) =>
      a.rank - b.rank ||
      (a.rank === RANKS.pastTurn ? b.sinceMs - a.sinceMs : a.sinceMs - b.sinceMs) ||
      (a.control.key < b.control.key ? -1 : 1),
  );
  return ranked.map(({ control }) => control);
}

/**
 * Tells the connector's machine what the decision gives it beside what its car wants, where that is another than before,
 * or a car came or went. A raise counts from the decision on, though it may still wait for others to make room.
 */
export function followDecision(control: ConnectorControl, nowMs: number): void {
  const { actor, demand } = control;
  const { hasCar } = demand;
  const throttle = decidedThrottle(control);
  const { onSinceMs, pausedSinceMs } = turnOf(control);
  const hasTurn = onSinceMs !== undefined || pausedSinceMs !== undefined;
  const isTurnDue = hasCar ? throttle !== 'paused' && onSinceMs === undefined : hasTurn;
  if (throttle === throttleOf(control) && !isTurnDue) return;
  actor.send({ type: 'throttle.changed', throttle, hasCar, nowMs });
}

function decidedThrottle({ targetTenthsA, demand, holding }: ConnectorControl): Throttle {
  if (!demand.hasCar) return 'free';
  if (targetTenthsA < holding.leastTenthsA) return 'paused';
  if (targetTenthsA >= Math.min(demand.mostTenthsA, holding.maxTenthsA)) return 'free';
  return targetTenthsA === holding.leastTenthsA ? 'minimum' : 'limited';
}

/**
 * When the order, or who has a share, changes next by time alone; undefined where no connector waits.
 * @param settleMs as in `isAboutToResume`.
 */
export function nextTurnAtMs(
  controls: readonly ConnectorControl[],
  nowMs: number,
  settleMs: number,
): number | undefined {
  let nextMs = Number.POSITIVE_INFINITY;
  let isAnyWaiting = false;
  for (const control of controls) {
    const { demand } = control;
    const { onSinceMs, pausedSinceMs } = turnOf(control);
    if (onSinceMs === undefined) {
      // One that rests takes no turn from others, but may have what they leave once it was paused long enough.
      isAnyWaiting ||= !demand.isResting || isDwelling(control, nowMs);
      if (pausedSinceMs === undefined) continue;
      const endsAtMs = pausedSinceMs + DWELL_MS;
      for (const atMs of [endsAtMs - roomMadeWithinMs(settleMs), endsAtMs]) {
        if (atMs > nowMs) nextMs = Math.min(nextMs, atMs);
      }
    } else {
      for (const endsAtMs of [onSinceMs + DWELL_MS, onSinceMs + TURN_MS]) {
        if (endsAtMs > nowMs) nextMs = Math.min(nextMs, endsAtMs);
      }
    }
  }
  return isAnyWaiting && nextMs < Number.POSITIVE_INFINITY ? nextMs : undefined;
}
