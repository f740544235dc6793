// A DC connector of a virtual charger: it counts in A per phase inside, and sends and receives W at the car.
import type { ConnectorRating } from '../../machines/values/units.js';

/** Lowest voltage of a grid as a rule (EN 50160), in whole volts: a power takes its highest current there. */
function lowestV({ voltageV }: ConnectorRating): number {
  return Math.floor(0.9 * voltageV + 1e-6);
}

/** Voltage that converts the connector's amperes to power: the nominal one for AC, the lowest one for DC. */
export function countedV(spec: ConnectorRating): number {
  return spec.dc == null ? spec.voltageV : lowestV(spec);
}

/** Share of the grid power that arrives at the car. */
export function efficiencyOf({ dc }: ConnectorRating): number {
  return dc?.efficiency ?? 1;
}

/** Converts W at the car to A per grid phase. */
export function ampereOfDcW(dcW: number, spec: ConnectorRating): number {
  return dcW / (efficiencyOf(spec) * 3 * lowestV(spec));
}

/** Converts A per grid phase to whole W at the car. */
export function dcWOfAmpere(currentA: number, spec: ConnectorRating): number {
  return Math.round(currentA * 3 * lowestV(spec) * efficiencyOf(spec));
}

/** Lowest offer to a car, A per phase: 6 A for AC (IEC 61851-1). */
export function leastOfferA(spec: ConnectorRating): number {
  return spec.dc == null ? 6 : ampereOfDcW(1000 * spec.dc.minPowerKw, spec);
}
