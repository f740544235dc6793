// Sessions of the energy bench: the sessions of a recorded file that arrive within a window, cut off at its end.

import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { TIME_ZONE_RULE, TimeZone } from '../../machines/values/time-zone.js';
import type { SessionEnergy } from '../../sim/sessions/sessions-of.js';
import { type RecordedSession, readSessionFile } from '../../sim/sessions/sessions-of.js';
import { UnusableFileError } from '../../src/provisioning/parse-yaml.js';

/** A session for an algorithm on a grid of steps: from step `from` to before step `to`. Energy in kWh. */
export interface SteppedSession {
  readonly from: number;
  readonly to: number;
  readonly energyKwh: number;
  readonly maxKw: number;
}

/** A file and its format, as data for a thread. `timeZone` is an IANA name. */
export interface SessionFile {
  readonly path: string;
  readonly energy: SessionEnergy;
  readonly timeZone: string | undefined;
}

export interface Window {
  readonly fromMs: number;
  readonly untilMs: number;
}

const STEP_MS = 5 * 60_000;
export const STEP_H = STEP_MS / 3_600_000;

const FILE = 'acn-caltech-2019-03.csv';
/** For a file without the highest power of each car. */
const USUAL_KW = 6.6;

/** The file next to the project, if there is one; the compiled module is one folder deeper than its source. */
export function sessionFileBeside(): string | undefined {
  return ['../../..', '../../../..']
    .map((up) => fileURLToPath(new URL(`${up}/shared/data/sessions/${FILE}`, import.meta.url)))
    .find((path) => existsSync(path));
}

/** All sessions of a file. @throws UnusableFileError */
export function readSessions({ path, energy, timeZone }: SessionFile): readonly RecordedSession[] {
  const zone = timeZone === undefined ? undefined : TimeZone.named(timeZone);
  if (timeZone !== undefined && zone === undefined)
    throw new UnusableFileError([`--time-zone: is ${JSON.stringify(timeZone)}; ${TIME_ZONE_RULE}`]);
  return readSessionFile(path, { energy, timeZone: zone });
}

/** Sessions of a window, in the order of arrival. Times between two steps are rounded to the nearer one. */
export function steppedSessions(
  sessions: readonly RecordedSession[],
  { fromMs, untilMs }: Window,
): readonly SteppedSession[] {
  return sessions
    .filter(({ arrivesAtMs }) => arrivesAtMs >= fromMs && arrivesAtMs < untilMs)
    .map(({ arrivesAtMs, leavesAtMs, energyWh, maxKw = USUAL_KW }) => ({
      from: Math.round((arrivesAtMs - fromMs) / STEP_MS),
      to: Math.round((Math.min(leavesAtMs, untilMs) - fromMs) / STEP_MS),
      energyKwh: energyWh / 1000,
      maxKw,
    }))
    .sort((a, b) => a.from - b.from);
}
