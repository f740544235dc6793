// What a location draws, as answers and stream name it.
import { type LocationEntity, supervisorOf } from '../actors/entities.js';

/** Powers in kW. */
export interface DrawnKw {
  readonly actualKw: number;
  /** How much of it is an estimate; null where everything is measured. */
  readonly estimatedKw: number | null;
}

export function drawnKwOf(location: LocationEntity): DrawnKw {
  const { actualW, estimatedW } = supervisorOf(location).draw.now;
  return { actualKw: actualW / 1000, estimatedKw: estimatedW === undefined ? null : estimatedW / 1000 };
}
