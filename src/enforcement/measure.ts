// Metrics of the locations' states, counted over all locations at each read.

import { ALARM_KINDS, THROTTLES } from '../../machines/ledger/grant.js';
import { OPERATOR_STATES, operatorStandingOf } from '../../machines/limits/lpc.machine.js';
import { SITE_METER_STATES } from '../../machines/limits/site-meter.machine.js';
import { linkOf, throttleOf } from '../../machines/power/connector.js';
import { LINKS } from '../../machines/power/connector.machine.js';
import { type LocationEntity, supervisorOf } from '../actors/directory.js';
import type { OverloadState } from '../actors/overload.js';
import type { Metrics } from '../metrics.js';
import type { Log } from '../ports/log.js';

type Locations = () => Iterable<LocationEntity>;

/** Sources of the locations that metrics count: a node may own several shards. */
const COUNTED = new WeakMap<Metrics, Set<Locations>>();

/**
 * The metrics count `locations` too from now on. They count at each read only, so that unread metrics cost nothing.
 * @returns the function that ends it.
 */
export function measureWhenAsked(metrics: Metrics, locations: Locations): () => void {
  const counted = COUNTED.get(metrics) ?? measureAll(metrics);
  counted.add(locations);
  return () => counted.delete(locations);
}

function measureAll(metrics: Metrics): Set<Locations> {
  const counted = new Set<Locations>();
  COUNTED.set(metrics, counted);
  function* locations(): Iterable<LocationEntity> {
    for (const each of counted) yield* each();
  }
  metrics.measures.links = () => measureLinks(metrics, locations());
  metrics.measures.throttles = () => measureThrottles(metrics, locations());
  metrics.measures.openAlarms = () => measureOpenAlarms(metrics, locations());
  metrics.measures.fuses = () => measureFuses(metrics, locations());
  metrics.measures.siteMeters = () => measureSiteMeters(metrics, locations());
  metrics.measures.operatorLimits = () => measureOperatorLimits(metrics, locations());
  metrics.measures.peakShaving = () => measurePeakShaving(metrics, locations());
  metrics.measures.power = () => measurePower(metrics, locations());
  return counted;
}

function measureLinks(metrics: Metrics, locations: Iterable<LocationEntity>): void {
  const links = { online: 0, stale: 0, offline: 0 };
  for (const { connectors } of locations)
    for (const { control } of connectors.values()) links[linkOf(control)]++;
  for (const link of LINKS) metrics.connectors.set({ link }, links[link]);
}

function measureThrottles(metrics: Metrics, locations: Iterable<LocationEntity>): void {
  const throttles = { free: 0, limited: 0, minimum: 0, paused: 0 };
  for (const { connectors } of locations)
    for (const { control } of connectors.values()) throttles[throttleOf(control)]++;
  for (const throttle of THROTTLES) metrics.throttledConnectors.set({ throttle }, throttles[throttle]);
}

/** `full`: phases of fuses that keep a connector from more. `free`: all others. */
function measureFuses(metrics: Metrics, locations: Iterable<LocationEntity>): void {
  const states = { full: 0, free: 0 };
  for (const location of locations) {
    const { fuses, connectors } = supervisorOf(location);
    const full = new Set<number>();
    for (const { decided } of connectors.values())
      if (typeof decided.limitedBy === 'number') full.add(decided.limitedBy);
    states.full += full.size;
    states.free += fuses.circuitPhases.length - full.size;
  }
  for (const state of ['full', 'free'] as const) metrics.fusePhases.set({ state }, states[state]);
}

function measureSiteMeters(metrics: Metrics, locations: Iterable<LocationEntity>): void {
  const counts = new Map(SITE_METER_STATES.map((state) => [state, 0]));
  for (const { actor } of locations) {
    const state = actor.getSnapshot().context.building?.state;
    if (state !== undefined) counts.set(state, (counts.get(state) ?? 0) + 1);
  }
  for (const [state, count] of counts) metrics.siteMeters.set({ state }, count);
}

function measureOperatorLimits(metrics: Metrics, locations: Iterable<LocationEntity>): void {
  const counts = new Map(OPERATOR_STATES.map((state) => [state, 0]));
  for (const { actor } of locations) {
    const { operator } = actor.getSnapshot().context;
    if (operator === undefined) continue;
    const { state } = operatorStandingOf(operator);
    counts.set(state, (counts.get(state) ?? 0) + 1);
  }
  for (const [state, count] of counts) metrics.operatorLimits.set({ state }, count);
}

/** `bound`: locations limited by the billed average now. `free`: the others with such an average. */
function measurePeakShaving(metrics: Metrics, locations: Iterable<LocationEntity>): void {
  const states = { bound: 0, free: 0 };
  for (const { actor } of locations) {
    const { billedWindow, limit } = actor.getSnapshot().context;
    if (billedWindow !== undefined) states[limit.cause.kind === 'peakShaving' ? 'bound' : 'free']++;
  }
  for (const state of ['bound', 'free'] as const) metrics.peakShaving.set({ state }, states[state]);
}

function measureOpenAlarms(metrics: Metrics, locations: Iterable<LocationEntity>): void {
  const counts = new Map(ALARM_KINDS.map((kind) => [kind, 0]));
  for (const { alarms } of locations) {
    for (const { kind } of alarms.values()) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  }
  for (const [kind, count] of counts) metrics.openAlarms.set({ kind }, count);
}

/** W, in whole milliwatts, because a sum of fractions shows binary noise. */
function measurePower(metrics: Metrics, locations: Iterable<LocationEntity>): void {
  const sumsW = { measured: 0, estimated: 0 };
  for (const location of locations) {
    const { actualW, estimatedW = 0 } = supervisorOf(location).draw.now;
    sumsW.measured += actualW - estimatedW;
    sumsW.estimated += estimatedW;
  }
  for (const source of ['measured', 'estimated'] as const)
    metrics.power.set({ source }, Math.round(sumsW[source] * 1000) / 1000);
}

const OF_OVERLOAD = {
  none: 'processor time suffices again: limits are raised as usual',
  raisesWait: 'processor time is short: no limit is raised until it suffices',
  readsRefused: 'processor time is still short: requests that only read are refused until it suffices',
} as const;

/** Log and metrics both show the state at once, for operators who watch only one of them. */
export function sendToOverload(
  { log, metrics }: { readonly log: Log; readonly metrics: Metrics },
  state: OverloadState,
): void {
  for (const each of ['raisesWait', 'readsRefused'] as const)
    metrics.overload.set({ state: each }, Number(each === state));
  log[state === 'none' ? 'info' : 'warn']({}, OF_OVERLOAD[state]);
}
