// Whose turn it is to charge where not everybody's floor of 6 A fits: those in their turn, then whoever waited longest.
import type { ConnectorControl } from './connector-control.js';

/** How long a turn lasts while others wait. */
export const TURN_MS = 15 * 60_000;
/** A car that was just paused, or just let charge, is not switched back for this long. */
export const DWELL_MS = 60_000;

/** In the order they are let charge. */
const RANKS = { inTurn: 0, waiting: 1, pastTurn: 2, resting: 3 } as const;

function rankOf(control: ConnectorControl, nowMs: number): number {
  const { demand, onSinceMs } = control;
  // No current flows that a pause would cut off.
  if (demand.isResting) return RANKS.resting;
  if (onSinceMs === undefined) return RANKS.waiting;
  return nowMs - onSinceMs < TURN_MS ? RANKS.inTurn : RANKS.pastTurn;
}

/** Whether a connector was paused so recently that it stays so. */
export function isDwelling({ pausedSinceMs, onSinceMs }: ConnectorControl, nowMs: number): boolean {
  return onSinceMs === undefined && pausedSinceMs !== undefined && nowMs - pausedSinceMs < DWELL_MS;
}

/** The connectors in the order of their turns; ties by key, so that every run decides alike. */
export function inTurnOrder(controls: readonly ConnectorControl[], nowMs: number): ConnectorControl[] {
  const ranked = controls.map((control) => ({
    control,
    rank: rankOf(control, nowMs),
    sinceMs: control.onSinceMs ?? control.pausedSinceMs ?? control.demand.arrivedAtMs,
  }));
  // Whoever waited longest goes first; of those past their turn, whoever has had the least of it.
  ranked.sort(
    (a, b) =>
      a.rank - b.rank ||
      (a.rank === RANKS.pastTurn ? b.sinceMs - a.sinceMs : a.sinceMs - b.sinceMs) ||
      (a.control.key < b.control.key ? -1 : 1),
  );
  return ranked.map(({ control }) => control);
}

/** Writes down whether the connector may charge from now on. */
export function takeTurn(control: ConnectorControl, mayCharge: boolean, nowMs: number): void {
  if (!control.demand.hasCar) {
    control.onSinceMs = undefined;
    control.pausedSinceMs = undefined;
  } else if (mayCharge && control.onSinceMs === undefined) {
    control.onSinceMs = nowMs;
    control.pausedSinceMs = undefined;
  } else if (!mayCharge && control.onSinceMs !== undefined) {
    control.onSinceMs = undefined;
    control.pausedSinceMs = nowMs;
  }
}

/** When the order changes next by time alone, while somebody waits; undefined where nobody does. */
export function nextTurnAtMs(controls: readonly ConnectorControl[], nowMs: number): number | undefined {
  let nextMs = Number.POSITIVE_INFINITY;
  let isSomebodyWaiting = false;
  for (const control of controls) {
    const { onSinceMs, pausedSinceMs, demand } = control;
    if (onSinceMs === undefined) {
      // One that rests takes no turn from others, but may have what they leave once it was paused long enough.
      isSomebodyWaiting ||= !demand.isResting || isDwelling(control, nowMs);
      const endsAtMs = (pausedSinceMs ?? 0) + DWELL_MS;
      if (pausedSinceMs !== undefined && endsAtMs > nowMs) nextMs = Math.min(nextMs, endsAtMs);
    } else {
      for (const endsAtMs of [onSinceMs + DWELL_MS, onSinceMs + TURN_MS]) {
        if (endsAtMs > nowMs) nextMs = Math.min(nextMs, endsAtMs);
      }
    }
  }
  return isSomebodyWaiting && nextMs < Number.POSITIVE_INFINITY ? nextMs : undefined;
}
