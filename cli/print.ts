// Output of the commands: tables for people, JSON for scripts.
import Table from 'cli-table3';
import { LineWriter } from '../src/line-writer.js';

export function printLine(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** Notes go to stderr, so that a script that reads stdout gets only the result. */
export function printNote(text: string): void {
  process.stderr.write(`${text}\n`);
}

export function printJson(value: unknown): void {
  printLine(JSON.stringify(value));
}

let announcements: LineWriter | undefined;

/** A line of JSON from a command that runs until a signal. The command continues even if nobody reads the line. */
export function announce(value: unknown): void {
  announcements ??= new LineWriter(process.stdout);
  announcements.write(`${JSON.stringify(value)}\n`);
  void announcements.flush();
}

const BORDERLESS = {
  top: '',
  'top-mid': '',
  'top-left': '',
  'top-right': '',
  bottom: '',
  'bottom-mid': '',
  'bottom-left': '',
  'bottom-right': '',
  left: '',
  'left-mid': '',
  mid: '',
  'mid-mid': '',
  right: '',
  'right-mid': '',
  middle: '  ',
};

export function printTable(head: readonly string[], rows: readonly (readonly (string | number)[])[]): void {
  const table = new Table({
    head: [...head],
    chars: BORDERLESS,
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0 },
  });
  table.push(...rows.map((row) => [...row]));
  printLine(table.toString());
}
