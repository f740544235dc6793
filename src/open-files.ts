// How many files and connections this process may have open: who takes connections leaves some for others.
import { readFileSync } from 'node:fs';

/** As `ulimit -n` has it; undefined on systems other than Linux. */
export function openFilesLimit(): number | undefined {
  try {
    const [, limit] = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
    return limit === undefined ? undefined : Number(limit);
  } catch {
    return undefined;
  }
}
