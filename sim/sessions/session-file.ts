// Reads recorded sessions from a CSV file with the columns of public data sets.
import type { EpochMs } from '../../machines/values/time.js';
import { UnusableFileError } from '../../src/provisioning/parse-yaml.js';
import { quote } from '../../src/provisioning/quote.js';
import { instantsOf, parseWrittenTime, type TimeZone } from '../scenario/moment.js';
import { type Row, readSessionTable, type SessionTable } from './session-table.js';

/** One line of the file, at its original times. Energy in Wh; `maxKw` only if the file has this column. */
export interface RecordedSession {
  readonly line: number;
  readonly station: string;
  readonly sessionId: string;
  readonly arrivesAtMs: EpochMs;
  readonly leavesAtMs: EpochMs;
  readonly energyWh: number;
  readonly maxKw: number | undefined;
}

/** The energy column that a session uses. */
export type SessionEnergy = 'requested' | 'delivered';

/** `timeZone` applies to times without an offset. */
export interface SessionFileReading {
  readonly energy: SessionEnergy;
  readonly timeZone?: TimeZone | undefined;
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

const MOST_PROBLEMS = 20;
const LEAST_KWH = 0.001;
const MOST_KWH = 10_000;
const MOST_KW = 1000;
const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d{1,3})?$/i;

/** An invalid field; the message names its column. */
class FieldError extends Error {}

/** Parses the fields of one line. @throws FieldError */
class Fields {
  readonly #row: Row;
  readonly #hasDecimalCommas: boolean;
  readonly #timeZone: TimeZone | undefined;

  constructor(row: Row, { hasDecimalCommas }: SessionTable, { timeZone }: SessionFileReading) {
    this.#row = row;
    this.#hasDecimalCommas = hasDecimalCommas;
    this.#timeZone = timeZone;
  }

  text(column: Column): string {
    const text = this.#raw(column);
    return text === '' ? this.#fail(column, 'is empty') : text;
  }

  /** A number from `least` to `most`, both inclusive. */
  number(column: Column, least: number, most: number, unit: string): number {
    const text = this.#raw(column);
    const digits = this.#hasDecimalCommas ? text.replace(',', '.') : text;
    const value = NUMBER.test(digits) ? Number(digits) : Number.NaN;
    if (value >= least && value <= most) return value;
    return this.#fail(column, `${quote(text)} must be a number from ${least} to ${most}, in ${unit}`);
  }

  /** First and last instant that the field can mean: a local time is ambiguous after a clock change. */
  instants(column: Column): readonly [EpochMs, EpochMs] {
    const text = this.#raw(column);
    const written = parseWrittenTime(text);
    if (written === undefined) {
      return this.#fail(
        column,
        `${quote(text)} must be a time such as 2026-06-01T17:00:00Z or 2026-06-01 17:00:00+02:00`,
      );
    }
    return (
      instantsOf(written, this.#timeZone) ??
      this.#fail(
        column,
        `${quote(text)} says no offset from UTC; add one, such as Z or +02:00, or name the time zone of the file (timeZone)`,
      )
    );
  }

  isGiven(column: Column): boolean {
    return this.#raw(column) !== '';
  }

  /** Departure of the car. Of two possible instants, the first one after the arrival. */
  departure(arrivesAtMs: EpochMs): EpochMs {
    const leavesAtMs = this.instants('departure').find((atMs) => atMs > arrivesAtMs);
    return leavesAtMs ?? this.#fail('departure', 'must be after the arrival');
  }

  #raw(column: Column): string {
    const { record } = this.#row;
    return COLUMNS[column].map((name) => record[name]).find((text) => text !== undefined) ?? '';
  }

  #fail(column: Column, problem: string): never {
    const { record } = this.#row;
    const name = COLUMNS[column].find((each) => record[each] !== undefined) ?? column;
    throw new FieldError(`column ${name}: ${problem}`);
  }
}

function sessionOf(fields: Fields, line: number, energy: SessionEnergy): RecordedSession {
  const [arrivesAtMs] = fields.instants('arrival');
  return {
    line,
    arrivesAtMs,
    leavesAtMs: fields.departure(arrivesAtMs),
    station: fields.text('station'),
    sessionId: fields.text('session'),
    energyWh: Math.round(1000 * fields.number(energy, LEAST_KWH, MOST_KWH, 'kWh')),
    maxKw: fields.isGiven('maxKw') ? fields.number('maxKw', LEAST_KWH, MOST_KW, 'kW') : undefined,
  };
}

function headProblems({ columns, rows }: SessionTable, energyColumn: Column): readonly string[] {
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
 * @throws UnusableFileError with up to twenty problems, each with its line and, if one column is wrong, with the
 * column.
 */
export function readSessionFile(path: string, reading: SessionFileReading): readonly RecordedSession[] {
  const table = readSessionTable(path);
  const unusable = headProblems(table, reading.energy);
  if (unusable.length > 0) throw new UnusableFileError(unusable.map((problem) => `${path}:1 ${problem}`));
  const sessions: RecordedSession[] = [];
  const problems: string[] = [];
  const lineOfId = new Map<string, number>();
  for (const row of table.rows) {
    const line = row.info.lines;
    try {
      const session = sessionOf(new Fields(row, table, reading), line, reading.energy);
      const { sessionId } = session;
      const first = lineOfId.get(sessionId);
      if (first !== undefined)
        problems.push(`${path}:${line} session ${quote(sessionId)} is that of line ${first}`);
      lineOfId.set(sessionId, line);
      sessions.push(session);
    } catch (error) {
      if (!(error instanceof FieldError)) throw error;
      problems.push(`${path}:${line} ${error.message}`);
    }
    if (problems.length >= MOST_PROBLEMS) break;
  }
  if (problems.length > 0) throw new UnusableFileError(problems);
  return sessions;
}
