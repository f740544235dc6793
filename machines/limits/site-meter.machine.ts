// A location's meter: whether what it says can be relied upon, and so what the building beside the chargers counts as.
import { type ActorRefFrom, assign, sendParent, setup } from 'xstate';
import type { EpochMs } from '../values/time.js';
import type { BuildingLoad, ChargersNow, Occupied, SiteReading } from './building-load.js';
import type { LimitOutlook } from './limit-in-force.js';
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

/** What the location hears of it after every event. */
export interface SiteMeterReport extends Occupied {
  readonly type: 'siteMeter.changed';
  readonly state: SiteMeterState;
  /** Why it is distrusted. */
  readonly doubt: MeterDoubt | undefined;
}

export interface SiteMeterContext {
  /** The machine owns it: it is handed readings with their time, and read from. */
  readonly load: BuildingLoad;
  /** As of the last event. */
  readonly now: EpochMs;
}

export interface SiteMeterInput {
  /** Kept where the location is built anew: it says by itself whether what it heard still counts. */
  readonly load: BuildingLoad;
  readonly now: EpochMs;
}

export type SiteMeterActor = ActorRefFrom<typeof siteMeterMachine>;

/** While the building fades into its maximum it counts as more this often. */
const FADES_EVERY_MS = 1_000;

/** When the building counts as something else by itself; undefined where it waits for a reading. */
export function nextSiteMeterBoundary(actor: SiteMeterActor): EpochMs | undefined {
  const { value, context } = actor.getSnapshot();
  const { load, now } = context;
  if (value === 'fresh') return load.fadesAtMs;
  if (value === 'fading') return Math.min(load.staleAtMs, now + FADES_EVERY_MS);
  return value === 'distrusted' ? load.staleAtMs : undefined;
}

/** What the building leaves for the chargers, as far as that is known now: nobody knows it to be otherwise later. */
export function siteMeterOutlookOf(actor: SiteMeterActor): LimitOutlook {
  return { limitKw: siteMeterReportOf(actor).headroomW / 1000, endsAtMs: Number.POSITIVE_INFINITY };
}

/** Whether it leaves the chargers the same, and is as much in doubt. */
export function isSameReport(a: SiteMeterReport, b: SiteMeterReport): boolean {
  return (
    a.state === b.state &&
    a.doubt === b.doubt &&
    a.headroomW === b.headroomW &&
    a.reserveW === b.reserveW &&
    String(a.occupiedTenthsA) === String(b.occupiedTenthsA)
  );
}

/** What it says as of the last event. */
export function siteMeterReportOf(actor: SiteMeterActor): SiteMeterReport {
  const { value, context } = actor.getSnapshot();
  return reportIn(value === 'weighing' ? stateOf(context) : value, context);
}

function reportIn(state: SiteMeterState, { load, now }: SiteMeterContext): SiteMeterReport {
  const doubt = state === 'distrusted' ? load.doubt : undefined;
  return { type: 'siteMeter.changed', state, doubt, ...load.occupied(lostIn(state, load, now)) };
}

/** How much of the building's maximum counts beyond what was seen of it, 0 to 1. */
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
    hear: assign(({ context, event }) => {
      const now = Math.max(context.now, event.now);
      if (event.type === 'reading.received') context.load.hear(event.reading, event.chargers, now);
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
    'reading.received': { target: '.weighing', actions: 'hear' },
    'chargers.reported': { target: '.weighing', actions: 'confirm' },
    'boundary.reached': { target: '.weighing', actions: 'rememberNow' },
  },
  states: {
    // However late the time is told, what was heard and when decides.
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
