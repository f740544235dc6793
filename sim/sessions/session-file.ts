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

function rowsOf(text: string, path: string): readonly Row[] {
  try {
    return parse<Row>(text, { columns: true, bom: true, skip_empty_lines: true, trim: true, info: true });
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    throw new UnusableFileError([`${path}: ${error.message}`]);
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
    return `${energyColumn} energy must be from 0.001 to ${MOST_KWH} kWh`;
  if (maxKw !== undefined && !(maxKw > 0 && maxKw <= 1000))
    return 'maxKw must be greater than 0 and at most 1000';
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

function missingColumns(row: Row | undefined, energyColumn: Column): readonly string[] {
  const needed: readonly Column[] = ['arrival', 'departure', 'station', 'session', energyColumn];
  return needed
    .filter((column) => !COLUMNS[column].some((name) => Object.hasOwn(row?.record ?? {}, name)))
    .map((column) => `has no column ${COLUMNS[column].join(' or ')}`);
}

/**
 * The sessions of a file, in its order.
 * @throws UnusableFileError with up to twenty problems, each with its line.
 */
export function readSessionFile(path: string, energy: 'requested' | 'delivered'): readonly RecordedSession[] {
  const rows = rowsOf(textOf(path), path);
  const missing = missingColumns(rows[0], energy);
  if (missing.length > 0) throw new UnusableFileError(missing.map((problem) => `${path}:1 ${problem}`));
  const sessions: RecordedSession[] = [];
  const problems: string[] = [];
  const lineOfId = new Map<string, number>();
  for (const row of rows) {
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
