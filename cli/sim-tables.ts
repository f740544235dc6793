// `--csv DIR` of the simulator's commands: figures of connectors and sessions, for a spreadsheet or a notebook.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SessionSummary } from '../sim/report/connector-account.js';
import type { LocationSummary } from '../sim/report/summary.js';
import { makeDirectory } from '../src/private-files.js';
import { toInstant } from '../src/wire/instants.js';

// Writes the figures of a run as CSV (RFC 4180): a row for each connector, or for each session.

/** A column: a name that ends with the unit, and a cell; undefined gives an empty cell. */
type Column<Row> = readonly [name: string, cell: (row: Row) => string | number | undefined];

/** A connector or a session with its run and location. */
type InRun<Row> = Row & { readonly seed: number; readonly locationId: string };

type Connector = InRun<LocationSummary['connectors'][number]>;
type Session = InRun<SessionSummary & { readonly controllerUuid: string; readonly connectorId: string }>;

const kwh = (wattHours: number) => (wattHours / 1000).toFixed(3);

const CONNECTOR_COLUMNS: readonly Column<Connector>[] = [
  ['seed', ({ seed }) => seed],
  ['location', ({ locationId }) => locationId],
  ['charger', ({ controllerUuid }) => controllerUuid],
  ['connector', ({ connectorId }) => connectorId],
  ['sessions', ({ sessions }) => sessions],
  ['requested_kWh', ({ requestedWh }) => kwh(requestedWh)],
  ['delivered_kWh', ({ deliveredWh }) => kwh(deliveredWh)],
  ['peak_kW', ({ peakW }) => kwh(peakW)],
  ['starts', ({ starts }) => starts],
  ['stops', ({ stops }) => stops],
  ['limit_changes', ({ limitChanges }) => limitChanges],
  ['throttled_s', ({ throttledS }) => Math.round(throttledS)],
  ['paused_s', ({ pausedS }) => Math.round(pausedS)],
  ['locked_throttled_s', ({ lockedThrottledS }) => Math.round(lockedThrottledS)],
];

const SESSION_COLUMNS: readonly Column<Session>[] = [
  ['seed', ({ seed }) => seed],
  ['location', ({ locationId }) => locationId],
  ['charger', ({ controllerUuid }) => controllerUuid],
  ['connector', ({ connectorId }) => connectorId],
  ['session', ({ sessionId }) => sessionId],
  ['arrived_at', ({ arrivedAtMs }) => toInstant(arrivedAtMs)],
  ['left_at', ({ leftAtMs }) => (leftAtMs === undefined ? undefined : toInstant(leftAtMs))],
  ['requested_kWh', ({ requestedWh }) => kwh(requestedWh)],
  ['delivered_kWh', ({ deliveredWh }) => kwh(deliveredWh)],
  ['starts', ({ starts }) => starts],
  ['stops', ({ stops }) => stops],
];

/** A run: its seed, and the summary of each location. */
interface TabledRun {
  readonly seed: number;
  readonly locations: readonly LocationSummary[];
}

export function connectorsCsv(runs: readonly TabledRun[]): string {
  return csvOf(
    CONNECTOR_COLUMNS,
    runs.flatMap(({ seed, locations }) =>
      locations.flatMap(({ locationId, connectors }) =>
        connectors.map((connector) => ({ seed, locationId, ...connector })),
      ),
    ),
  );
}

/** In the order of connectors; the sessions of a connector in the order of arrival. */
export function sessionsCsv(runs: readonly TabledRun[]): string {
  return csvOf(
    SESSION_COLUMNS,
    runs.flatMap(({ seed, locations }) =>
      locations.flatMap(({ locationId, connectors }) =>
        connectors.flatMap(({ controllerUuid, connectorId, visits }) =>
          visits.map((visit) => ({ seed, locationId, controllerUuid, connectorId, ...visit })),
        ),
      ),
    ),
  );
}

function csvOf<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): string {
  const lines = [
    columns.map(([name]) => name),
    ...rows.map((row) => columns.map(([, cell]) => quoted(String(cell(row) ?? '')))),
  ];
  return lines.map((line) => `${line.join(',')}\r\n`).join('');
}

/** RFC 4180: a cell with a comma, a quote or a line break is quoted, and its quotes are doubled. */
function quoted(cell: string): string {
  return /[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
}

export const CONNECTORS_FILE = 'connectors.csv';
export const SESSIONS_FILE = 'sessions.csv';

/** Fails before the run if the folder cannot be written. @throws the error of the file system */
export function claimTables(dir: string | undefined): void {
  if (dir === undefined) return;
  makeDirectory(dir);
  for (const file of [CONNECTORS_FILE, SESSIONS_FILE]) writeFileSync(join(dir, file), '');
}

export function writeTables(dir: string, runs: readonly TabledRun[]): void {
  writeFileSync(join(dir, CONNECTORS_FILE), connectorsCsv(runs));
  writeFileSync(join(dir, SESSIONS_FILE), sessionsCsv(runs));
}
