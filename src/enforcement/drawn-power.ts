// What a location draws, worked out in one place: what is measured, and what silent connectors count with.

import type { LocationEntity } from '../actors/entities.js';
import type { DrawnPower } from './power-minute.js';

/** Powers in kW, as answers name them. */
export interface DrawnKw {
  readonly actualKw: number;
  /** How much of it is an estimate; null where everything is measured. */
  readonly estimatedKw: number | null;
}

export function drawnPowerOf({ meters, enforcement: { estimatedW } }: LocationEntity): DrawnPower {
  return { actualW: meters.measuredW + (estimatedW ?? 0), estimatedW };
}

export function drawnKwOf(location: LocationEntity): DrawnKw {
  const { actualW, estimatedW } = drawnPowerOf(location);
  return { actualKw: actualW / 1000, estimatedKw: estimatedW === undefined ? null : estimatedW / 1000 };
}
