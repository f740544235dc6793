// Recorded sessions from a CSV file, plain or gzipped, in the columns that public data sets use.
import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { CsvError, type Info, parse } from 'csv-parse/sync';
import type { EpochMs } from '../../machines/time.js';
import { UnusableFileError } from '../../src/provisioning/parse-yaml.js';
import { parseInstant } from '../scenario/moment.js';

/** One line of the file, at the times it says. Energy in Wh; `maxKw` where the file tells it. */
export interface RecordedSession {
  readonly line: number;
  readonly station: string;
  readonly sessionId: string;
  readonly arrivesAtMs: EpochMs;
  readonly leavesAtMs: EpochMs;
  readonly energyWh: number;
  readonly maxKw: number | undefined;
}

const COLUMNS = {
  arrival: ['arrival'],
  departure: ['departure'],
  station: ['stationId', 'station_id'],
  session: ['sessionId', 'session_id'],
  requested: ['requestedKwh', 'requested_energy (kWh)'],
  delivered: ['deliveredKwh', 'delivered_energy (kWh)'],
  maxKw: ['maxKw'],
} as const;
type Column = keyof typeof COLUMNS;

const LARGEST_BYTES = 256_000_000;
const MOST_PROBLEMS = 20;
const GZIP_MAGIC = [0x1f, 0x8b] as const;
const MOST_KWH = 10_000;
const LONGEST_MESSAGE = 200;

function textOf(path: string): string {
  try {
    const bytes = readFileSync(path);
    const isGzip = bytes[0] === GZIP_MAGIC[0] && bytes[1] === GZIP_MAGIC[1];
    return (isGzip ? gunzipSync(bytes, { maxOutputLength: LARGEST_BYTES }) : bytes).toString('utf8');
  } catch (error) {
    throw new UnusableFileError([
      `${path}: cannot be read: ${error instanceof Error ? error.message : error}`,
    ]);
  }
}

interface Row {
  readonly record: Readonly<Record<string, string>>;
  readonly info: Info;
}

interface Table {
  readonly columns: readonly string[];
  readonly rows: readonly Row[];
}

function tableOf(text: string, path: string): Table {
  let columns: readonly string[] = [];
  const takeColumns = (names: string[]) => {
    columns = names;
    return names;
  };
  const options = { columns: takeColumns, bom: true, skip_empty_lines: true, trim: true, info: true };
  try {
    const rows = parse<Row>(text, options);
    return { columns, rows };
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    // It quotes the file, which may be anything.
    const message = JSON.stringify(error.message.slice(0, LONGEST_MESSAGE)).slice(1, -1);
    throw new UnusableFileError([`${path}:${error.lines} ${message}`]);
  }
}

/** A session, or what is wrong with its line. */
function readRow({ record, info }: Row, energyColumn: Column): RecordedSession | string {
  const field = (column: Column) =>
    COLUMNS[column].map((name) => record[name]).find((text) => text !== undefined);
  const instant = (column: Column) => parseInstant((field(column) ?? '').replace(' ', 'T'))?.atMs;
  const number = (column: Column) => (field(column) ? Number(field(column)) : undefined);
  const [arrivesAtMs, leavesAtMs] = [instant('arrival'), instant('departure')];
  const [station, sessionId] = [field('station'), field('session')];
  const [kwh, maxKw] = [number(energyColumn), number('maxKw')];
  if (arrivesAtMs === undefined)
    return `arrival "${field('arrival')}" must be an instant with its offset from UTC`;
  if (leavesAtMs === undefined)
    return `departure "${field('departure')}" must be an instant with its offset from UTC`;
  if (leavesAtMs <= arrivesAtMs) return 'departure must be after arrival';
  if (!station) return 'the station is missing';
  if (!sessionId) return 'the session is missing';
  if (kwh === undefined || !(kwh >= 0.001 && kwh <= MOST_KWH))
    return `${energyColumn} energy "${field(energyColumn)}" must be from 0.001 to ${MOST_KWH} kWh`;
  if (maxKw !== undefined && !(maxKw > 0 && maxKw <= 1000))
    return `maxKw "${field('maxKw')}" must be greater than 0 and at most 1000`;
  return {
    line: info.lines,
    station,
    sessionId,
    arrivesAtMs,
    leavesAtMs,
    energyWh: Math.round(1000 * kwh),
    maxKw,
  };
}

function headProblems({ columns, rows }: Table, energyColumn: Column): readonly string[] {
  if (columns.length === 0) return ['is empty; its first line must name the columns'];
  const needed: readonly Column[] = ['arrival', 'departure', 'station', 'session', energyColumn];
  const missing = needed
    .filter((column) => !COLUMNS[column].some((name) => columns.includes(name)))
    .map((column) => `has no column ${COLUMNS[column].join(' or ')}`);
  const doubled = [...needed, 'maxKw' as const]
    .filter((column) => columns.filter((name) => COLUMNS[column].some((known) => known === name)).length > 1)
    .map((column) => `has more than one column ${COLUMNS[column].join(' or ')}`);
  const problems = [...missing, ...doubled];
  return problems.length === 0 && rows.length === 0 ? ['has no session below its columns'] : problems;
}

/**
 * The sessions of a file, in its order.
 * @throws UnusableFileError with up to twenty problems, each with its line.
 */
export function readSessionFile(path: string, energy: 'requested' | 'delivered'): readonly RecordedSession[] {
  const table = tableOf(textOf(path), path);
  const unusable = headProblems(table, energy);
  if (unusable.length > 0) throw new UnusableFileError(unusable.map((problem) => `${path}:1 ${problem}`));
  const sessions: RecordedSession[] = [];
  const problems: string[] = [];
  const lineOfId = new Map<string, number>();
  for (const row of table.rows) {
    const session = readRow(row, energy);
    if (typeof session === 'string') {
      problems.push(`${path}:${row.info.lines} ${session}`);
    } else {
      const { sessionId, line } = session;
      const first = lineOfId.get(sessionId);
      if (first !== undefined)
        problems.push(`${path}:${line} session "${sessionId}" is that of line ${first}`);
      lineOfId.set(sessionId, line);
      sessions.push(session);
    }
    if (problems.length >= MOST_PROBLEMS) break;
  }
  if (problems.length > 0) throw new UnusableFileError(problems);
  return sessions;
}
