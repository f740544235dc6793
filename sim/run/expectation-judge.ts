// Compares a run with the expectations of its scenario: at instants, over spans, and of the whole run.

import type { EpochMs } from '../../machines/values/time.js';
import { toInstant } from '../../src/wire/instants.js';
import type { TraceEvent } from '../log/trace-event.js';
import type { EventOf } from '../log/trace-state.js';
import type { LocationSummary, Summary } from '../report/summary.js';
import type { Bounds, Expectation } from '../scenario/scenario.js';

/** A failed expectation, at its first failure. */
export interface Failure {
  /** Place in the scenario file. */
  readonly where: string;
  /** Absent for an expectation of the whole run. */
  readonly atMs?: EpochMs;
  readonly message: string;
}

/** Reads the current limits of a location from the service; undefined while the service does not answer. */
export type LimitsOf = (
  locationId: string,
) => Promise<{ readonly effectiveLimitKw: number; readonly gridLimitKw: number } | undefined>;

type Asked = Expectation & {
  readonly measure: 'effectiveLimitKw' | 'gridLimitKw';
  readonly bounds: Bounds;
};

/** Interval of requests for limits during a span; in addition, one request at the start and the end of each window. */
const ASK_EVERY_MS = 60_000;
const RUN_MEASURES: ReadonlySet<string> = new Set<LocationMeasure | 'violations'>([
  ...(['energyShare', 'energyKwh', 'overshootKws', 'startsPerSession', 'lockedThrottledS'] as const),
  'violations',
]);
type LocationMeasure = 'energyShare' | 'energyKwh' | 'overshootKws' | 'startsPerSession' | 'lockedThrottledS';

export class ExpectationJudge {
  /** Instants at which the judge needs limits from the service. */
  readonly questions: readonly EpochMs[];
  readonly #expectations: readonly Expectation[];
  readonly #failures = new Map<Expectation, Failure>();
  readonly #powerW = new Map<string, number>();
  readonly #connectors = new Map<string, EventOf<'connector'>>();
  readonly #alarms = new Map<string, Set<string>>();
  readonly #asked;
  // Expectations that events decide; each is removed after it failed or its span ended.
  #told;
  #pendingAtMs: EpochMs | undefined;

  constructor(expectations: readonly Expectation[], boundaries: readonly EpochMs[]) {
    this.#expectations = expectations;
    this.#asked = this.#expectations.filter(isAsked);
    this.#told = this.#expectations.filter((each) => !isAsked(each) && !RUN_MEASURES.has(each.measure));
    this.questions = questionsOf(this.#asked, boundaries);
  }

  /** Takes events in order of time. */
  add(event: TraceEvent): void {
    // After several changes at one instant, only the last state counts.
    if (event.kind === 'power' || event.kind === 'connector' || event.kind === 'alarm') {
      if (event.atMs !== this.#pendingAtMs) this.judgeUntil(event.atMs);
      this.#note(event);
    }
  }

  /** Call this after all events up to `atMs`. */
  judgeUntil(atMs: EpochMs): void {
    if (this.#pendingAtMs !== undefined && atMs > this.#pendingAtMs) this.#judge(this.#pendingAtMs, atMs);
    this.#pendingAtMs = atMs;
  }

  /** Judges the expectations of limits at `atMs` by answers of `limitsOf`. */
  async ask(atMs: EpochMs, limitsOf: LimitsOf): Promise<void> {
    for (const expectation of this.#asked) {
      const { fromMs, untilMs, locationId = '', measure, bounds } = expectation;
      if (atMs < fromMs || atMs > untilMs || this.#failures.has(expectation)) continue;
      const limits = await limitsOf(locationId);
      // If the service is down, a span allows a later request; an expectation for an instant fails.
      if (limits === undefined && fromMs !== untilMs) continue;
      if (limits === undefined)
        this.#fail(expectation, `the service could not be asked for ${measure}`, atMs);
      else {
        const problem = outside(`${locationId} had ${measure}`, limits[measure], 'kW', bounds);
        if (problem !== undefined) this.#fail(expectation, problem, atMs);
      }
    }
  }

  finish(summary: Summary): readonly Failure[] {
    this.judgeUntil(summary.endsAtMs + 1);
    for (const expectation of this.#expectations) {
      if (!RUN_MEASURES.has(expectation.measure)) continue;
      const problem = runProblemOf(expectation, summary);
      if (problem !== undefined) this.#fail(expectation, problem);
    }
    return this.failures;
  }

  /** Failures so far, in the order of the file. */
  get failures(): readonly Failure[] {
    return this.#expectations.flatMap((expectation) => this.#failures.get(expectation) ?? []);
  }

  #fail(expectation: Expectation, message: string, atMs?: EpochMs): void {
    if (this.#failures.has(expectation)) return;
    const { where } = expectation;
    this.#failures.set(expectation, { where, message, ...(atMs === undefined ? {} : { atMs }) });
  }

  #totalKw(): number {
    let totalW = 0;
    for (const each of this.#powerW.values()) totalW += each;
    return totalW / 1000;
  }

  #problemOf(expectation: Expectation): string | undefined {
    const { locationId, connectorKey } = expectation;
    const connector = this.#connectors.get(connectorKey ?? '');
    if (expectation.measure === 'reason') {
      const reason = connector?.reason ?? 'none';
      return expectation.reasons.some((each) => each === reason)
        ? undefined
        : `${connectorKey} had the reason ${reason}, expected ${expectation.reasons.join(' or ')}`;
    }
    if (expectation.measure === 'alarm') {
      const target = connectorKey ?? locationId ?? '';
      const open = expectation.alarms.filter((alarm) => this.#alarms.get(target)?.has(alarm));
      if (open.length > 0 === expectation.isOpen) return undefined;
      return expectation.isOpen
        ? `${target} had none of the alarms ${expectation.alarms.join(', ')}`
        : `${target} had the alarm ${open.join(', ')}`;
    }
    const { bounds, measure } = expectation;
    if (measure === 'limitA') {
      return outside(`${connectorKey} was held to`, (connector?.limitTenthsA ?? 0) / 10, 'A', bounds);
    }
    if (connectorKey !== undefined) {
      return outside(`${connectorKey} drew`, (connector?.powerW ?? 0) / 1000, 'kW', bounds);
    }
    const drawnKw = locationId === undefined ? this.#totalKw() : (this.#powerW.get(locationId) ?? 0) / 1000;
    return outside(`${locationId ?? 'all locations'} drew`, drawnKw, 'kW', bounds);
  }

  /** Judges the state that lasts from `fromMs` until the next event at `untilMs`. */
  #judge(fromMs: EpochMs, untilMs: EpochMs): void {
    const isOver = (expectation: Expectation) =>
      expectation.untilMs < fromMs || this.#failures.has(expectation);
    if (this.#told.some(isOver)) this.#told = this.#told.filter((each) => !isOver(each));
    for (const expectation of this.#told) {
      if (expectation.fromMs >= untilMs) continue;
      const problem = this.#problemOf(expectation);
      if (problem !== undefined) this.#fail(expectation, problem, Math.max(fromMs, expectation.fromMs));
    }
  }

  #note(event: TraceEvent): void {
    if (event.kind === 'power') this.#powerW.set(event.locationId, event.powerW);
    else if (event.kind === 'connector')
      this.#connectors.set(`${event.controllerUuid}/${event.connectorId}`, event);
    else if (event.kind === 'alarm') this.#noteAlarm(event);
  }

  /** An alarm of a connector counts as an alarm of its location, too. */
  #noteAlarm({ target, alarm, isOn }: EventOf<'alarm'>): void {
    const locationId = this.#connectors.get(target)?.locationId;
    const place = (key: string, word: string) => {
      const open = this.#alarms.get(key) ?? new Set();
      this.#alarms.set(key, open);
      if (isOn) open.add(word);
      else open.delete(word);
    };
    place(target, alarm);
    if (locationId === undefined) return;
    place(`${locationId} ${alarm}`, target);
    const open = this.#alarms.get(locationId) ?? new Set();
    this.#alarms.set(locationId, open);
    if ((this.#alarms.get(`${locationId} ${alarm}`)?.size ?? 0) > 0) open.add(alarm);
    else open.delete(alarm);
  }
}

/** True for measures that only the service can answer. */
export function isAsked(expectation: Expectation): expectation is Asked {
  return expectation.measure === 'effectiveLimitKw' || expectation.measure === 'gridLimitKw';
}

function questionsOf(asked: readonly Asked[], boundaries: readonly EpochMs[]): readonly EpochMs[] {
  const instants = new Set<EpochMs>();
  for (const { fromMs, untilMs } of asked) {
    for (let atMs = fromMs; atMs <= untilMs; atMs += ASK_EVERY_MS) instants.add(atMs);
    instants.add(untilMs);
    for (const atMs of boundaries) if (fromMs <= atMs && atMs <= untilMs) instants.add(atMs);
  }
  return [...instants].sort((a, b) => a - b);
}

/** Allows for rounding errors in sums of floating-point numbers. */
const TOLERANCE = 1e-9;

function outside(what: string, value: number, unit: string, bounds: Bounds): string | undefined {
  const { atLeast, atMost } = bounds;
  if (value >= atLeast - TOLERANCE && value <= atMost + TOLERANCE) return undefined;
  const wanted =
    atLeast === atMost ? `${atLeast}` : value < atLeast ? `at least ${atLeast}` : `at most ${atMost}`;
  return `${what} ${Number(value.toFixed(3))} ${unit}, expected ${wanted}`
    .replace(/ +/g, ' ')
    .replace(' ,', ',');
}

function runProblemOf(expectation: Expectation, summary: Summary): string | undefined {
  if (!('bounds' in expectation)) return undefined;
  const { measure, bounds, locationId, connectorKey } = expectation;
  if (measure === 'violations') return outside('the run had', summary.violations, 'violations', bounds);
  const subject = connectorKey ?? locationId ?? 'the run';
  const value = totalOf(measure as LocationMeasure, summary, locationId, connectorKey);
  if (value === undefined) return `no car came to ${subject}, so that there is no ${measure}`;
  return outside(`${subject} had ${measure}`, value, '', bounds);
}

type Account = Pick<LocationSummary, 'sessions' | 'requestedWh' | 'deliveredWh' | 'lockedThrottledS'> & {
  readonly starts: number;
  readonly overshootKws: number;
};

function totalOf(
  measure: LocationMeasure,
  { locations }: Summary,
  locationId: string | undefined,
  connectorKey: string | undefined,
): number | undefined {
  const meant = locations.filter((each) => locationId === undefined || each.locationId === locationId);
  const accounts: readonly Account[] =
    connectorKey === undefined
      ? meant.map((each) => ({
          ...each,
          starts: each.connectors.reduce((sum, { starts }) => sum + starts, 0),
        }))
      : meant
          .flatMap(({ connectors }) => connectors)
          .filter(({ controllerUuid, connectorId }) => `${controllerUuid}/${connectorId}` === connectorKey)
          .map((each) => ({ ...each, overshootKws: 0 }));
  const sum = (of: (account: Account) => number) => accounts.reduce((total, each) => total + of(each), 0);
  const perSession = (total: number) => (sum(({ sessions }) => sessions) === 0 ? undefined : total);
  switch (measure) {
    case 'energyShare': {
      const requestedWh = sum((each) => each.requestedWh);
      return requestedWh === 0 ? undefined : sum((each) => each.deliveredWh) / requestedWh;
    }
    case 'energyKwh':
      return sum((each) => each.deliveredWh) / 1000;
    case 'overshootKws':
      return sum((each) => each.overshootKws);
    case 'startsPerSession':
      return perSession(sum(({ starts }) => starts) / sum(({ sessions }) => sessions));
    case 'lockedThrottledS':
      return sum((each) => each.lockedThrottledS);
  }
}

export function formatFailure({ where, atMs, message }: Failure): string {
  return `${where}: ${message}${atMs === undefined ? '' : ` at ${toInstant(atMs)}`}`;
}
