// On how many phases a car charges where its charger can switch them: on one instead of a pause, on all where that serves more.
import type { ConnectorControl } from './connector-control.js';
import { canSwitch, isSwitched } from './lent-phases.js';
import type { PhaseCount } from './own-phases.js';

/** A switch stops the car for a moment and wears the contactor: who charges is switched this often at most. */
const SWITCHED_APART_MS = 10 * 60_000;
/** One car after another is stopped for it, so that the others go on meanwhile. */
const ONE_AFTER_ANOTHER_MS = 30_000;
/** More phases must have been worth it for this long: what there is for a moment would switch everybody to and fro. */
const WORTH_FOR_MS = 60_000;
/** More power than this is worth a switch, W. */
const WORTH_W = 1_000;
/** Shares that differ by more than this are different, W: a limit in whole tenths of an ampere leaves a little of each. */
const DIFFERENT_W = 200;

/** What a division of the power comes to. */
export interface Served {
  /** All shares together. */
  readonly servedW: number;
  /** How many cars that want to charge get nothing. */
  readonly paused: number;
  /** The least of the shares of unlocked cars. */
  readonly leastW: number;
}

export interface PhaseChoice {
  /** Where not, somebody is paused unless fewer phases are used. */
  readonly doFloorsFit: boolean;
  /** It is locked, or about to be: it keeps all phases. */
  isLocked(control: ConnectorControl): boolean;
  /** Its grants are for so many phases from here on. */
  useOn(control: ConnectorControl, phases: PhaseCount): void;
  /** What is served with everybody on the phases of now, once the leases of those that cannot be told have ended. */
  serve(): Served;
  /** The same beside what these leases let them draw still. */
  serveNow(): Served;
  readonly nowMs: number;
}

/**
 * Switches whose chargers can do that to where most is served. A lease that ends by itself is no reason for one phase: it is over before a
 * switch has paid off; but more phases wait for it. Of what serves alike, that which pauses fewest cars; then
 * that which gives most to the one that gets least. A tie leaves everybody where it is.
 */
export function choosePhases(controls: readonly ConnectorControl[], choice: PhaseChoice): void {
  const { doFloorsFit, isLocked, nowMs } = choice;
  const able = controls.filter((control) => canSwitch(control) && control.demand.hasCar);
  const free = able.filter((control) => !isLocked(control));
  // What it holds by a grant from before the start it is given anew first.
  const isTold = ({ holding }: ConnectorControl) => holding.lastSeq > 0;
  for (const control of able)
    if (isLocked(control) && isTold(control)) switchTo(control, control.session.learnt, choice);
  if (doFloorsFit && !free.some(isSwitched)) {
    for (const { session } of free) session.worthFewerSinceMs = undefined;
    return;
  }
  const rested = free.filter((control) => nowMs - control.session.switchedAtMs >= SWITCHED_APART_MS);
  const onMore = (control: ConnectorControl) => !isSwitched(control) && control.holding.usedPhases > 1;
  const stopped = free.filter((control) => onMore(control) && !isCharging(control));
  const wider: Way = { controls: rested.filter(isSwitched), phasesOf: ({ session }) => session.learnt };
  const toOne = (controls: readonly ConnectorControl[]): Way => ({ controls, phasesOf: () => 1 });
  const all = [...stopped, ...rested.filter((each) => onMore(each) && isCharging(each))];
  const best = bestOf([toOne(stopped), toOne(all), wider], choice);
  const isWider = best?.way === wider && isWorthNow(wider, choice);
  const isFewer = best !== undefined && best.way !== wider;
  for (const { session } of free) {
    session.worthMoreSinceMs = isWider ? (session.worthMoreSinceMs ?? nowMs) : undefined;
    session.worthFewerSinceMs = isFewer ? (session.worthFewerSinceMs ?? nowMs) : undefined;
  }
  const isDue = ({ session }: ConnectorControl) => {
    if (isWider) return nowMs - (session.worthMoreSinceMs ?? nowMs) >= WORTH_FOR_MS;
    const isAtOnce = (best?.gainW ?? 0) >= WORTH_W;
    return isAtOnce || nowMs - (session.worthFewerSinceMs ?? nowMs) >= SWITCHED_APART_MS;
  };
  if (isWider || isFewer) follow({ ...best.way, controls: best.way.controls.filter(isDue) }, free, choice);
}

/** When somebody may be switched who could not be until then; infinite where nobody waits for that. */
export function nextSwitchAtMs(controls: readonly ConnectorControl[], nowMs: number): number {
  let nextMs = Number.POSITIVE_INFINITY;
  for (const control of controls) {
    if (!canSwitch(control)) continue;
    const never = Number.NEGATIVE_INFINITY;
    const { switchedAtMs, worthMoreSinceMs = never, worthFewerSinceMs = never } = control.session;
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

/** Some on other phases than now. */
interface Way {
  readonly controls: readonly ConnectorControl[];
  phasesOf(control: ConnectorControl): PhaseCount;
}

/** The best of the ways with its gain in W; undefined where none is better than the phases of now. */
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
  const before = controls.map(({ holding }) => holding.usedPhases);
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

/** Those through whose contactor nothing flows at once, and one of the others. */
function follow({ controls, phasesOf }: Way, free: readonly ConnectorControl[], choice: PhaseChoice): void {
  const { nowMs } = choice;
  const isSomebodyStopped = free.some(({ session }) => nowMs - session.switchedAtMs < ONE_AFTER_ANOTHER_MS);
  const charging = controls.filter(isCharging);
  const [first] = isSomebodyStopped ? [] : charging;
  for (const control of controls)
    if (control === first || !isCharging(control)) switchTo(control, phasesOf(control), choice);
}

function switchTo(control: ConnectorControl, phases: PhaseCount, { useOn, nowMs }: PhaseChoice): void {
  if (control.holding.usedPhases === phases) return;
  useOn(control, phases);
  control.session.switchedAtMs = nowMs;
  control.session.switchedSeq = control.holding.lastSeq;
}

function isCharging({ sentTenthsA = 0 }: ConnectorControl): boolean {
  return sentTenthsA > 0;
}
