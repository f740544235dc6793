// Text and colours of numbers, instants and reasons on the page.
import type { LimitReason } from '../../../machines/power/grant.js';

/** Groups of reasons that the page shows as one; the key is also the name of the colour in the style sheet. */
export const REASON_GROUPS = {
  free: 'not limited',
  shared: 'shares the limit',
  waiting: 'waits for others to follow',
  paused: 'paused, waits its turn',
  lock: 'priority lock',
  lastResort: 'lock lowered, last resort',
  failsafe: 'fail-safe',
  unruly: 'does not follow its limit',
  idle: 'no car',
} as const;
export type ReasonGroup = keyof typeof REASON_GROUPS;

export const GROUP_OF_REASON: Readonly<Record<LimitReason, ReasonGroup>> = {
  maximum: 'free',
  demand: 'free',
  fairShare: 'shared',
  clusterShare: 'shared',
  waiting: 'waiting',
  paused: 'paused',
  minimumPause: 'paused',
  lock: 'lock',
  lastResort: 'lastResort',
  idle: 'idle',
  failsafe: 'failsafe',
  nonCompliant: 'unruly',
  readOnly: 'unruly',
  reserved: 'shared',
};

export const REASON_WORDS: Readonly<Record<LimitReason, string>> = {
  maximum: 'maximum',
  demand: 'all it takes',
  fairShare: 'fair share',
  clusterShare: 'cluster share',
  waiting: 'waiting',
  paused: 'paused',
  minimumPause: 'minimum pause',
  lock: 'lock',
  lastResort: 'last resort',
  idle: 'idle',
  failsafe: 'fail-safe',
  nonCompliant: 'exceeds its limit',
  readOnly: 'read-only',
  reserved: 'reserved anyway',
};

export function kw(watts: number, digits = 1): string {
  return watts >= Number.MAX_SAFE_INTEGER ? 'no limit' : `${grouped(watts / 1000, digits)} kW`;
}

export function kwh(wattHours: number): string {
  const digits = wattHours < 100_000 ? 1 : 0;
  return `${grouped(wattHours / 1000, digits)} kWh`;
}

export function amperes(tenthsA: number): string {
  return `${(tenthsA / 10).toFixed(1)} A`;
}

export function percent(share: number | undefined): string {
  return share === undefined ? '–' : `${(share * 100).toFixed(share > 0 && share < 0.1 ? 1 : 0)} %`;
}

export function decimal(value: number | undefined, digits = 2): string {
  return value === undefined ? '–' : grouped(value, digits);
}

export function duration(seconds: number): string {
  if (seconds < 100) return `${Math.round(seconds)} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  return `${Math.floor(minutes / 60)} h ${String(minutes % 60).padStart(2, '0')}`;
}

/** Such as `2026-06-01T17:00:03Z`; milliseconds only if they are not 0. */
export function iso(instant: number): string {
  return new Date(instant).toISOString().replace('.000Z', 'Z');
}

/** Such as `17:00:03`, in UTC. */
function timeOfDay(instant: number): string {
  return iso(instant).slice(11, 19);
}

/** Such as `19:00:03 (UTC+02:00)`: the clock of the site, with the offset `utcOffsetMs`. */
export function siteTime(instant: number, utcOffsetMs: number): string {
  const minutes = Math.abs(utcOffsetMs) / 60_000;
  const offset = [Math.floor(minutes / 60), minutes % 60]
    .map((part) => String(part).padStart(2, '0'))
    .join(':');
  return `${timeOfDay(instant + utcOffsetMs)} (UTC${utcOffsetMs < 0 ? '−' : '+'}${offset})`;
}

function grouped(value: number, digits: number): string {
  return value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits });
}
