// The limit on files and connections of this process. Servers use a part of it, so that some are left for others.
import { readFileSync } from 'node:fs';

/** As `ulimit -n`; undefined on systems other than Linux. */
export function openFilesLimit(): number | undefined {
  try {
    const [, limit] = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
    return limit === undefined ? undefined : Number(limit);
  } catch {
    return undefined;
  }
}
