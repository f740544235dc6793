// `--csv DIR` of the simulator's commands: figures of connectors and sessions, for a spreadsheet or a notebook.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connectorsCsv, sessionsCsv, type TabledRun } from '../sim/report/run-tables.js';
import { makeDirectory } from '../src/private-files.js';

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
