// The sessions that the energy bench is about: those of a recorded file that arrive within a window, cut off at its end.
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { TIME_ZONE_RULE, TimeZone } from '../sim/scenario/time-zone.js';
import { type RecordedSession, readSessionFile, type SessionEnergy } from '../sim/sessions/session-file.js';
import { UnusableFileError } from '../src/provisioning/parse-yaml.js';

/** A session as an algorithm on a grid of steps sees it: from step `from` to before step `to`. Energy in kWh. */
export interface SteppedSession {
  readonly from: number;
  readonly to: number;
  readonly energyKwh: number;
  readonly maxKw: number;
}

/** A file and how to read it, as a thread can be told. `timeZone` is an IANA name. */
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
/** Of a file that does not say what a car drew at most. */
const USUAL_KW = 6.6;

/** The file beside the project, where there is one; this module is built one folder deeper than it is written. */
export function sessionFileBeside(): string | undefined {
  return ['../..', '../../..']
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

/** Those of a window, in the order in which they arrive. Times between two steps are rounded to the nearer one. */
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
