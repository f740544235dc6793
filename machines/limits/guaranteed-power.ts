// Power that a grid operator must leave to a site's controllable devices under § 14a EnWG: the usual fail-safe limit.

/** kW for one device, and the basis for each further device. */
const DEVICE_KW = 4.2;

/** Simultaneity factors by number of devices from two on; the last holds for all larger numbers. */
const SIMULTANEITY = [0.8, 0.75, 0.7, 0.65, 0.6, 0.55, 0.5, 0.45];

/**
 * Least power of a site with `devices` charging points behind one energy manager under a grid operator's limit, kW. It
 * is 4.2 kW + (devices − 1) × simultaneity factor × 4.2 kW (Bundesnetzagentur, decision BK6-22-300, annex 1, section
 * 4.5).
 */
export function guaranteedPowerKw(devices: number): number {
  if (devices < 1) return 0;
  const factor = devices === 1 ? 0 : (SIMULTANEITY[devices - 2] ?? 0.45);
  // Rounded to whole watts, because sums of such factors are not whole.
  return Math.round((DEVICE_KW + (devices - 1) * factor * DEVICE_KW) * 1000) / 1000;
}
