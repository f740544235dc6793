// Runs one scenario from its first instant to its last, and tells what came of it.
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { connectorKey } from '../../machines/values/ids.js';
import type { EpochMs } from '../../machines/values/time.js';
import { makeDirectory } from '../../src/private-files.js';
import { VERSION } from '../../src/version.js';
import { type Summary, SummaryFold } from '../report/summary.js';
import { writeReport } from '../report/write-report.js';
import { faultPlanOf } from '../scenario/fault-plan.js';
import type { Scenario } from '../scenario/scenario.js';
import { createArrivals } from '../sessions/arrivals.js';
import { sessionsOf } from '../sessions/sessions-of.js';
import type { Visit } from '../sessions/visit.js';
import type { TraceEvent } from '../trace/trace-event.js';
import { createTraceHash } from '../trace/trace-hash.js';
import { openTraceReader } from '../trace/trace-reader.js';
import { openTraceWriter, type TraceWriter } from '../trace/trace-writer.js';
import type { Violation } from '../world/power-watch.js';
import { createWorld, type World } from '../world/world.js';
import { createActionCaller } from './action-caller.js';
import { ExpectationJudge, type Failure, formatFailure, type LimitsOf } from './expectation-judge.js';
import { FaultPlayer } from './fault-player.js';
import { createStops } from './stops.js';

export interface RunProgress {
  /** Of the scenario's duration. */
  readonly simulatedMs: number;
  readonly violations: number;
}

export interface RunResult {
  readonly scenario: Scenario;
  readonly summary: Summary;
  readonly violations: readonly Violation[];
  readonly failures: readonly Failure[];
  /** SHA-256 of everything that happened. */
  readonly hash: string;
  readonly counts: World['counts'];
}

export const REPORT_FILE = 'report.html';
export const TRACE_FILE = 'trace.sqlite';
export const SUMMARY_FILE = 'summary.json';

/** An operator's back end asks a service that is down again after this. */
export const CALL_AGAIN_MS = 5_000;
/** A lease outlasts this many heartbeats where they are slower than usual. */
const HEARTBEATS_PER_LEASE = 6;
const USUAL_HEARTBEAT_MS = 10_000;

/**
 * @param options.outDir where report.html, trace.sqlite and summary.json go; without it nothing is written.
 * @param options.settings of the service, as environment variables.
 * @throws UnusableFileError where its sessions come from a file that cannot be used.
 */
export async function runScenario(
  scenario: Scenario,
  options: {
    readonly outDir?: string;
    readonly settings?: Readonly<Record<string, string>>;
    readonly onProgress?: (progress: RunProgress) => void;
  } = {},
): Promise<RunResult> {
  const { outDir, settings, onProgress = () => {} } = options;
  const { startsAtMs, endsAtMs } = scenario;
  // A file of sessions that cannot be used is told before anything is written.
  const visits = sessionsOf(scenario, scenario.seed);
  const writer = outDir === undefined ? undefined : await openWriter(outDir, scenario);
  const hash = createTraceHash();
  const summary = new SummaryFold(startsAtMs);
  const judge = new ExpectationJudge(scenario.expectations, boundariesOf(scenario));
  const onEvent = (event: TraceEvent) => {
    summary.add(event);
    judge.add(event);
    if (writer === undefined) hash.add(event);
    else writer.add(event);
  };
  const world = await createScenarioWorld(scenario, visits, onEvent, settings);
  try {
    new FaultPlayer(world).play(faultPlanOf(scenario, scenario.seed));
    const caller = createActionCaller(world);
    const limitsOf = createLimitsOf(world, scenario);
    const stops = createStops(scenario, judge.questions);
    for (let stop = stops.next(); stop !== undefined; stop = stops.next()) {
      const { atMs, actions, isQuestion } = stop;
      await world.travelTo(atMs);
      for (const action of actions)
        if (!(await caller.make(action))) stops.repeat(action, atMs + CALL_AGAIN_MS);
      if (isQuestion) await judge.ask(atMs, limitsOf);
      judge.settle(atMs);
      await writer?.drained();
      onProgress({ simulatedMs: atMs - startsAtMs, violations: world.violations.length });
    }
    const done = summary.finish(endsAtMs);
    const failures = [...caller.failures, ...judge.finish(done)];
    const digest = (await writer?.finish(endsAtMs)) ?? hash.digest();
    const { violations, counts } = world;
    const result = { scenario, summary: done, violations, failures, hash: digest, counts };
    if (outDir !== undefined) await writeResult(outDir, result);
    return result;
  } finally {
    await world.close();
  }
}

function openWriter(outDir: string, { name, seed, startsAtMs, utcOffsetMs }: Scenario): Promise<TraceWriter> {
  makeDirectory(outDir);
  // What an earlier run left must not lie beside the trace of one that is cut short.
  for (const name of [REPORT_FILE, SUMMARY_FILE]) rmSync(join(outDir, name), { force: true });
  return openTraceWriter(join(outDir, TRACE_FILE), {
    scenario: name,
    seed,
    startsAtMs,
    utcOffsetMs,
    commit: commitName(),
  });
}

export function createScenarioWorld(
  scenario: Scenario,
  visits: readonly Visit[],
  onEvent: (event: TraceEvent) => void,
  settings: Readonly<Record<string, string>> = {},
): Promise<World> {
  const { provision, seed, startsAtMs, meterPeriodMs, transport } = scenario;
  const arrivals = createArrivals(visits, startsAtMs);
  const drift = new Map(
    faultPlanOf(scenario, seed)
      .filter(({ kind }) => kind === 'clockDrift')
      .map(({ charger, share }) => [charger?.controllerUuid, share]),
  );
  return createWorld({
    tenants: provision.tenants,
    seed,
    startMs: startsAtMs,
    transport,
    onEvent,
    visitorsOf:
      ({ controllerUuid }) =>
      (connectorId) =>
        arrivals(connectorKey({ controllerUuid, connectorId })),
    traitsOf: ({ controllerUuid }) => ({ driftShare: drift.get(controllerUuid) ?? 0, meterPeriodMs }),
    environment: { ...timingOf(meterPeriodMs), ...settings },
  });
}

/** The service expects heartbeats as often as chargers send them. */
function timingOf(meterPeriodMs: number): Readonly<Record<string, string>> {
  if (meterPeriodMs <= USUAL_HEARTBEAT_MS) return {};
  return {
    HEADROOM_HEARTBEAT_S: String(meterPeriodMs / 1000),
    HEADROOM_LEASE_TTL_S: String((HEARTBEATS_PER_LEASE * meterPeriodMs) / 1000),
  };
}

/** Instants at which windows of the scenario's calls begin and end. */
function boundariesOf({ actions }: Scenario): readonly EpochMs[] {
  return actions.flatMap(({ body }) => {
    if (typeof body !== 'object' || body === null) return [];
    return ['startTime', 'endTime'].flatMap((field) => {
      const value: unknown = Reflect.get(body, field);
      const atMs = typeof value === 'string' ? Date.parse(value) : Number.NaN;
      return Number.isNaN(atMs) ? [] : [atMs];
    });
  });
}

function createLimitsOf(world: World, { provision }: Scenario): LimitsOf {
  const tenantOf = new Map(
    provision.tenants.flatMap(({ tenantUuid, locations }) =>
      locations.map(({ locationId }) => [locationId as string, tenantUuid as string]),
    ),
  );
  return async (locationId) => {
    const answer = await world.call(
      'GET',
      `/locations/${locationId}/live`,
      undefined,
      tenantOf.get(locationId),
    );
    const { body } = answer;
    if (answer.status !== 200 || typeof body !== 'object' || body === null) return undefined;
    return {
      effectiveLimitKw: Number(Reflect.get(body, 'effectiveLimitKw')),
      gridLimitKw: Number(Reflect.get(body, 'gridLimitKw')),
    };
  };
}

async function writeResult(outDir: string, result: RunResult): Promise<void> {
  const { scenario, summary, violations, failures, hash, counts } = result;
  const { name, path, seed, transport } = scenario;
  const about = { scenario: name, path, seed, transport, hash, counts, failures };
  // The count of all is the summary's; those kept are told one by one.
  const told = { ...about, ...summary, violationsKept: violations };
  await writeFile(join(outDir, SUMMARY_FILE), `${JSON.stringify(told, null, 2)}\n`);
  const trace = await openTraceReader(join(outDir, TRACE_FILE));
  try {
    await writeReport(join(outDir, REPORT_FILE), trace, summary, failures.map(formatFailure));
  } finally {
    await trace.close();
  }
}

const SHOWN_DIGITS = 12;

/** The commit of the checkout this runs in, or the version where there is none: a trace says which code it is of. */
export function commitName(): string {
  // From source or, compiled, from dist/.
  const roots = ['../../.git/', '../../../.git/'].map((path) => new URL(path, import.meta.url));
  const root = roots.find((url) => existsSync(new URL('HEAD', url)));
  if (root === undefined) return VERSION;
  const head = readFileSync(new URL('HEAD', root), 'utf8').trim();
  const reference = head.startsWith('ref: ') ? new URL(head.slice('ref: '.length), root) : undefined;
  if (reference === undefined) return head.slice(0, SHOWN_DIGITS);
  return existsSync(reference) ? readFileSync(reference, 'utf8').trim().slice(0, SHOWN_DIGITS) : VERSION;
}
