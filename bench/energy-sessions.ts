// The sessions that the energy bench is about: those of a recorded file that arrive within a window, cut off at its end.
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { readSessionFile } from '../sim/sessions/session-file.js';

/** A session as an algorithm on a grid of steps sees it: from step `from` to before step `to`. Energy in kWh. */
export interface SteppedSession {
  readonly from: number;
  readonly to: number;
  readonly energyKwh: number;
  readonly maxKw: number;
}

export interface Window {
  readonly fromMs: number;
  readonly untilMs: number;
}

export const STEP_MS = 5 * 60_000;
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

/** In the order in which they arrive. Times between two steps are rounded to the nearer one. */
export function readSteppedSessions(path: string, { fromMs, untilMs }: Window): readonly SteppedSession[] {
  return readSessionFile(path, 'requested')
    .filter(({ arrivesAtMs }) => arrivesAtMs >= fromMs && arrivesAtMs < untilMs)
    .map(({ arrivesAtMs, leavesAtMs, energyWh, maxKw = USUAL_KW }) => ({
      from: Math.round((arrivesAtMs - fromMs) / STEP_MS),
      to: Math.round((Math.min(leavesAtMs, untilMs) - fromMs) / STEP_MS),
      energyKwh: energyWh / 1000,
      maxKw,
    }))
    .sort((a, b) => a.from - b.from);
}
