// Who may fall back to its fail-safe: reserved for everybody at once, they must fit the lowest limit and every fuse.
import { ratedMilliwattsPerTenth, tenthsAOf, wattsOfTenths } from '../values/units.js';
import type { ConnectorControl } from './connector-control.js';

/** A charger that tells of itself has done so by then. */
const DESCRIBED_WITHIN_MS = 60_000;

/**
 * Says of each connector whether it may fall back to its fail-safe. Where those of all that load a pole do not fit it,
 * none of them may; where the others' do not fit the lowest limit there can be, nobody may. Nominal voltages, so that a
 * reading never turns it.
 */
export function allowFailsafes(
  controls: Iterable<ConnectorControl>,
  lowestW: number,
  capacitiesTenthsA: readonly number[],
): void {
  const all = [...controls];
  const loadsTenthsA = capacitiesTenthsA.map(() => 0);
  for (const control of all) {
    const { poles } = control.holding;
    for (const pole of poles) loadsTenthsA[pole] = (loadsTenthsA[pole] ?? 0) + failsafeTenthsAOf(control);
  }
  const fitsPole = (pole: number) => (loadsTenthsA[pole] ?? 0) <= (capacitiesTenthsA[pole] ?? 0);
  const fitting = new Set(all.filter(({ holding }) => holding.poles.every(fitsPole)));
  const doFit = sumOfFailsafesW(fitting) <= lowestW;
  for (const control of all) control.usesFailsafe = doFit && fitting.has(control);
}

/**
 * Whether those fit that no message can lower, because their chargers keep nothing over a restart. Where not even they
 * do, no reservation can make the limit certain, and reserving them would only keep everybody from charging.
 */
export function doOwnFailsafesFit(
  controls: Iterable<ConnectorControl>,
  lowestW: number,
  nowMs: number,
): boolean {
  const forgetting = [...controls].filter((control) => isKnownToForget(control, nowMs));
  return sumOfFailsafesW(forgetting) <= lowestW;
}

/** It said so, or has had time to say otherwise. */
function isKnownToForget({ holding, hb, awaitedSinceMs }: ConnectorControl, nowMs: number): boolean {
  if (holding.isDescribed) return !holding.keepsThen;
  return hb !== undefined && nowMs - awaitedSinceMs >= DESCRIBED_WITHIN_MS;
}

function sumOfFailsafesW(controls: Iterable<ConnectorControl>): number {
  let sumW = 0;
  for (const control of controls) {
    sumW += wattsOfTenths(failsafeTenthsAOf(control), ratedMilliwattsPerTenth(control.spec));
  }
  return sumW;
}

/** Its fail-safe as the operator provisioned it. */
export function failsafeTenthsAOf({ spec, holding }: ConnectorControl): number {
  return Math.min(tenthsAOf(spec.failsafeA), holding.maxTenthsA);
}
