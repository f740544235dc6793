// Reads a CSV file as a table: plain or gzipped, separated by commas or semicolons, with plain error messages.

import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { CsvError, type Info, parse } from 'csv-parse/sync';
import { counted } from '../../machines/values/counted.js';
import type { EpochMs } from '../../machines/values/time.js';
import type { TimeZone } from '../../machines/values/time-zone.js';
import { UnusableFileError } from '../../src/provisioning/parse-yaml.js';
import { quote } from '../../src/provisioning/quote.js';
import { instantsOf, parseWrittenTime } from '../scenario/moment.js';

/** A line after the header, as fields by column. `info.lines` is its number in the file. */
interface Row {
  readonly record: Readonly<Record<string, string>>;
  readonly info: Info;
}

interface CsvTable {
  readonly columns: readonly string[];
  readonly rows: readonly Row[];
  /** If true, numbers may have a decimal comma. */
  readonly hasDecimalCommas: boolean;
}

const LARGEST_BYTES = 256_000_000;
const MOST_PROBLEMS = 20;
const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d{1,3})?$/i;
const GZIP_MAGIC = [0x1f, 0x8b] as const;

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

/** The more frequent of `,` and `;` in the first line, outside quotes. */
function separatorOf(text: string): ',' | ';' {
  const [head = ''] = text.trimStart().split(/[\r\n]/, 1);
  const unquoted = head.replace(/"[^"]*"/g, '');
  return unquoted.split(';').length > unquoted.split(',').length ? ';' : ',';
}

function plainWordsOf({ code, column, record }: CsvError, columns: readonly string[]): string {
  const name = typeof column === 'string' ? `column ${quote(column)}: ` : '';
  switch (code) {
    case 'CSV_RECORD_INCONSISTENT_COLUMNS':
    case 'CSV_RECORD_INCONSISTENT_FIELDS_LENGTH':
      return `has ${Array.isArray(record) ? counted(record.length, 'field') : 'another number of fields'}, and the first line names ${counted(columns.length, 'column')}`;
    case 'CSV_QUOTE_NOT_CLOSED':
      return `${name}has a quotation mark that is never closed`;
    case 'INVALID_OPENING_QUOTE':
      return `${name}has a quotation mark within a field; put the whole field in quotation marks, and write each inside it twice`;
    case 'CSV_INVALID_CLOSING_QUOTE':
      return `${name}goes on after its closing quotation mark; write a quotation mark inside a field twice`;
    default:
      return `${name}cannot be read as CSV (${code})`;
  }
}

/** @throws UnusableFileError if the file cannot be read or is no CSV. */
function tableOf(path: string): CsvTable {
  const text = textOf(path);
  const delimiter = separatorOf(text);
  let columns: readonly string[] = [];
  const takeColumns = (names: string[]) => {
    columns = names;
    return names;
  };
  const options = { delimiter, bom: true, skip_empty_lines: true, trim: true, info: true };
  try {
    const rows = parse<Row>(text, { ...options, columns: takeColumns });
    return { columns, rows, hasDecimalCommas: delimiter === ';' };
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    throw new UnusableFileError([`${path}:${error.lines} ${plainWordsOf(error, columns)}`]);
  }
}

/** An unusable line; the message names the column if one is wrong. */
export class LineError extends Error {}

/** Possible names of each column. */
type Columns<C extends string> = Readonly<Record<C, readonly string[]>>;

interface Reading<C extends string, T> {
  readonly columns: Columns<C>;
  /** A file without one of these columns is unusable. */
  readonly needed: readonly C[];
  /** Used only if the file has them. */
  readonly optional?: readonly C[];
  /** Of times without an offset. */
  readonly timeZone: TimeZone | undefined;
  /** Content of a line, for an error message. */
  readonly content: string;
  /** @throws LineError */
  readonly lineOf: (fields: CsvFields<C>, line: number) => T;
}

/** The fields of one line. */
export class CsvFields<C extends string> {
  readonly #record: Row['record'];
  readonly #hasDecimalCommas: boolean;
  readonly #columns: Columns<C>;
  readonly #timeZone: TimeZone | undefined;

  constructor(
    { record }: Row,
    { hasDecimalCommas }: CsvTable,
    columns: Columns<C>,
    timeZone: TimeZone | undefined,
  ) {
    this.#record = record;
    this.#hasDecimalCommas = hasDecimalCommas;
    this.#columns = columns;
    this.#timeZone = timeZone;
  }

  text(column: C): string {
    const text = this.#raw(column);
    return text === '' ? this.fail(column, 'is empty') : text;
  }

  /** A number from `least` to `most`, both inclusive. */
  number(column: C, least: number, most: number, unit: string): number {
    const text = this.#raw(column);
    const digits = this.#hasDecimalCommas ? text.replace(',', '.') : text;
    const value = NUMBER.test(digits) ? Number(digits) : Number.NaN;
    if (value >= least && value <= most) return value;
    return this.fail(column, `${quote(text)} must be a number from ${least} to ${most}, in ${unit}`);
  }

  /**
   * First instant after `beforeMs` that the field can mean: a local time is ambiguous after a clock change.
   * @param rule error message if there is none
   */
  instantAfter(column: C, beforeMs: EpochMs, rule: string): EpochMs {
    const text = this.#raw(column);
    const written = parseWrittenTime(text);
    if (written === undefined)
      this.fail(
        column,
        `${quote(text)} must be a time such as 2026-06-01T17:00:00Z or 2026-06-01 17:00:00+02:00`,
      );
    const instants =
      instantsOf(written, this.#timeZone) ??
      this.fail(
        column,
        `${quote(text)} has no offset from UTC; add one, such as Z or +02:00, or name the time zone of the file (timeZone)`,
      );
    return instants.find((atMs) => atMs > beforeMs) ?? this.fail(column, rule.replace('{}', quote(text)));
  }

  isGiven(column: C): boolean {
    return this.#raw(column) !== '';
  }

  fail(column: C, problem: string): never {
    const names = this.#columns[column];
    const name = names.find((each) => this.#record[each] !== undefined) ?? column;
    throw new LineError(`column ${name}: ${problem}`);
  }

  #raw(column: C): string {
    return this.#columns[column].map((name) => this.#record[name]).find((text) => text !== undefined) ?? '';
  }
}

/**
 * The lines of a CSV file, in its order.
 * @throws UnusableFileError with up to twenty problems, each with its line and, if one column is wrong, with the
 * column.
 */
export function readCsv<C extends string, T>(path: string, reading: Reading<C, T>): readonly T[] {
  const { columns, timeZone, lineOf } = reading;
  const table = tableOf(path);
  const unusable = headProblems(table, reading);
  if (unusable.length > 0) throw new UnusableFileError(unusable.map((problem) => `${path}:1 ${problem}`));
  const lines: T[] = [];
  const problems: string[] = [];
  for (const row of table.rows) {
    const line = row.info.lines;
    try {
      lines.push(lineOf(new CsvFields(row, table, columns, timeZone), line));
    } catch (error) {
      if (!(error instanceof LineError)) throw error;
      problems.push(`${path}:${line} ${error.message}`);
    }
    if (problems.length >= MOST_PROBLEMS) break;
  }
  if (problems.length > 0) throw new UnusableFileError(problems);
  return lines;
}

function headProblems<C extends string, T>(
  { columns: names, rows }: CsvTable,
  { columns, needed, optional = [], content }: Reading<C, T>,
): readonly string[] {
  if (names.length === 0) return ['is empty; its first line must name the columns'];
  const foundOf = (column: C) => names.filter((name) => columns[column].includes(name)).length;
  const missing = needed
    .filter((column) => foundOf(column) === 0)
    .map((column) => `has no column ${columns[column].join(' or ')}`);
  const doubled = [...needed, ...optional]
    .filter((column) => foundOf(column) > 1)
    .map((column) => `has more than one column ${columns[column].join(' or ')}`);
  const problems = [...missing, ...doubled];
  return problems.length === 0 && rows.length === 0 ? [`has no ${content} below its columns`] : problems;
}
