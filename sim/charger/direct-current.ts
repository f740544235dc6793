// A DC connector of a virtual charger: inside it counts in amperes of each phase, outside it says and hears W at the car.
import type { ConnectorRating } from '../../machines/values/units.js';

/** The lowest voltage that a grid has as a rule (EN 50160), in whole volts: there a power takes the most current. */
function lowestV({ voltageV }: ConnectorRating): number {
  return Math.floor(0.9 * voltageV + 1e-6);
}

/** The voltage that an ampere of it stands for. */
export function countedV(spec: ConnectorRating): number {
  return spec.dc == null ? spec.voltageV : lowestV(spec);
}

/** The share of what it takes from the grid that arrives at the car. */
export function efficiencyOf({ dc }: ConnectorRating): number {
  return dc?.efficiency ?? 1;
}

/** W at the car as A of each phase. */
export function ampereOfDcW(dcW: number, spec: ConnectorRating): number {
  return dcW / (efficiencyOf(spec) * 3 * lowestV(spec));
}

/** A of each phase as whole W at the car. */
export function dcWOfAmpere(currentA: number, spec: ConnectorRating): number {
  return Math.round(currentA * 3 * lowestV(spec) * efficiencyOf(spec));
}

/** The least that it can offer a car, A per phase: 6 A for AC (IEC 61851-1). */
export function leastOfferA(spec: ConnectorRating): number {
  return spec.dc == null ? 6 : ampereOfDcW(1000 * spec.dc.minPowerKw, spec);
}
