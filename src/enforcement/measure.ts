// The metrics that say how the locations are: counted anew over all of them, every so often.
import { LINKS, THROTTLES } from '../../machines/power/connector.machine.js';
import { linkOf, throttleOf } from '../../machines/power/connector-control.js';
import { ALARM_KINDS } from '../../machines/power/grant.js';
import { type LocationEntity, supervisorOf } from '../actors/entities.js';
import type { Metrics } from '../metrics.js';

/** How many connectors are in each mode of link and throttle. */
export function measureModes(metrics: Metrics, locations: Iterable<LocationEntity>): void {
  const links = { online: 0, stale: 0, offline: 0 };
  const throttles = { free: 0, limited: 0, minimum: 0, paused: 0 };
  for (const { connectors } of locations) {
    for (const { control } of connectors.values()) {
      links[linkOf(control)]++;
      throttles[throttleOf(control)]++;
    }
  }
  for (const link of LINKS) metrics.connectors.set({ link }, links[link]);
  for (const throttle of THROTTLES) metrics.throttledConnectors.set({ throttle }, throttles[throttle]);
}

export function measureOpenAlarms(metrics: Metrics, locations: Iterable<LocationEntity>): void {
  const counts = new Map(ALARM_KINDS.map((kind) => [kind, 0]));
  for (const { alarms } of locations) {
    for (const { kind } of alarms.values()) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  }
  for (const [kind, count] of counts) metrics.openAlarms.set({ kind }, count);
}

/** What all locations draw together, W. */
export function measurePower(metrics: Metrics, locations: Iterable<LocationEntity>): void {
  const sumsW = { measured: 0, estimated: 0 };
  for (const location of locations) {
    const { actualW, estimatedW = 0 } = supervisorOf(location).drawnPower();
    sumsW.measured += actualW - estimatedW;
    sumsW.estimated += estimatedW;
  }
  for (const source of ['measured', 'estimated'] as const) metrics.power.set({ source }, sumsW[source]);
}
