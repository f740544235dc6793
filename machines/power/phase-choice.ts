// Selects the phase count of cars at chargers that switch phases: one phase instead of a pause, all phases if that
// serves more.
import type { ConnectorControl } from './connector-control.js';
import type { PhaseCount } from './own-phases.js';
import { canSwitch, isSwitched, recordSwitch, recordWorth } from './reallocated-phases.js';

/**
 * Shortest interval between two switches of a charging car: a switch stops the car for a moment and wears the
 * contactor.
 */
const SWITCHED_APART_MS = 10 * 60_000;
/** Interval between switches of different charging cars, so that the others go on meanwhile. */
const ONE_AFTER_ANOTHER_MS = 30_000;
/** More phases must be better for this long. Otherwise short-lived capacity would switch all cars back and forth. */
const WORTH_FOR_MS = 60_000;
/** A larger gain of power is worth a switch, W. */
const WORTH_W = 1_000;
/** Shares differ only above this difference, W, because limits in whole tenths of an ampere leave small remainders. */
const DIFFERENT_W = 200;

/** Result of a division. */
export interface Served {
  /** Sum of all shares. */
  readonly servedW: number;
  /** Number of cars that want to charge but get nothing. */
  readonly paused: number;
  /** The lowest share of an unlocked car. */
  readonly leastW: number;
}

export interface PhaseChoice {
  /** If false, some car is paused unless fewer phases are used. */
  readonly doFloorsFit: boolean;
  /** The connector is locked or about to be locked, so it keeps all phases. */
  isLocked(control: ConnectorControl): boolean;
  /** New grants to the connector are for this many phases. */
  useOn(control: ConnectorControl, phases: PhaseCount): void;
  /** Result with the current phases, after the leases of uncontrolled connectors have ended. */
  serve(): Served;
  /** The same while these leases still last. */
  serveNow(): Served;
  readonly nowMs: number;
}

/**
 * Switches connectors to the phases that serve the most power. A lease that ends by itself is no reason for one phase,
 * because it ends before a switch pays off. A switch to more phases does await its end. Among equal results, the one
 * with fewest paused cars applies, then the one with the highest lowest share. A tie changes nothing.
 */
export function choosePhases(controls: readonly ConnectorControl[], choice: PhaseChoice): void {
  const { doFloorsFit, isLocked, nowMs } = choice;
  const able = controls.filter((control) => canSwitch(control) && control.car.demand.hasCar);
  const free = able.filter((control) => !isLocked(control));
  // A grant from before the service start is renewed before any switch.
  const isTold = ({ account }: ConnectorControl) => account.lastSeq > 0;
  for (const control of able)
    if (isLocked(control) && isTold(control)) switchTo(control, control.car.session.learnt, choice);
  if (doFloorsFit && !free.some(isSwitched)) {
    for (const control of free) recordWorth(control, 'worthFewerSinceMs', false, nowMs);
    return;
  }
  const rested = free.filter((control) => nowMs - control.car.session.switchedAtMs >= SWITCHED_APART_MS);
  const onMore = (control: ConnectorControl) => !isSwitched(control) && control.account.usedPhases > 1;
  const stopped = free.filter((control) => onMore(control) && !isCharging(control));
  const wider: Way = { controls: rested.filter(isSwitched), phasesOf: ({ car }) => car.session.learnt };
  const toOne = (controls: readonly ConnectorControl[]): Way => ({ controls, phasesOf: () => 1 });
  const all = [...stopped, ...rested.filter((each) => onMore(each) && isCharging(each))];
  const best = bestOf([toOne(stopped), toOne(all), wider], choice);
  const isWider = best?.way === wider && isWorthNow(wider, choice);
  const isFewer = best !== undefined && best.way !== wider;
  for (const control of free) {
    recordWorth(control, 'worthMoreSinceMs', isWider, nowMs);
    recordWorth(control, 'worthFewerSinceMs', isFewer, nowMs);
  }
  const isDue = ({ car: { session } }: ConnectorControl) => {
    if (isWider) return nowMs - (session.worthMoreSinceMs ?? nowMs) >= WORTH_FOR_MS;
    const isAtOnce = (best?.gainW ?? 0) >= WORTH_W;
    return isAtOnce || nowMs - (session.worthFewerSinceMs ?? nowMs) >= SWITCHED_APART_MS;
  };
  if (isWider || isFewer) follow({ ...best.way, controls: best.way.controls.filter(isDue) }, free, choice);
}

/** Next time at which a switch may become possible; infinite if none is outstanding. */
export function nextSwitchAtMs(controls: readonly ConnectorControl[], nowMs: number): number {
  let nextMs = Number.POSITIVE_INFINITY;
  for (const control of controls) {
    if (!canSwitch(control)) continue;
    const never = Number.NEGATIVE_INFINITY;
    const { switchedAtMs, worthMoreSinceMs = never, worthFewerSinceMs = never } = control.car.session;
    for (const atMs of [
      worthFewerSinceMs + SWITCHED_APART_MS,
      switchedAtMs + ONE_AFTER_ANOTHER_MS,
      switchedAtMs + SWITCHED_APART_MS,
      worthMoreSinceMs + WORTH_FOR_MS,
    ])
      if (atMs > nowMs) nextMs = Math.min(nextMs, atMs);
  }
  return nextMs;
}

/** Candidate: other phase counts for some connectors. */
interface Way {
  readonly controls: readonly ConnectorControl[];
  phasesOf(control: ConnectorControl): PhaseCount;
}

/** The best candidate with its gain in W; undefined if none is better than the current phases. */
function bestOf(every: readonly Way[], choice: PhaseChoice) {
  const ways = every.filter(({ controls }) => controls.length > 0);
  if (ways.length === 0) return undefined;
  const now = choice.serve();
  let best: { readonly way: Way; readonly gainW: number } | undefined;
  let most = now;
  for (const way of ways) {
    const served = servedBy(way, choice);
    if (!isBetter(served, most)) continue;
    best = { way, gainW: served.servedW - now.servedW };
    most = served;
  }
  return best;
}

function isWorthNow(way: Way, choice: PhaseChoice): boolean {
  const { useOn, serveNow } = choice;
  return isBetter(servedBy(way, { useOn, serve: serveNow }), serveNow());
}

function servedBy(
  { controls, phasesOf }: Way,
  { useOn, serve }: Pick<PhaseChoice, 'useOn' | 'serve'>,
): Served {
  const before = controls.map(({ account }) => account.usedPhases);
  for (const control of controls) useOn(control, phasesOf(control));
  const served = serve();
  for (const [i, control] of controls.entries()) useOn(control, before[i] ?? 1);
  return served;
}

function isBetter(next: Served, than: Served): boolean {
  if (next.servedW >= than.servedW + WORTH_W) return true;
  if (next.servedW < than.servedW - DIFFERENT_W) return false;
  if (next.paused !== than.paused) return next.paused < than.paused;
  return next.leastW > than.leastW + DIFFERENT_W;
}

/** Switches all connectors without current, and one of the charging ones. */
function follow({ controls, phasesOf }: Way, free: readonly ConnectorControl[], choice: PhaseChoice): void {
  const { nowMs } = choice;
  const isSomebodyStopped = free.some(({ car }) => nowMs - car.session.switchedAtMs < ONE_AFTER_ANOTHER_MS);
  const charging = controls.filter(isCharging);
  const [first] = isSomebodyStopped ? [] : charging;
  for (const control of controls)
    if (control === first || !isCharging(control)) switchTo(control, phasesOf(control), choice);
}

function switchTo(control: ConnectorControl, phases: PhaseCount, { useOn, nowMs }: PhaseChoice): void {
  if (control.account.usedPhases === phases) return;
  useOn(control, phases);
  recordSwitch(control, nowMs);
}

function isCharging({ granted }: ConnectorControl): boolean {
  return (granted.sentTenthsA ?? 0) > 0;
}
