// Reads a CSV file as a table: plain or gzipped, separated by commas or semicolons, with plain error messages.

import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { CsvError, type Info, parse } from 'csv-parse/sync';
import { counted } from '../../machines/values/counted.js';
import { UnusableFileError } from '../../src/provisioning/parse-yaml.js';
import { quote } from '../../src/provisioning/quote.js';

/** A line after the header, as fields by column. `info.lines` is its number in the file. */
export interface Row {
  readonly record: Readonly<Record<string, string>>;
  readonly info: Info;
}

export interface SessionTable {
  readonly columns: readonly string[];
  readonly rows: readonly Row[];
  /** If true, numbers may have a decimal comma. */
  readonly hasDecimalCommas: boolean;
}

const LARGEST_BYTES = 256_000_000;
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
export function readSessionTable(path: string): SessionTable {
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
