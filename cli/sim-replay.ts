// `headroom sim replay` of a run: the whole state at one instant, and the reason of every limit.
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { isRecordingFile } from '../sim/recording/recording-reader.js';
import { TRACE_FILE } from '../sim/run/run-account.js';
import { openTraceReader, type TraceReader } from '../sim/trace/trace-reader.js';
import type { ConnectorAt, TraceState } from '../sim/trace/trace-state.js';
import { OperatorError } from '../src/ports/operator-error.js';
import { toInstant } from '../src/wire/instants.js';
import { printJson, printLine, printNote, printTable } from './print.js';
import type { ReplayFlags } from './sim-options.js';
import { replayRecordingFile } from './sim-replay-recording.js';

/** A trace, or the folder with the trace of a run. */
export function traceFileOf(path: string): string {
  const isFolder = statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
  return isFolder ? join(path, TRACE_FILE) : path;
}

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

const HEAD = ['connector', 'state', 'kW', 'limit', 'reason', 'lease', 'online', 'last told', 'session'];

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

async function show(file: string, trace: TraceReader, { at, connector, json }: ReplayFlags): Promise<void> {
  const { subject, endsAtMs } = trace;
  const { startsAtMs } = subject;
  const atMs = at ?? endsAtMs;
  if (atMs < startsAtMs || atMs > endsAtMs) {
    throw new OperatorError(
      `--at lies outside the run, which goes from ${toInstant(startsAtMs)} to ${toInstant(endsAtMs)}`,
    );
  }
  const state = await trace.at(atMs, connector).catch((error: Error) => {
    throw new OperatorError(`${file} is damaged (${error.message}); run its scenario again`);
  });
  if (connector !== undefined && state.locations.length === 0) {
    throw new OperatorError(
      `the run has no connector ${connector.controllerUuid}/${connector.connectorId}; replay without --connector lists all`,
    );
  }
  if (json) printJson({ ...subject, ...state });
  else printState(state);
  if (trace.hash === undefined) printNote(`the run was cut short; its trace ends at ${toInstant(endsAtMs)}`);
}

export async function replay(path: string, flags: ReplayFlags): Promise<void> {
  const file = traceFileOf(path);
  if (existsSync(file) && isRecordingFile(file)) return replayRecordingFile(file, flags);
  const trace = await openTraceReader(file).catch((error: Error) => {
    throw new OperatorError(error.message);
  });
  try {
    await show(file, trace, flags);
  } finally {
    await trace.close();
  }
}
