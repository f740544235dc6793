// Reads a trace once and collects the data of its report.
import { compareNaturally } from '../../machines/values/natural-order.js';
import type { EpochMs } from '../../machines/values/time.js';
import type { Trace, TraceSubject } from '../log/trace.js';
import type { TraceEvent } from '../log/trace-event.js';
import type { EventOf } from '../log/trace-state.js';
import type {
  ComparedRun,
  ConnectorMode,
  LimitRule,
  LineTrack,
  LocationTrack,
  Mark,
  ProfileBar,
  ReportData,
} from './report-data.js';
import type { Summary } from './summary.js';
import {
  type ChangeRecorder,
  type ConnectorRecorder,
  createChangeRecorder,
  createConnectorRecorder,
  createValueRecorder,
  type ValueRecorder,
} from './track-recorder.js';

// Collects the marks of the time axis: faults, alarms and profiles with their duration, and single instants.

/** For each kind; more marks would be indistinguishable on a page. */
const MOST_MARKS = 5_000;

interface MarkRecorder {
  add(event: TraceEvent): void;
  finish(endsAtMs: EpochMs): {
    readonly profiles: readonly ProfileBar[];
    /** By the instant of their start. */
    readonly marks: readonly Mark[];
    readonly marksLeftOut: number;
  };
}

type Lasting = EventOf<'fault' | 'alarm'>;

export function createMarkRecorder(): MarkRecorder {
  const marks: Mark[] = [];
  const profiles: ProfileBar[] = [];
  const counts = new Map<Mark['kind'], number>();
  const open = new Map<string, Mark>();
  const slots = new Map<string, ProfileBar>();
  let marksLeftOut = 0;

  function keep(mark: Mark): void {
    const count = counts.get(mark.kind) ?? 0;
    counts.set(mark.kind, count + 1);
    if (count < MOST_MARKS) marks.push(mark);
    else marksLeftOut++;
  }

  function switched(event: Lasting, what: string): void {
    const key = `${event.kind} ${what} ${event.target}`;
    const begun = open.get(key);
    if (event.isOn && begun === undefined) {
      const { kind, atMs, target } = event;
      open.set(key, { kind, what, target, detail: '', startsAtMs: atMs, endsAtMs: atMs });
    } else if (!event.isOn && begun !== undefined) {
      open.delete(key);
      keep({ ...begun, endsAtMs: event.atMs });
    }
  }

  function profileSubmitted({ atMs, target, priority, limitW, ...window }: EventOf<'profile'>): void {
    const slot = `${priority} ${target}`;
    const replaced = slots.get(slot);
    if (replaced !== undefined) keepBar({ ...replaced, endsAtMs: Math.min(replaced.endsAtMs, atMs) });
    const startsAtMs = Math.max(window.startsAtMs, atMs);
    slots.set(slot, { target, priority, limitW, startsAtMs, endsAtMs: window.endsAtMs });
  }

  function keepBar(bar: ProfileBar): void {
    if (bar.startsAtMs < bar.endsAtMs) profiles.push(bar);
  }

  return {
    add(event) {
      const instant = { startsAtMs: event.atMs, endsAtMs: event.atMs };
      if (event.kind === 'fault') switched(event, event.fault);
      else if (event.kind === 'alarm') switched(event, event.alarm);
      else if (event.kind === 'profile') profileSubmitted(event);
      else if (event.kind === 'action') {
        keep({ kind: 'action', what: event.name, target: '', detail: String(event.status), ...instant });
      } else if (event.kind === 'violation') {
        const { invariant, target, detail } = event;
        keep({ kind: 'violation', what: invariant, target, detail, ...instant });
      }
    },
    finish(endsAtMs) {
      for (const mark of open.values()) keep({ ...mark, endsAtMs });
      for (const bar of slots.values()) keepBar(bar);
      marks.sort((a, b) => a.startsAtMs - b.startsAtMs);
      return { profiles, marks, marksLeftOut };
    },
  };
}

/** Upper bound of the changes of all connectors in a report: a browser shows this many without delay. */
const MOST_CHANGES = 1_500_000;
/** Steps of a location's power: more than the columns of any screen. */
const POWER_STEPS = 7_200;
const SHORTEST_STEP_MS = 1_000;

/** The fields of `limits` events with a track of their own. */
const LIMIT_FIELDS = ['limitW', 'effectiveW', 'buildingW', 'reserveW'] as const;
type LimitField = (typeof LIMIT_FIELDS)[number] | 'rules';
const MEASURED: ReadonlySet<LimitField> = new Set(['buildingW', 'reserveW']);

interface LocationRecorder {
  readonly power: ValueRecorder;
  readonly allowed: ValueRecorder;
  /** Empty without an event of the service's limits. */
  readonly limits: Map<LimitField, ChangeRecorder>;
  /** By the name of the source. */
  readonly sources: Map<string, ChangeRecorder>;
  readonly connectors: Map<string, ConnectorRecorder>;
}

interface LineRecorder {
  readonly highest: ValueRecorder;
  readonly lowest: ValueRecorder;
}

/**
 * @param summary of the same trace.
 * @param unmet failed expectations, as text.
 * @param compared the run that the report shows next to this one.
 */
export async function collectReport(
  trace: Trace,
  summary: Summary,
  unmet: readonly string[] = [],
  compared?: ComparedRun,
): Promise<ReportData> {
  const { startsAtMs, utcOffsetMs, scenario, seed, commit } = trace.subject;
  const { endsAtMs } = trace;
  const durationMs = endsAtMs - startsAtMs;
  const connectors = summary.locations.reduce((sum, location) => sum + location.connectors.length, 0);
  const stepMs = Math.max(SHORTEST_STEP_MS, Math.ceil((durationMs * connectors) / MOST_CHANGES));
  const collection = new Collection(stepMs, Math.max(SHORTEST_STEP_MS, Math.ceil(durationMs / POWER_STEPS)));
  for (const event of trace.events()) collection.add(event);
  return {
    title: scenario,
    unmet,
    seed,
    commit,
    hash: trace.hash ?? '',
    startsAtMs,
    endsAtMs,
    utcOffsetMs,
    stepMs,
    summary,
    ...(compared === undefined ? {} : { compared }),
    ...collection.finish(endsAtMs, trace.subject.grid),
  };
}

/** Collects the events of a trace by location. */
class Collection {
  readonly #stepMs: number;
  readonly #powerStepMs: number;
  readonly #locations = new Map<string, LocationRecorder>();
  readonly #lines = new Map<string, LineRecorder>();
  readonly #modes = createList(({ status, reason, isLeased, isOnline }: ConnectorMode) => ({
    status,
    reason,
    isLeased,
    isOnline,
  }));
  readonly #rules = createList(({ cause, rule, operator }: LimitRule) => ({ cause, rule, operator }));
  readonly #marks = createMarkRecorder();

  constructor(stepMs: number, powerStepMs: number) {
    this.#stepMs = stepMs;
    this.#powerStepMs = powerStepMs;
  }

  add(event: TraceEvent): void {
    this.#marks.add(event);
    if (event.kind === 'connector') this.#connectorChanged(event);
    else if (event.kind === 'power') this.#locationOf(event.locationId).power.add(event.atMs, event.powerW);
    else if (event.kind === 'limit') {
      const location = this.#locationOf(event.locationId);
      // Power before a reduction of the limit must not be drawn after it.
      location.power.cut();
      location.allowed.add(event.atMs, event.limitW);
    } else if (event.kind === 'limits') this.#limitsChanged(event);
    else if (event.kind === 'limitSource') this.#sourceChanged(event);
    else if (event.kind === 'voltage') this.#voltageChanged(event);
  }

  finish(endsAtMs: number, grid: TraceSubject['grid']) {
    const locations = [...this.#locations].sort(([a], [b]) => compareNaturally(a, b));
    return {
      modes: this.#modes.all,
      rules: this.#rules.all,
      ...this.#marks.finish(endsAtMs),
      locations: locations.map(([locationId, recorder]) => trackOf(locationId, recorder)),
      lines: [...this.#lines].map(([name, { highest, lowest }]): LineTrack => {
        const locationIds = grid?.find((line) => line.name === name)?.locationIds;
        return { name, locationIds, highestTenthsV: highest.finish(), lowestTenthsV: lowest.finish() };
      }),
    };
  }

  #connectorChanged(event: EventOf<'connector'>): void {
    const held = this.#locationOf(event.locationId).connectors;
    const name = `${event.controllerUuid}/${event.connectorId}`;
    const recorder = held.get(name) ?? createConnectorRecorder(event, this.#stepMs);
    held.set(name, recorder);
    recorder.add(event, this.#modes.placeOf(event));
  }

  #limitsChanged(event: EventOf<'limits'>): void {
    const { power, limits } = this.#locationOf(event.locationId);
    const put = (field: LimitField, value: number) => {
      // A limit that is set changes seldom, so every change is kept; a measured one moves all the time.
      const stepMs = MEASURED.has(field) ? this.#powerStepMs : 1;
      const recorder = limits.get(field) ?? createChangeRecorder(stepMs);
      limits.set(field, recorder);
      return recorder.add(event.atMs, value);
    };
    for (const field of LIMIT_FIELDS) {
      const isChanged = put(field, event[field]);
      if (field === 'limitW' && isChanged) power.cut();
    }
    put('rules', this.#rules.placeOf(event));
  }

  #sourceChanged({ atMs, locationId, source, limitW }: EventOf<'limitSource'>): void {
    const { sources } = this.#locationOf(locationId);
    // Some sources move all the time.
    const recorder = sources.get(source) ?? createChangeRecorder(this.#powerStepMs);
    sources.set(source, recorder);
    recorder.add(atMs, limitW);
  }

  #voltageChanged({ atMs, line, l1TenthsV, l2TenthsV, l3TenthsV }: EventOf<'voltage'>): void {
    const recorder = this.#lines.get(line) ?? {
      highest: createValueRecorder(this.#powerStepMs),
      lowest: createValueRecorder(this.#powerStepMs),
    };
    this.#lines.set(line, recorder);
    recorder.highest.add(atMs, Math.max(l1TenthsV, l2TenthsV, l3TenthsV));
    recorder.lowest.add(atMs, Math.min(l1TenthsV, l2TenthsV, l3TenthsV));
  }

  #locationOf(locationId: string): LocationRecorder {
    const held = this.#locations.get(locationId);
    if (held !== undefined) return held;
    const power = createValueRecorder(this.#powerStepMs);
    const recorder = {
      power,
      // A limit changes seldom, so every change is kept.
      allowed: createValueRecorder(1),
      limits: new Map(),
      sources: new Map(),
      connectors: new Map(),
    };
    this.#locations.set(locationId, recorder);
    return recorder;
  }
}

function trackOf(
  locationId: string,
  { power, allowed, limits, sources, connectors }: LocationRecorder,
): LocationTrack {
  const track = (field: LimitField) => limits.get(field)?.finish() ?? { atMs: [], values: [] };
  return {
    locationId,
    powerW: power.finish(),
    allowedW: allowed.finish(),
    limits:
      limits.size === 0
        ? undefined
        : {
            limitW: track('limitW'),
            rules: track('rules'),
            effectiveW: track('effectiveW'),
            sources: [...sources].map(([name, recorder]) => ({ name, limitW: recorder.finish() })),
            buildingW: track('buildingW'),
            reserveW: track('reserveW'),
          },
    connectors: [...connectors]
      .sort(([a], [b]) => compareNaturally(a, b))
      .map(([, connector]) => connector.finish()),
  };
}

/** Numbers different values by their first occurrence. */
function createList<Value extends object>(keyOf: (value: Value) => Value) {
  const all: Value[] = [];
  const places = new Map<string, number>();
  return {
    all: all as readonly Value[],
    placeOf(value: Value): number {
      const kept = keyOf(value);
      const key = JSON.stringify(kept);
      const held = places.get(key);
      if (held !== undefined) return held;
      places.set(key, all.length);
      all.push(kept);
      return all.length - 1;
    },
  };
}
