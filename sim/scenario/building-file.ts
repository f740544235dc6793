// Reads the load of a building from a CSV file: each line has a time and a power that applies until the next line.
import type { EpochMs } from '../../machines/values/time.js';
import { UnusableFileError } from '../../src/provisioning/parse-yaml.js';
import { quote } from '../../src/provisioning/quote.js';
import { type Row, readSessionTable, type SessionTable } from '../sessions/session-table.js';
import { instantsOf, parseWrittenTime, type TimeZone } from './moment.js';

/** From `fromMs` on the building draws `kw`; a negative value feeds power back. */
export interface LoadStep {
  readonly fromMs: EpochMs;
  readonly kw: number;
}

const TIME = 'time';
const POWER = 'kW';
const MOST_KW = 100_000;
const MOST_PROBLEMS = 20;
const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d{1,3})?$/i;

function headProblems({ columns, rows }: SessionTable): readonly string[] {
  if (columns.length === 0) return ['is empty; its first line must name the columns'];
  const problems = [TIME, POWER].flatMap((name) => {
    const found = columns.filter((column) => column === name).length;
    if (found === 1) return [];
    return [found === 0 ? `has no column ${name}` : `has more than one column ${name}`];
  });
  return problems.length === 0 && rows.length === 0 ? ['has no line below its columns'] : problems;
}

/** @returns the step, or a message about the problem of the line */
function stepOf(
  { record }: Row,
  hasDecimalCommas: boolean,
  timeZone: TimeZone | undefined,
  before: LoadStep | undefined,
): LoadStep | string {
  const { [TIME]: time = '', [POWER]: power = '' } = record;
  const written = parseWrittenTime(time.replace(' ', 'T'));
  if (written === undefined)
    return `column ${TIME}: ${quote(time)} must be a time such as 2026-06-01T17:00:00Z or 2026-06-01 17:00:00+02:00`;
  const instants = instantsOf(written, timeZone);
  if (instants === undefined)
    return `column ${TIME}: ${quote(time)} says no offset from UTC; add one, such as Z or +02:00, or name the time zone of the file (timeZone)`;
  // After a clock change a local time can mean two instants; the first one after the previous line applies.
  const fromMs = instants.find((atMs) => before === undefined || atMs > before.fromMs);
  if (fromMs === undefined) return `column ${TIME}: ${quote(time)} must be later than the line before`;
  const digits = hasDecimalCommas ? power.replace(',', '.') : power;
  const kw = NUMBER.test(digits) ? Number(digits) : Number.NaN;
  if (!(Math.abs(kw) <= MOST_KW))
    return `column ${POWER}: ${quote(power)} must be a number from ${-MOST_KW} to ${MOST_KW}, in kW`;
  return { fromMs, kw };
}

/**
 * The steps of a file, in order.
 * @param timeZone of times without an offset
 * @throws UnusableFileError with up to twenty problems, each with its line and, if one column is wrong, with the
 * column.
 */
export function readBuildingFile(path: string, timeZone: TimeZone | undefined): readonly LoadStep[] {
  const table = readSessionTable(path);
  const unusable = headProblems(table);
  if (unusable.length > 0) throw new UnusableFileError(unusable.map((problem) => `${path}:1 ${problem}`));
  const steps: LoadStep[] = [];
  const problems: string[] = [];
  for (const row of table.rows) {
    const step = stepOf(row, table.hasDecimalCommas, timeZone, steps.at(-1));
    if (typeof step === 'string') problems.push(`${path}:${row.info.lines} ${step}`);
    else steps.push(step);
    if (problems.length >= MOST_PROBLEMS) break;
  }
  if (problems.length > 0) throw new UnusableFileError(problems);
  return steps;
}
