// How many files and connections the host lets this process hold open, so that no door takes what another one needs.
import { readFileSync } from 'node:fs';

/** The soft limit (`ulimit -n`) as Linux tells it; undefined where the host tells none. */
export function openFilesLimit(): number | undefined {
  try {
    const [, limit] = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
    return limit === undefined ? undefined : Number(limit);
  } catch {
    return undefined;
  }
}
