// The lines of a recording, and a recording of other lines.
import { readFileSync } from 'node:fs';
import { RecordingFile } from '../../../sim/log/log-file.js';
import { systemClock } from '../../../src/clock.js';

export function linesIn(path: string): readonly string[] {
  return readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('{"kind":"'));
}

/** Appends `lines` to the recording at `path`; a line of a life begins a section. */
export async function appendLines(path: string, lines: readonly string[]): Promise<void> {
  const file = new RecordingFile({
    path,
    clock: systemClock,
    onLost: (error) => {
      throw error;
    },
  });
  for (const line of lines) {
    if (line.startsWith('{"kind":"life"')) file.begin(JSON.parse(line));
    else file.add(JSON.parse(line));
  }
  await file.close();
}
