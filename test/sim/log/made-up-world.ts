// Events of a made-up but plausible day: cars arrive and share a limit that falls at 17:00, and chargers drop out.
import { uniformInt } from 'pure-rand/distribution/uniformInt';
import { mersenne } from 'pure-rand/generator/mersenne';
import type { LimitReason } from '../../../machines/ledger/grant.js';
import type { TraceEvent } from '../../../sim/log/trace-event.js';
import type { EventOf } from '../../../sim/log/trace-state.js';

export const DAY_START_MS = Date.parse('2026-06-01T00:00:00Z');
export const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;

const STEP_MS = 10_000;
const WATTS_PER_TENTH = 69;
const MAX_TENTHS = 320;
const FLOOR_TENTHS = 60;
const OUTAGE_MS = 25 * 60_000;

/** The service has no such source of limits. */
export const UNKNOWN_SOURCE = 'transformer:north';

export interface MadeUpWorld {
  readonly seed: number;
  readonly locations: number;
  readonly connectorsPerLocation: number;
  readonly durationMs?: number;
  /** Includes every renewal of a limit; renewals are most events of a real world. */
  readonly withRenewals?: boolean;
  /** The power of every charging car changes at every reading, as in the real world. */
  readonly isNoisy?: boolean;
  /** Power exceeds the limit for ten seconds at noon. */
  readonly isBroken?: boolean;
}

interface Slot {
  readonly address: {
    readonly locationId: string;
    readonly controllerUuid: string;
    readonly connectorId: string;
  };
  arrivesAtMs: number;
  leavesAtMs: number;
  requestedWh: number;
  deliveredWms: number;
  isThere: boolean;
  offlineUntilMs: number;
  seq: number;
  told: EventOf<'connector'> | undefined;
}

/** Events in order of time, the same for the same options. */
export function* madeUpWorld(options: MadeUpWorld): Generator<TraceEvent> {
  const random = mersenne(options.seed);
  const draw = (from: number, to: number) => uniformInt(random, from, to);
  const endsAtMs = DAY_START_MS + (options.durationMs ?? DAY_MS);
  const sites = Array.from({ length: options.locations }, (_, i) => {
    const locationId = `depot-${String(i + 1).padStart(2, '0')}`;
    const slots = Array.from({ length: options.connectorsPerLocation }, (_, j): Slot => {
      const controllerUuid = `${locationId}-charger-${String((j >> 1) + 1).padStart(3, '0')}`;
      return {
        address: { locationId, controllerUuid, connectorId: String((j & 1) + 1) },
        ...nextVisit(DAY_START_MS, draw),
        deliveredWms: 0,
        isThere: false,
        offlineUntilMs: 0,
        seq: 0,
        told: undefined,
      };
    });
    return { locationId, slots, limitW: 0, powerW: -1, limitBaseW: options.connectorsPerLocation * 4_000 };
  });

  yield { atMs: DAY_START_MS, kind: 'action', name: 'setPermanentLimit', status: 200 };
  yield { atMs: DAY_START_MS, kind: 'answer', name: 'setPermanentLimit', digest: '0123456789abcdef' };
  yield {
    atMs: DAY_START_MS,
    kind: 'voltage',
    line: 'west',
    l1TenthsV: 2_301,
    l2TenthsV: 2_297,
    l3TenthsV: 2_310,
  };
  yield { atMs: DAY_START_MS, kind: 'lock', target: 'c-1/1', limitW: 7_000, isOn: true };
  for (const site of sites) yield* profilesOf(site);
  for (let atMs = DAY_START_MS; atMs < endsAtMs; atMs += STEP_MS) {
    for (const site of sites) {
      const limitW = limitAt(site.limitBaseW, atMs);
      if (limitW !== site.limitW) {
        yield { atMs, kind: 'limit', locationId: site.locationId, limitW };
        yield limitsOf(atMs, site.locationId, limitW);
        yield sourceOf(atMs, site.locationId, 'physicalConnection', 50_000);
        yield sourceOf(atMs, site.locationId, UNKNOWN_SOURCE, limitW + 3_000);
      }
      site.limitW = limitW;
      for (const slot of site.slots) {
        yield* visits(slot, atMs, draw);
        if (slot.offlineUntilMs === 0 && draw(0, 60_000) === 0) {
          slot.offlineUntilMs = atMs + draw(1, OUTAGE_MS);
          yield* outage(slot, atMs, true);
        } else if (slot.offlineUntilMs !== 0 && slot.offlineUntilMs <= atMs) {
          slot.offlineUntilMs = 0;
          yield* outage(slot, atMs, false);
        }
      }
      const charging = site.slots.filter(({ isThere }) => isThere);
      const lockTenths = Math.min(MAX_TENTHS, Math.floor(limitW / WATTS_PER_TENTH));
      const unlocked = charging.filter((slot) => !isLocked(slot));
      const restW = limitW - (charging.length - unlocked.length) * lockTenths * WATTS_PER_TENTH;
      const shareTenths = fairShare(restW, unlocked.map(wishTenths));
      const fit = Math.floor(restW / (FLOOR_TENTHS * WATTS_PER_TENTH));
      const turn = Math.floor((atMs - DAY_START_MS) / (15 * 60_000));
      let powerW = 0;
      for (const slot of charging) {
        const isLock = isLocked(slot);
        const place = (unlocked.indexOf(slot) + turn) % Math.max(unlocked.length, 1);
        const isPaused = !isLock && shareTenths < FLOOR_TENTHS && place >= fit;
        const limitTenthsA = isLock ? lockTenths : isPaused ? 0 : Math.max(shareTenths, FLOOR_TENTHS);
        const noise = options.isNoisy === true ? draw(0, 300) : 0;
        const wantedW = Math.min(limitTenthsA, wishTenths(slot)) * WATTS_PER_TENTH;
        const drawnW = wantedW > noise ? wantedW - noise : wantedW;
        slot.deliveredWms += drawnW * STEP_MS;
        powerW += drawnW;
        yield* tell(slot, atMs, {
          status: isPaused ? 'SuspendedEVSE' : drawnW > 0 ? 'Charging' : 'SuspendedEV',
          powerW: drawnW,
          limitTenthsA,
          reason: reasonOf(slot, { isLock, isPaused, shareTenths }),
        });
        if (options.withRenewals === true && slot.told !== undefined) yield grantOf(slot, slot.told, atMs);
      }
      for (const slot of site.slots) {
        if (!slot.isThere) {
          yield* tell(slot, atMs, { status: 'Available', powerW: 0, limitTenthsA: 0, reason: 'idle' });
        }
      }
      const isNoon = options.isBroken === true && atMs === DAY_START_MS + 12 * HOUR_MS;
      if (isNoon) powerW = limitW + 2_500;
      if (powerW !== site.powerW) yield { atMs, kind: 'power', locationId: site.locationId, powerW };
      site.powerW = powerW;
      if (isNoon) {
        const detail = `${powerW} W drawn, ${limitW} W allowed`;
        yield { atMs, kind: 'violation', invariant: 'P1', target: site.locationId, detail };
      }
    }
    if (atMs === DAY_START_MS + 9 * HOUR_MS) yield* crash(atMs, true);
    if (atMs === DAY_START_MS + 9 * HOUR_MS + 120_000) yield* crash(atMs, false);
  }
}

function limitAt(baseW: number, atMs: number): number {
  const hour = (atMs - DAY_START_MS) / HOUR_MS;
  if (hour >= 17 && hour < 19) return Math.floor(baseW * 0.4);
  return hour >= 22 || hour < 6 ? baseW * 2 : baseW;
}

function isLocked({ address }: Slot): boolean {
  return address.connectorId === '1' && address.controllerUuid.endsWith('-001');
}

/** Demand of the car, tenths of an ampere, which falls over the last part of its battery. */
function wishTenths({ deliveredWms, requestedWh }: Slot): number {
  const full = deliveredWms / 3_600_000 / requestedWh;
  return full < 0.85 ? MAX_TENTHS : Math.max(0, Math.floor((MAX_TENTHS * (1 - full)) / 0.15));
}

/** The highest share of `restW` for each, so that nobody gets less than another with the same demand. */
function fairShare(restW: number, wishes: readonly number[]): number {
  let rest = restW / WATTS_PER_TENTH;
  let takers = wishes.length;
  for (const wish of wishes.toSorted((a, b) => a - b)) {
    if (wish * takers > rest) return Math.floor(rest / takers);
    rest -= wish;
    takers--;
  }
  return MAX_TENTHS;
}

type Draw = (from: number, to: number) => number;

function nextVisit(afterMs: number, draw: Draw) {
  const arrivesAtMs = afterMs + draw(1, 10 * HOUR_MS);
  return {
    arrivesAtMs,
    leavesAtMs: arrivesAtMs + draw(HOUR_MS / 2, 9 * HOUR_MS),
    requestedWh: draw(4_000, 60_000),
  };
}

function* visits(slot: Slot, atMs: number, draw: Draw): Generator<TraceEvent> {
  if (!slot.isThere && slot.arrivesAtMs <= atMs) {
    slot.isThere = true;
    slot.deliveredWms = 0;
    yield sessionOf(slot, atMs, 'arrived');
  } else if (slot.isThere && slot.leavesAtMs <= atMs) {
    slot.isThere = false;
    yield sessionOf(slot, atMs, 'left');
    Object.assign(slot, nextVisit(atMs, draw));
  }
}

function sessionOf(slot: Slot, atMs: number, what: 'arrived' | 'left'): TraceEvent {
  return {
    atMs,
    kind: 'session',
    ...slot.address,
    what,
    sessionId: `${slot.address.controllerUuid}/${slot.address.connectorId}/${slot.arrivesAtMs}`,
    requestedWh: slot.requestedWh,
    deliveredWh: Math.floor(slot.deliveredWms / 3_600_000),
  };
}

/** A building with solar panels feeds back 2 kW. */
function limitsOf(atMs: number, locationId: string, limitW: number): TraceEvent {
  return {
    atMs,
    kind: 'limits',
    locationId,
    limitW,
    cause: 'profile',
    rule: '5',
    effectiveW: limitW,
    operator: 'none',
    buildingW: -2_000,
    reserveW: 500,
  };
}

function sourceOf(atMs: number, locationId: string, source: string, limitW: number): TraceEvent {
  return { atMs, kind: 'limitSource', locationId, source, limitW };
}

type Told = Pick<EventOf<'connector'>, 'status' | 'powerW' | 'limitTenthsA' | 'reason'>;

function* tell(slot: Slot, atMs: number, told: Told): Generator<TraceEvent> {
  const isOnline = slot.offlineUntilMs === 0;
  const isLeased = isOnline || atMs < slot.offlineUntilMs - OUTAGE_MS / 2;
  const event = { atMs, kind: 'connector', ...slot.address, ...told, isLeased, isOnline } as const;
  const before = slot.told;
  if (before !== undefined && JSON.stringify({ ...before, atMs }) === JSON.stringify(event)) return;
  slot.told = event;
  if (before?.limitTenthsA !== event.limitTenthsA) yield grantOf(slot, event, atMs);
  yield event;
}

function grantOf(slot: Slot, told: Told, atMs: number): TraceEvent {
  const { limitTenthsA, reason } = told;
  return { atMs, kind: 'grant', ...slot.address, epoch: 1, seq: ++slot.seq, limitTenthsA, reason };
}

function reasonOf(
  slot: Slot,
  of: { readonly isLock: boolean; readonly isPaused: boolean; readonly shareTenths: number },
): LimitReason {
  if (slot.offlineUntilMs !== 0) return 'failsafe';
  if (of.isLock) return 'lock';
  if (of.isPaused) return 'paused';
  if (wishTenths(slot) < of.shareTenths) return 'demand';
  if (of.shareTenths === MAX_TENTHS) return 'maximum';
  return slot.address.locationId.endsWith('2') ? 'clusterShare' : 'fairShare';
}

function* outage(slot: Slot, atMs: number, isOn: boolean): Generator<TraceEvent> {
  const { controllerUuid, connectorId } = slot.address;
  yield { atMs, kind: 'fault', fault: 'partition', target: controllerUuid, isOn };
  yield { atMs, kind: 'alarm', alarm: 'OFFLINE', target: `${controllerUuid}/${connectorId}`, isOn };
}

function* crash(atMs: number, isOn: boolean): Generator<TraceEvent> {
  yield { atMs, kind: 'fault', fault: 'serviceCrash', target: '', isOn };
}

function* profilesOf(site: {
  readonly locationId: string;
  readonly limitBaseW: number;
  readonly slots: readonly Slot[];
}): Generator<TraceEvent> {
  const profile = (
    target: string,
    priority: number,
    limitW: number,
    fromHour: number,
    toHour: number,
  ): TraceEvent => ({
    atMs: DAY_START_MS,
    kind: 'profile',
    target,
    priority,
    limitW,
    startsAtMs: DAY_START_MS + fromHour * HOUR_MS,
    endsAtMs: DAY_START_MS + toHour * HOUR_MS,
  });
  yield profile(site.locationId, 0, site.limitBaseW * 2, 0, 6);
  yield profile(site.locationId, 1, site.limitBaseW, 6, 22);
  yield profile(site.locationId, 5, Math.floor(site.limitBaseW * 0.4), 17, 19);
  yield profile('harbour-cluster', 3, site.limitBaseW * 3, 8, 20);
  const first = site.slots[0]?.address;
  if (first !== undefined) yield profile(`${first.controllerUuid}/${first.connectorId}`, 0, 22_080, 10, 14);
}
