// `headroom sim replay`: the whole state of a run at one instant, with the reason of every limit; or the decisions of a
// recorded service, made again.
import { statSync } from 'node:fs';
import { counted } from '../machines/values/counted.js';
import { isRecordingFile } from '../sim/log/log-file.js';
import { formatDifference, type RecordingReplay, replayRecording } from '../sim/log/replay-recording.js';
import { openTrace, type Trace } from '../sim/log/trace.js';
import type { ConnectorAt, ConnectorName, TraceState } from '../sim/log/trace-state.js';
import type { ConnectorLive } from '../src/features/live/contract.js';
import type { LocationLive } from '../src/features/live-contract.js';
import { OperatorError } from '../src/ports/operator-error.js';
import { toInstant } from '../src/wire/instants.js';
import { printJson, printLine, printNote, printTable } from './print.js';
import type { ReplayFlags } from './sim-options.js';

function kw(watts: number | undefined): string {
  return watts === undefined ? '-' : (watts / 1000).toFixed(2);
}

function rowOf({ controllerUuid, connectorId, ...connector }: ConnectorAt): readonly string[] {
  const { status, powerW, limitTenthsA, reason, isLeased, isOnline, grant, session } = connector;
  const told =
    grant === undefined ? '-' : `${grant.limitTenthsA / 10} A (${grant.reason}, ${grant.epoch}/${grant.seq})`;
  return [
    `${controllerUuid}/${connectorId}`,
    status,
    kw(powerW),
    `${limitTenthsA / 10} A`,
    reason,
    isLeased ? 'yes' : 'no',
    isOnline ? 'yes' : 'no',
    told,
    session?.sessionId ?? '-',
  ];
}

const HEAD = ['connector', 'state', 'kW', 'limit', 'reason', 'lease', 'online', 'last limit', 'session'];

function printState(state: TraceState): void {
  printLine(toInstant(state.atMs));
  for (const { locationId, limitW, powerW, connectors } of state.locations) {
    printLine(`\n${locationId}: ${kw(powerW)} of ${kw(limitW)} kW`);
    printTable(HEAD, connectors.map(rowOf));
  }
  for (const { target, priority, limitW, startsAtMs, endsAtMs } of state.profiles) {
    const is = startsAtMs <= state.atMs ? 'active' : 'to come';
    printLine(
      `profile ${target}, priority ${priority}: ${kw(limitW)} kW from ${toInstant(startsAtMs)} to ${toInstant(endsAtMs)} (${is})`,
    );
  }
  for (const { fault, target } of state.faults) printLine(`fault ${fault} ${target}`.trimEnd());
  for (const { alarm, target } of state.alarms) printLine(`alarm ${alarm} ${target}`);
  for (const { line, l1TenthsV, l2TenthsV, l3TenthsV } of state.voltages) {
    const volts = [l1TenthsV, l2TenthsV, l3TenthsV].map((tenths) => (tenths / 10).toFixed(1));
    printLine(`line ${line}: ${volts.join(', ')} V on L1, L2, L3`);
  }
  const { lastViolation } = state;
  if (lastViolation !== undefined)
    printLine(
      `last violation: ${lastViolation.invariant} at ${toInstant(lastViolation.atMs)}, ${lastViolation.target}: ${lastViolation.detail}`,
    );
}

function show(trace: Trace, { at, connector, json }: ReplayFlags): void {
  const { subject, endsAtMs } = trace;
  const { startsAtMs } = subject;
  const atMs = at ?? endsAtMs;
  if (atMs < startsAtMs || atMs > endsAtMs) {
    throw new OperatorError(
      `--at lies outside the run, which goes from ${toInstant(startsAtMs)} to ${toInstant(endsAtMs)}`,
    );
  }
  const state = trace.at(atMs, connector);
  if (connector !== undefined && state.locations.length === 0) {
    throw new OperatorError(
      `the run has no connector ${connector.controllerUuid}/${connector.connectorId}; replay without --connector lists all`,
    );
  }
  if (json) printJson({ ...subject, ...state });
  else printState(state);
  if (trace.hash === undefined) printNote(`the run ended early; its trace ends at ${toInstant(endsAtMs)}`);
}

// A recording of a service: its decisions, made again, and its state at an instant.

const SERVICE_HEAD = ['connector', 'state', 'kW', 'limit', 'reason', 'lease', 'link'];

function serviceRowOf(connector: ConnectorLive): readonly string[] {
  const { controllerUuid, connectorId, chargingStatus, actualKw, limitA, reason, leaseLeftSeconds, link } =
    connector;
  return [
    `${controllerUuid}/${connectorId}`,
    chargingStatus ?? '-',
    actualKw.toFixed(2),
    limitA === null ? '-' : `${limitA} A`,
    reason,
    leaseLeftSeconds === null ? 'no' : `${leaseLeftSeconds.toFixed(0)} s`,
    link,
  ];
}

function printLocation({ locationId, actualKw, gridLimitKw, gridLimitCause, ...more }: LocationLive): void {
  const { budgetKw, reservedKw, connectors, alarms } = more;
  printLine(
    `\n${locationId}: ${actualKw.toFixed(2)} of ${gridLimitKw.toFixed(2)} kW (${gridLimitCause.kind}), ${reservedKw.toFixed(2)} of ${budgetKw.toFixed(2)} kW reserved`,
  );
  printTable(SERVICE_HEAD, connectors.map(serviceRowOf));
  for (const { kind, controllerUuid, connectorId } of alarms)
    printLine(`alarm ${kind} ${controllerUuid === null ? locationId : `${controllerUuid}/${connectorId}`}`);
}

/** Only `connector` of the locations, if it is given. */
function narrowed(
  locations: readonly LocationLive[],
  connector: ConnectorName | undefined,
): readonly LocationLive[] {
  if (connector === undefined) return locations;
  const isMeant = ({ controllerUuid, connectorId }: ConnectorLive) =>
    controllerUuid === connector.controllerUuid && connectorId === connector.connectorId;
  return locations
    .map((location) => ({ ...location, connectors: location.connectors.filter(isMeant) }))
    .filter(({ connectors }) => connectors.length > 0);
}

function printOutcome({ lives, turns, startsAtMs, endsAtMs, ...outcome }: RecordingReplay): void {
  const { agreed, differing, first, cutAtLine } = outcome;
  const started = lives === 1 ? 'once' : `${lives} times`;
  printLine(
    `a service that was started ${started}, from ${toInstant(startsAtMs)} to ${toInstant(endsAtMs)}: ${counted(turns, 'event')}`,
  );
  printLine(`${counted(agreed, 'limit agrees', 'limits agree')}, ${counted(differing, 'differs', 'differ')}`);
  if (cutAtLine !== undefined) printNote(`incomplete at line ${cutAtLine}; read up to there`);
  if (first !== undefined) printNote(`first difference: ${formatDifference(first)}`);
}

/** Exit code 1 if a decision differs. @throws OperatorError if the file or the instant cannot be used. */
async function replayService(path: string, { at, connector, json }: ReplayFlags): Promise<void> {
  const outcome = await replayRecording(path, at);
  const { locations, ...compared } = outcome;
  if (at !== undefined && locations === undefined)
    throw new OperatorError(
      `--at lies before the recording, which begins at ${toInstant(outcome.startsAtMs)}`,
    );
  const shown = narrowed(locations ?? [], connector);
  if (connector !== undefined && shown.length === 0)
    throw new OperatorError(
      at === undefined
        ? '--connector shows a state: give its instant with --at'
        : `there is no connector ${connector.controllerUuid}/${connector.connectorId} at that instant; replay without --connector lists all`,
    );
  if (json) printJson({ ...compared, ...(locations === undefined ? {} : { locations: shown }) });
  else {
    printOutcome(outcome);
    for (const location of shown) printLocation(location);
  }
  if (outcome.differing > 0) process.exitCode = 1;
}

export async function replay(path: string, flags: ReplayFlags): Promise<void> {
  const isFile = statSync(path, { throwIfNoEntry: false })?.isFile() === true;
  if (isFile && isRecordingFile(path)) return replayService(path, flags);
  const trace = openTrace(path);
  try {
    show(trace, flags);
  } finally {
    trace.close();
  }
}
