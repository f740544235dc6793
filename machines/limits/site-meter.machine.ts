// A location's meter: decides if its readings can be relied upon, and so the counted load of the building.
import { type ActorRefFrom, assign, sendParent, setup } from 'xstate';
import type { EpochMs } from '../values/time.js';
import type { BuildingLoad, ChargersNow, Occupied, SiteReading } from './building-load.js';
import { type LimitSource, outlookLimits } from './limit-in-force.js';
import type { MeterDoubt } from './meter-judge.js';

export type SiteMeterEvent =
  | {
      readonly type: 'reading.received';
      readonly reading: SiteReading;
      readonly chargers: ChargersNow;
      readonly now: EpochMs;
    }
  /** Chargers have reported since the last reading. */
  | { readonly type: 'chargers.reported'; readonly chargers: ChargersNow; readonly now: EpochMs }
  | { readonly type: 'boundary.reached'; readonly now: EpochMs };

export const SITE_METER_STATES = ['stale', 'fresh', 'fading', 'distrusted'] as const;
export type SiteMeterState = (typeof SITE_METER_STATES)[number];

/** Report to the location after every event. */
export interface SiteMeterReport extends Occupied {
  readonly type: 'siteMeter.changed';
  readonly state: SiteMeterState;
  /** Reason for the distrust. */
  readonly doubt: MeterDoubt | undefined;
}

export interface SiteMeterContext {
  /** Owned by the machine, which adds readings with their time and reads the results. */
  readonly load: BuildingLoad;
  /** As of the last event. */
  readonly now: EpochMs;
}

export interface SiteMeterInput {
  /** Kept if the location is built anew: it decides by itself if its readings still count. */
  readonly load: BuildingLoad;
  readonly now: EpochMs;
}

export type SiteMeterActor = ActorRefFrom<typeof siteMeterMachine>;

/** Interval of rises while the building's counted load fades to its maximum. */
const FADES_EVERY_MS = 1_000;

/** Next change of the counted load by itself; undefined while the state waits for a reading. */
export function nextSiteMeterBoundary(actor: SiteMeterActor): EpochMs | undefined {
  const { value, context } = actor.getSnapshot();
  const { load, now } = context;
  if (value === 'fresh') return load.fadesAtMs;
  if (value === 'fading') return Math.min(load.staleAtMs, now + FADES_EVERY_MS);
  return value === 'distrusted' ? load.staleAtMs : undefined;
}

/** Remaining capacity of the connection beside the building. No later change is known. */
export function besideBuilding({ headroomW }: SiteMeterReport, load: BuildingLoad): LimitSource {
  const cause = { kind: 'building' } as const;
  return {
    name: 'building',
    ...outlookLimits({ limitKw: headroomW / 1000, endsAtMs: Number.POSITIVE_INFINITY }, cause),
    lowestFrom: () => ({ limitKw: load.occupied(1).headroomW / 1000, cause }),
    explain: () => 'the rest of the physical connection beside the building',
  };
}

export function isSameReport(a: SiteMeterReport, b: SiteMeterReport): boolean {
  return (
    a.state === b.state &&
    a.doubt === b.doubt &&
    a.headroomW === b.headroomW &&
    a.reserveW === b.reserveW &&
    String(a.occupiedTenthsA) === String(b.occupiedTenthsA)
  );
}

/** As of the last event. */
export function siteMeterReportOf(actor: SiteMeterActor): SiteMeterReport {
  const { value, context } = actor.getSnapshot();
  return reportIn(value === 'weighing' ? stateOf(context) : value, context);
}

function reportIn(state: SiteMeterState, { load, now }: SiteMeterContext): SiteMeterReport {
  const doubt = state === 'distrusted' ? load.doubt : undefined;
  return { type: 'siteMeter.changed', state, doubt, ...load.occupied(lostIn(state, load, now)) };
}

/** Part of the gap from the measured load to the building's maximum that counts, 0 to 1. */
function lostIn(state: SiteMeterState, load: BuildingLoad, now: EpochMs): number {
  if (state === 'fresh') return 0;
  if (state !== 'fading') return 1;
  const { fadesAtMs, staleAtMs } = load;
  return Math.min(1, Math.max(0, (now - fadesAtMs) / Math.max(1, staleAtMs - fadesAtMs)));
}

function stateOf({ load, now }: SiteMeterContext): SiteMeterState {
  if (now >= load.staleAtMs) return 'stale';
  if (load.doubt !== undefined) return 'distrusted';
  return now >= load.fadesAtMs ? 'fading' : 'fresh';
}

const is = <const S extends SiteMeterState>(state: S) => ({ type: 'is', params: { state } }) as const;
const report = <const S extends SiteMeterState>(state: S) => ({ type: 'report', params: { state } }) as const;

export const siteMeterMachine = setup({
  types: {
    context: {} as SiteMeterContext,
    events: {} as SiteMeterEvent,
    input: {} as SiteMeterInput,
  },
  actions: {
    // A wall clock that steps back unnoticed makes no reading newer.
    rememberNow: assign({ now: ({ context, event }) => Math.max(context.now, event.now) }),
    receive: assign(({ context, event }) => {
      const now = Math.max(context.now, event.now);
      if (event.type === 'reading.received') context.load.receive(event.reading, event.chargers, now);
      return { now };
    }),
    confirm: assign(({ context, event }) => {
      const now = Math.max(context.now, event.now);
      if (event.type === 'chargers.reported') context.load.confirm(event.chargers, now);
      return { now };
    }),
    report: sendParent(({ context }, { state }: { readonly state: SiteMeterState }) =>
      reportIn(state, context),
    ),
  },
  guards: {
    is: ({ context }, { state }: { readonly state: SiteMeterState }) => stateOf(context) === state,
  },
}).createMachine({
  id: 'siteMeter',
  context: ({ input: { load, now } }) => ({ load, now }),
  initial: 'weighing',
  on: {
    'reading.received': { target: '.weighing', actions: 'receive' },
    'chargers.reported': { target: '.weighing', actions: 'confirm' },
    'boundary.reached': { target: '.weighing', actions: 'rememberNow' },
  },
  states: {
    // The readings and their times decide, however late the event is.
    weighing: {
      always: [
        { guard: is('distrusted'), target: 'distrusted', actions: report('distrusted') },
        { guard: is('fresh'), target: 'fresh', actions: report('fresh') },
        { guard: is('fading'), target: 'fading', actions: report('fading') },
        { target: 'stale', actions: report('stale') },
      ],
    },
    stale: {},
    fresh: {},
    fading: {},
    distrusted: {},
  },
});
