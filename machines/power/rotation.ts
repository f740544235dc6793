// Charging rotation if not all floors of 6 A fit. Cars in their turn come first, then those with the least charging and
// the longest wait.

import { wattsOfTenths } from '../values/units.js';
import { type Connector, floorWOf, isLocked, turnOf } from './connector.js';
import { NO_TURN, type Turn } from './connector.machine.js';

/** Shortest and longest turn while other cars are pending. */
export const TURN_MS = 15 * 60_000;
export const LONGEST_TURN_MS = 90 * 60_000;
/** Longest wait for a turn, unless that would need turns below the shortest one. */
const LONGEST_WAIT_MS = 120 * 60_000;
/**
 * Charging beyond this time does not lower a car's rank further. A car that charged all night does not lose the whole
 * day.
 */
const MOST_CHARGED_MS = 2 * LONGEST_TURN_MS;
/** A car that was just paused or resumed keeps that state for this long. */
export const DWELL_MS = 60_000;
/** A lowered charger acknowledges within this time, unless it does so only with its next heartbeat. */
const ACKNOWLEDGED_WITHIN_MS = 2_000;

/** An event of the connector's machine that begins or ends a turn of its car. */
export type TurnEvent =
  | { readonly type: 'charging.allowed'; readonly nowMs: number }
  | { readonly type: 'charging.paused'; readonly nowMs: number }
  | { readonly type: 'car.left' };

/** In the order of charging. */
const RANKS = { keptOn: 0, inTurn: 1, waiting: 2, pastTurn: 3, resting: 4 } as const;

/** The car charges and would not wake up after a pause, so it is paused only after all others. */
export function isKeptOn(connector: Connector): boolean {
  return connector.provisioned.spec.neverPause === true && turnOf(connector).onSinceMs !== undefined;
}

/**
 * Length of a turn. Each start and stop costs the car something, so turns are as long as the pending cars can bear. If
 * twice as many cars are pending as charge, each of them is pending for two turns.
 */
export class TurnLength {
  #charging = 0;
  #waiting = 0;

  count(connector: Connector, turn = turnOf(connector)): void {
    if (isWaiting(connector, turn)) this.#waiting++;
    else if (turn.onSinceMs !== undefined && !isLocked(connector) && takesTurns(connector)) this.#charging++;
  }

  get isAnyWaiting(): boolean {
    return this.#waiting > 0;
  }

  get ms(): number {
    if (this.#waiting === 0) return LONGEST_TURN_MS;
    return Math.min(Math.max((LONGEST_WAIT_MS * this.#charging) / this.#waiting, TURN_MS), LONGEST_TURN_MS);
  }
}

/** Power that a pause frees for others, W; the unavoidable reservation is excluded. */
function freedW(connector: Connector): number {
  const { account } = connector;
  return floorWOf(connector) - wattsOfTenths(account.alwaysReservedTenthsA, account.milliwattsPerTenth);
}

/** The same for each circuit phase that the connector loads, tenths of an ampere. */
function freedTenthsA({ account }: Connector): number {
  return account.leastTenthsA - account.alwaysCarriedTenthsA;
}

/** The connector takes part in the rotation: its pause frees capacity that others can use. */
function takesTurns(connector: Connector): boolean {
  return freedW(connector) > 0 || (connector.account.circuitPhases.length > 0 && freedTenthsA(connector) > 0);
}

/** The car wants to charge but may not. */
function isWaiting(connector: Connector, turn = turnOf(connector)): boolean {
  const { hasCar, isResting } = connector.car.demand;
  return hasCar && !isResting && !isLocked(connector) && turn.onSinceMs === undefined;
}

/** The car may charge, for less than `turnMs` so far. */
export function isInTurn({ onSinceMs }: Turn, nowMs: number, turnMs: number): boolean {
  return onSinceMs !== undefined && nowMs - onSinceMs < turnMs;
}

function rankOf({ turn, isKeptOn, isCarResting }: InRotation, nowMs: number, turnMs: number): number {
  if (isKeptOn) return RANKS.keptOn;
  // A pause would interrupt no current.
  if (isCarResting) return RANKS.resting;
  if (turn.onSinceMs === undefined) return RANKS.waiting;
  return isInTurn(turn, nowMs, turnMs) ? RANKS.inTurn : RANKS.pastTurn;
}

/** The minimum pause is not over. */
export function isDwelling({ pausedSinceMs }: Turn, nowMs: number): boolean {
  return pausedSinceMs !== undefined && nowMs - pausedSinceMs < DWELL_MS;
}

/**
 * The pause ends so soon that its capacity must be freed now. Others that use it meanwhile have to acknowledge a
 * decrease, and the settling time has to pass.
 * @param settleMs time from an acknowledged decrease until its capacity is free, ms
 */
export function isAboutToResume(turn: Turn, nowMs: number, settleMs: number): boolean {
  return isDwelling(turn, nowMs) && !isDwelling(turn, nowMs + roomMadeWithinMs(settleMs));
}

function roomMadeWithinMs(settleMs: number): number {
  return settleMs + ACKNOWLEDGED_WITHIN_MS;
}

/**
 * Interval between pauses. The previous car has settled by then, so that only one car pauses at a time and the others
 * continue.
 */
export function swapsApartMs(settleMs: number): number {
  return roomMadeWithinMs(settleMs);
}

const NOBODY: ReadonlySet<InRotation> = new Set();

/** Parameters of the rotation. */
export interface Swaps {
  /** Cars that pass their turns on in the order of a policy (R53). */
  readonly inOrder?: ReadonlySet<InRotation>;
  /** Before this time no car past its turn pauses, because another has just done so. */
  readonly swapsFromMs: number;
  readonly turnMs: number;
}

/** A connector with a car that may charge in turn. */
export interface InRotation {
  readonly connector: Connector;
  readonly turn: Turn;
  readonly isKeptOn: boolean;
  readonly isCarResting: boolean;
  /** Begin of the turn, of the pause, or of the car's stay. */
  readonly sinceMs: number;
  /** One of `RANKS`. */
  rank: number;
}

/**
 * Keeps cars past their turn in turn, except for those whose pause lets a pending car charge. Before `swapsFromMs` all
 * stay.
 */
function keepOthersInTurn(
  ranked: readonly InRotation[],
  nowMs: number,
  { swapsFromMs, inOrder = NOBODY }: Swaps,
  byWait: (a: InRotation, b: InRotation) => number,
): void {
  const past = ranked.filter(({ rank }) => rank === RANKS.pastTurn).sort((a, b) => a.sinceMs - b.sinceMs);
  if (past.length === 0) return;
  const waiting = ranked.filter(({ rank }) => rank === RANKS.waiting).sort(byWait);
  const leaving = new Set(nowMs < swapsFromMs ? [] : leavingFor(waiting, past, inOrder));
  for (const each of past) if (!leaving.has(each)) each.rank = RANKS.inTurn;
}

/**
 * The instant since which a car waits in effect: a minute of charging since its arrival offsets a minute of waiting.
 * Cars in the order of a policy wait as long as they do on average, because a turn of one serves another. Otherwise
 * the last of them would always be the first to wait, and all others would lose their turns to it.
 */
function waitsInEffect(
  ranked: readonly InRotation[],
  nowMs: number,
  inOrder: ReadonlySet<InRotation>,
): (each: InRotation) => number {
  const ownSinceMs = ({ sinceMs, turn, connector }: InRotation) =>
    (turn.onSinceMs === undefined ? sinceMs : nowMs) +
    Math.min(connector.car.demand.chargedMs, MOST_CHARGED_MS);
  if (inOrder.size === 0) return ownSinceMs;
  let sumMs = 0;
  for (const each of ranked) if (inOrder.has(each)) sumMs += ownSinceMs(each);
  const meanMs = sumMs / inOrder.size;
  return (each) => (inOrder.has(each) ? meanMs : ownSinceMs(each));
}

/**
 * The cars of `past`, longest in turn first, that one of `waiting` needs; all of them if they suffice for none. Among
 * the cars in the order of a policy, the order decides.
 */
function leavingFor(
  waiting: readonly InRotation[],
  past: readonly InRotation[],
  inOrder: ReadonlySet<InRotation>,
): readonly InRotation[] {
  for (const next of waiting) {
    const { connector } = next;
    const circuitPhase =
      typeof connector.decided.limitedBy === 'number' ? connector.decided.limitedBy : undefined;
    const leaving: InRotation[] = [];
    let left = circuitPhase === undefined ? floorWOf(connector) : connector.account.leastTenthsA;
    for (const each of past) {
      if (inOrder.has(next) && inOrder.has(each)) continue;
      const { account } = each.connector;
      if (circuitPhase !== undefined && !account.circuitPhases.includes(circuitPhase)) continue;
      const freed = circuitPhase === undefined ? freedW(each.connector) : freedTenthsA(each.connector);
      if (freed <= 0) continue;
      leaving.push(each);
      left -= freed;
      if (left <= 0) return leaving;
    }
  }
  return past;
}

/**
 * Sorts in rotation order; ties by key, so that every run decides alike. Among pending cars, the one with the least
 * charging less waiting time comes first.
 */
export function sortByRotation(
  ranked: InRotation[],
  nowMs: number,
  swaps: Swaps = { swapsFromMs: Number.NEGATIVE_INFINITY, turnMs: TURN_MS },
): void {
  for (const each of ranked) each.rank = rankOf(each, nowMs, swaps.turnMs);
  const sinceMs = waitsInEffect(ranked, nowMs, swaps.inOrder ?? NOBODY);
  const byWait = (a: InRotation, b: InRotation) => sinceMs(a) - sinceMs(b);
  keepOthersInTurn(ranked, nowMs, swaps, byWait);
  // Among cars past their turn, the one with the shortest excess comes first.
  ranked.sort(
    (a, b) =>
      a.rank - b.rank ||
      (a.rank === RANKS.waiting ? byWait(a, b) : 0) ||
      (a.rank === RANKS.pastTurn ? b.sinceMs - a.sinceMs : a.sinceMs - b.sinceMs) ||
      (a.connector.key < b.connector.key ? -1 : 1),
  );
}

/**
 * Event that the decided target causes in the connector's machine; undefined if its car neither begins nor ends a turn.
 * A raise counts from the decision on, even while others still have to release capacity.
 */
export function turnEventOf(connector: Connector, nowMs: number): TurnEvent | undefined {
  const { actor, account } = connector;
  const { demand } = connector.car;
  const { targetTenthsA } = connector.decided;
  const { throttle } = actor.getSnapshot().value;
  if (!demand.hasCar) return throttle === 'idle' ? undefined : { type: 'car.left' };
  if (targetTenthsA >= account.leastTenthsA)
    return throttle === 'charging' ? undefined : { type: 'charging.allowed', nowMs };
  return throttle === 'charging' ? { type: 'charging.paused', nowMs } : undefined;
}

/** The turn after that event. */
export function turnAfter(connector: Connector, event: TurnEvent | undefined, nowMs: number): Turn {
  switch (event?.type) {
    case 'charging.allowed':
      return { onSinceMs: nowMs, pausedSinceMs: undefined };
    case 'charging.paused':
      return { onSinceMs: undefined, pausedSinceMs: nowMs };
    case 'car.left':
      return NO_TURN;
    case undefined:
      return turnOf(connector);
  }
}

/**
 * Next time at which the order or the shares change by time alone; undefined if no connector is pending.
 * @param turns of all cars, after the connectors follow the decided targets
 * @param settleMs as in `isAboutToResume`
 */
export function nextTurnAtMs(
  turns: readonly { readonly connector: Connector; readonly turn: Turn }[],
  nowMs: number,
  settleMs: number,
  fixedTurnMs?: number,
): number | undefined {
  const length = new TurnLength();
  let lastPauseMs = Number.NEGATIVE_INFINITY;
  let isAnyPending = false;
  for (const { connector, turn } of turns) {
    length.count(connector, turn);
    lastPauseMs = Math.max(lastPauseMs, turn.pausedSinceMs ?? lastPauseMs);
    // A resting car takes no turn from others, but may use their remainder after its minimum pause.
    if (turn.onSinceMs === undefined)
      isAnyPending ||= !connector.car.demand.isResting || isDwelling(turn, nowMs);
  }
  if (!isAnyPending) return undefined;
  const turnMs = fixedTurnMs ?? length.ms;
  const swapsFromMs = lastPauseMs + swapsApartMs(settleMs);
  let nextMs = Number.POSITIVE_INFINITY;
  for (const { turn } of turns) {
    const { onSinceMs, pausedSinceMs } = turn;
    const startedMs = onSinceMs ?? pausedSinceMs;
    if (startedMs === undefined) continue;
    const dwellsUntilMs = startedMs + DWELL_MS;
    const otherMs = onSinceMs === undefined ? dwellsUntilMs - roomMadeWithinMs(settleMs) : onSinceMs + turnMs;
    for (const atMs of [dwellsUntilMs, otherMs]) if (atMs > nowMs) nextMs = Math.min(nextMs, atMs);
    // A car past its turn pauses after those before it.
    const isPast = onSinceMs !== undefined && otherMs <= nowMs;
    if (isPast && swapsFromMs > nowMs) nextMs = Math.min(nextMs, swapsFromMs);
  }
  return nextMs < Number.POSITIVE_INFINITY ? nextMs : undefined;
}
