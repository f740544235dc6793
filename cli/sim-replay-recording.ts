// `headroom sim replay` of a recording of a service: repeats its decisions, and shows its state at an instant.
import { counted } from '../machines/values/counted.js';
import type { EpochMs } from '../machines/values/time.js';
import {
  formatDifference,
  type RecordingReplay,
  replayRecording,
} from '../sim/recording/replay-recording.js';
import type { ConnectorName } from '../sim/trace/trace-state.js';
import { OperatorError } from '../src/ports/operator-error.js';
import { toInstant } from '../src/wire/instants.js';
import type { ConnectorLive, LocationLive } from '../src/wire/operator-locations.js';
import { printJson, printLine, printNote, printTable } from './print.js';

const HEAD = ['connector', 'state', 'kW', 'limit', 'reason', 'lease', 'link'];

function rowOf(connector: ConnectorLive): readonly string[] {
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
  printTable(HEAD, connectors.map(rowOf));
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
  if (cutAtLine !== undefined) printNote(`cut off within line ${cutAtLine}; read up to there`);
  if (first !== undefined) printNote(`first that differs: ${formatDifference(first)}`);
}

/** Exit code 1 if a decision differs. @throws OperatorError if the file or the instant cannot be used. */
export async function replayRecordingFile(
  path: string,
  {
    at,
    connector,
    json,
  }: { readonly at?: EpochMs; readonly connector?: ConnectorName; readonly json?: true },
): Promise<void> {
  const outcome = await replayRecording(path, at).catch((error: Error) => {
    throw new OperatorError(error.message);
  });
  const { locations, ...compared } = outcome;
  if (at !== undefined && locations === undefined)
    throw new OperatorError(
      `--at lies before the recording, which begins at ${toInstant(outcome.startsAtMs)}`,
    );
  const shown = narrowed(locations ?? [], connector);
  if (connector !== undefined && shown.length === 0)
    throw new OperatorError(
      at === undefined
        ? '--connector shows a state: say at which instant with --at'
        : `there is no connector ${connector.controllerUuid}/${connector.connectorId} at that instant; replay without --connector lists all`,
    );
  if (json) printJson({ ...compared, ...(locations === undefined ? {} : { locations: shown }) });
  else {
    printOutcome(outcome);
    for (const location of shown) printLocation(location);
  }
  if (outcome.differing > 0) process.exitCode = 1;
}
