// Whose turn it is to charge where not everybody's floor of 6 A fits: those in their turn, then those that had least and waited longest.

import { wattsOfTenths } from '../values/units.js';
import type { Throttle } from './connector.machine.js';
import { type ConnectorControl, floorWOf, isLocked, throttleOf, turnOf } from './connector-control.js';
import { carriedAnywayTenthsA, reservedAnywayTenthsA } from './holding.js';

/** How long a turn lasts at least, and at most, while others wait. */
export const TURN_MS = 15 * 60_000;
export const LONGEST_TURN_MS = 90 * 60_000;
/** Nobody waits longer than this for its turn, where turns are not shortened below the least by it. */
const LONGEST_WAIT_MS = 120 * 60_000;
/** Having charged for longer than this puts a car no further back: one that charged all night is not kept waiting all day. */
const MOST_CHARGED_MS = 2 * LONGEST_TURN_MS;
/** A car that was just paused, or just let charge, is not switched back for this long. */
export const DWELL_MS = 60_000;
/** A charger that is lowered has acknowledged it by then, unless it does so with its next heartbeat only. */
const ACKNOWLEDGED_WITHIN_MS = 2_000;

/** In the order they are let charge. */
const RANKS = { keptOn: 0, inTurn: 1, waiting: 2, pastTurn: 3, resting: 4 } as const;

/** Its car charges, and would not wake up after a pause: it is paused after all others only. */
export function isKeptOn(control: ConnectorControl): boolean {
  return control.spec.neverPause === true && turnOf(control).onSinceMs !== undefined;
}

/**
 * How long a turn lasts: each start and stop costs a car something, so as long as those who wait can bear it. Where twice as
 * many wait as charge, each of them waits for two turns.
 */
export function turnMsOf(controls: Iterable<ConnectorControl>): number {
  let [charging, waiting] = [0, 0];
  for (const control of controls) {
    if (isWaiting(control)) waiting++;
    else if (turnOf(control).onSinceMs !== undefined && !isLocked(control) && takesTurns(control)) charging++;
  }
  if (waiting === 0) return LONGEST_TURN_MS;
  return Math.min(Math.max((LONGEST_WAIT_MS * charging) / waiting, TURN_MS), LONGEST_TURN_MS);
}

/** What its pause would leave to others, W: not what is reserved for it anyway. */
function freedW(control: ConnectorControl): number {
  const { holding } = control;
  return floorWOf(control) - wattsOfTenths(reservedAnywayTenthsA(holding), holding.milliwattsPerTenth);
}

/** The same of each pole that it loads, tenths of an ampere. */
function freedTenthsA({ holding }: ConnectorControl): number {
  return holding.leastTenthsA - carriedAnywayTenthsA(holding);
}

/** It takes turns: others could use something of what it leaves. */
function takesTurns(control: ConnectorControl): boolean {
  return freedW(control) > 0 || (control.holding.poles.length > 0 && freedTenthsA(control) > 0);
}

/** Its car wants to charge, and may not. */
export function isWaiting(control: ConnectorControl): boolean {
  const { hasCar, isResting } = control.demand;
  return hasCar && !isResting && !isLocked(control) && turnOf(control).onSinceMs === undefined;
}

/** Its car may charge, and has not for `turnMs` yet. */
export function isInTurn(control: ConnectorControl, nowMs: number, turnMs: number): boolean {
  const { onSinceMs } = turnOf(control);
  return onSinceMs !== undefined && nowMs - onSinceMs < turnMs;
}

function rankOf(control: ConnectorControl, nowMs: number, turnMs: number): number {
  const { demand } = control;
  const { onSinceMs } = turnOf(control);
  if (isKeptOn(control)) return RANKS.keptOn;
  // No current flows that a pause would cut off.
  if (demand.isResting) return RANKS.resting;
  if (onSinceMs === undefined) return RANKS.waiting;
  return isInTurn(control, nowMs, turnMs) ? RANKS.inTurn : RANKS.pastTurn;
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

/** A car that made room for another has settled by then; only then the next one does, so that the others go on meanwhile. */
export function swapsApartMs(settleMs: number): number {
  return roomMadeWithinMs(settleMs);
}

/** When a car was paused last; minus infinity where none is. */
export function lastPauseAtMs(controls: Iterable<ConnectorControl>): number {
  let lastMs = Number.NEGATIVE_INFINITY;
  for (const control of controls) lastMs = Math.max(lastMs, turnOf(control).pausedSinceMs ?? lastMs);
  return lastMs;
}

/** How turns pass from one car to another. */
export interface Swaps {
  /** Before that nobody whose turn is over makes room: somebody has just done so. */
  readonly swapsFromMs: number;
  readonly turnMs: number;
}

interface Ranked {
  readonly control: ConnectorControl;
  rank: number;
  readonly sinceMs: number;
}

/** Of those past their turn only those stay so that make room for a car that waits, and nobody before `swapsFromMs`. */
function keepOthersInTurn(ranked: readonly Ranked[], nowMs: number, swapsFromMs: number): void {
  const past = ranked.filter(({ rank }) => rank === RANKS.pastTurn).sort((a, b) => a.sinceMs - b.sinceMs);
  if (past.length === 0) return;
  const waiting = ranked.filter(({ rank }) => rank === RANKS.waiting).sort(byWait);
  const leaving = new Set(nowMs < swapsFromMs ? [] : leavingFor(waiting, past));
  for (const each of past) if (!leaving.has(each)) each.rank = RANKS.inTurn;
}

/** The one first that has charged least since it came, where a minute of waiting makes up for a minute of charging. */
function byWait(a: Ranked, b: Ranked): number {
  return waitsInEffectSinceMs(a) - waitsInEffectSinceMs(b);
}

function waitsInEffectSinceMs({ sinceMs, control }: Ranked): number {
  return sinceMs + Math.min(control.demand.chargedMs, MOST_CHARGED_MS);
}

/** As many of `past`, the longest in their turn first, as one of `waiting` needs; all where they suffice for nobody. */
function leavingFor(waiting: readonly Ranked[], past: readonly Ranked[]): readonly Ranked[] {
  for (const { control } of waiting) {
    const pole = typeof control.limitedBy === 'number' ? control.limitedBy : undefined;
    const leaving: Ranked[] = [];
    let left = pole === undefined ? floorWOf(control) : control.holding.leastTenthsA;
    for (const each of past) {
      const { holding } = each.control;
      if (pole !== undefined && !holding.poles.includes(pole)) continue;
      const freed = pole === undefined ? freedW(each.control) : freedTenthsA(each.control);
      if (freed <= 0) continue;
      leaving.push(each);
      left -= freed;
      if (left <= 0) return leaving;
    }
  }
  return past;
}

/**
 * The connectors in the order of their turns; ties by key, so that every run decides alike.
 * Of those that wait, first the one that has charged least, less what it has waited.
 */
export function inTurnOrder(
  controls: readonly ConnectorControl[],
  nowMs: number,
  { swapsFromMs, turnMs }: Swaps = { swapsFromMs: Number.NEGATIVE_INFINITY, turnMs: TURN_MS },
): ConnectorControl[] {
  const ranked = controls.map((control): Ranked => {
    const { onSinceMs, pausedSinceMs } = turnOf(control);
    return {
      control,
      rank: rankOf(control, nowMs, turnMs),
      sinceMs: onSinceMs ?? pausedSinceMs ?? control.demand.arrivedAtMs,
    };
  });
  keepOthersInTurn(ranked, nowMs, swapsFromMs);
  // Of those past their turn the one goes first that has had the least of it.
  ranked.sort(
    (a, b) =>
      a.rank - b.rank ||
      (a.rank === RANKS.waiting ? byWait(a, b) : 0) ||
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
  turnMs = turnMsOf(controls),
): number | undefined {
  const swapsFromMs = lastPauseAtMs(controls) + swapsApartMs(settleMs);
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
      for (const endsAtMs of [onSinceMs + DWELL_MS, onSinceMs + turnMs]) {
        if (endsAtMs > nowMs) nextMs = Math.min(nextMs, endsAtMs);
      }
      // Past its turn, it makes room once those before it have.
      const isPast = onSinceMs + turnMs <= nowMs;
      if (isPast && swapsFromMs > nowMs) nextMs = Math.min(nextMs, swapsFromMs);
    }
  }
  return isAnyWaiting && nextMs < Number.POSITIVE_INFINITY ? nextMs : undefined;
}
