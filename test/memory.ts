// Files of tests in memory, where the host has room: on a disk each commit waits for it, and costs twice the processor time.
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statfsSync } from 'node:fs';
import { join } from 'node:path';

const MEMORY = '/dev/shm';
const PREFIX = 'headroom-tests-';
/** Several times what a whole run holds at once; a container has 64 MB in its usual settings. */
const ROOM_BYTES = 2 ** 31;

/** What tests put into the temporary directory is gone with the run, also what a test left there. */
export function setup(): (() => void) | undefined {
  if (!hasRoom()) return undefined;
  removeAbandoned(MEMORY);
  const directory = mkdtempSync(join(MEMORY, `${PREFIX}${process.pid}-`));
  // PostgreSQL runs as a user of its own, and has to get through to its files.
  chmodSync(directory, 0o711);
  process.env.TMPDIR = directory;
  return () => rmSync(directory, { recursive: true, force: true });
}

/** Removes from the directory what killed runs left, small disks that they had mounted included. What cannot be removed
    stays, and is named: another run's rest is no reason to test nothing. */
export function removeAbandoned(directory: string): void {
  for (const name of readdirSync(directory)) {
    const [pid] = name.startsWith(PREFIX) ? name.slice(PREFIX.length).split('-') : [];
    if (pid === undefined || !/^\d+$/.test(pid) || existsSync(`/proc/${pid}`)) continue;
    const abandoned = join(directory, name);
    try {
      for (const mounted of mountedBelow(abandoned))
        execFileSync('umount', ['-l', mounted], { stdio: 'pipe' });
      rmSync(abandoned, { recursive: true, force: true });
    } catch (error) {
      console.warn(`${abandoned} is left from a run that was killed, and cannot be removed:`, error);
    }
  }
}

/** The places below a directory where something is mounted, the innermost first. */
function mountedBelow(directory: string): string[] {
  return readFileSync('/proc/mounts', 'utf8')
    .split('\n')
    .map((line) => line.split(' ')[1] ?? '')
    .filter((place) => place.startsWith(`${directory}/`))
    .reverse();
}

function hasRoom(): boolean {
  if (!existsSync(MEMORY)) return false;
  const { bavail, bsize } = statfsSync(MEMORY);
  return bavail * bsize >= ROOM_BYTES;
}
