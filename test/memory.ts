// Files of tests in memory, where the host has room: on a disk each commit waits for it, and costs twice the processor time.
import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync, statfsSync } from 'node:fs';
import { join } from 'node:path';

const MEMORY = '/dev/shm';
const PREFIX = 'headroom-tests-';
/** Several times what a whole run holds at once; a container has 64 MB in its usual settings. */
const ROOM_BYTES = 2 ** 31;

/** What tests put into the temporary directory is gone with the run, also what a test left there. */
export function setup(): (() => void) | undefined {
  if (!hasRoom()) return undefined;
  removeAbandoned();
  const directory = mkdtempSync(join(MEMORY, `${PREFIX}${process.pid}-`));
  // PostgreSQL runs as a user of its own, and has to get through to its files.
  chmodSync(directory, 0o711);
  process.env.TMPDIR = directory;
  return () => rmSync(directory, { recursive: true, force: true });
}

/** What runs left that were killed. */
function removeAbandoned(): void {
  for (const name of readdirSync(MEMORY)) {
    const [pid] = name.startsWith(PREFIX) ? name.slice(PREFIX.length).split('-') : [];
    if (pid !== undefined && /^\d+$/.test(pid) && !existsSync(`/proc/${pid}`))
      rmSync(join(MEMORY, name), { recursive: true, force: true });
  }
}

function hasRoom(): boolean {
  if (!existsSync(MEMORY)) return false;
  const { bavail, bsize } = statfsSync(MEMORY);
  return bavail * bsize >= ROOM_BYTES;
}
