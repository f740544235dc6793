// Draw of a location in the form of answers and of the event stream.
import { type LocationEntity, supervisorOf } from '../actors/directory.js';

/** Powers in kW. */
export interface DrawnKw {
  readonly actualKw: number;
  /** Estimated part of it; null if everything is measured. */
  readonly estimatedKw: number | null;
}

export function drawnKwOf(location: LocationEntity): DrawnKw {
  const { actualW, estimatedW } = supervisorOf(location).draw.now;
  return { actualKw: actualW / 1000, estimatedKw: estimatedW === undefined ? null : estimatedW / 1000 };
}
