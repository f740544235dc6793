// The temporary directory of a run of tests, and the check at its end that nothing is left of it.
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Descendants, leftBelow, leftInNameOf, leftProcesses, mountsBelow } from './leftovers.js';

/** On a disk each commit waits for it, and costs twice the processor time. */
const MEMORY = '/dev/shm';
const PREFIX = 'headroom-tests-';
/** Several times what a whole run holds at once; a container has 64 MB in its usual settings. */
const ROOM_BYTES = 2 ** 31;
const LOOK_EVERY_MS = 500;
/** The last processes of a run are ended by a signal as it closes, and a busy machine is slow to let them go. */
const GONE_WITHIN_MS = 120_000;

/** Gives the run a temporary directory of its own, in memory where the host has room. As the run ends, whatever is left fails it. */
export function setup(): void {
  const parent = hasRoom() ? MEMORY : tmpdir();
  removeAbandoned(parent);
  const directory = mkdtempSync(join(parent, `${PREFIX}${process.pid}-`));
  // PostgreSQL runs as a user of its own, and has to get through to its files.
  chmodSync(directory, 0o711);
  process.env.TMPDIR = directory;
  const descendants = new Descendants(process.pid);
  setInterval(() => descendants.look(), LOOK_EVERY_MS).unref();
  // Vitest ends its workers after its teardowns, and what these leave is seen once they are gone.
  process.once('exit', () => {
    const left = leftAtEnd(descendants, directory);
    if (left.length === 0) return;
    process.stderr.write(`\nThe tests left behind:\n${left.map((line) => `  ${line}\n`).join('')}`);
    process.exitCode = 1;
  });
}

/** Names what is left, and removes it: the next run begins on a clean machine. */
function leftAtEnd(descendants: Descendants, directory: string): readonly string[] {
  const deadlineMs = performance.now() + GONE_WITHIN_MS;
  const wait = new Int32Array(new SharedArrayBuffer(4));
  descendants.look();
  while (descendants.living().length > 0 && performance.now() < deadlineMs) Atomics.wait(wait, 0, 0, 50);
  const left = [
    ...leftProcesses(descendants),
    ...leftBelow(directory),
    ...leftInNameOf(descendants.seen(), MEMORY),
    ...leftInNameOf(descendants.seen(), tmpdir()),
  ];
  for (const pid of descendants.living()) process.kill(pid, 'SIGKILL');
  removeWithMounts(directory);
  return [...new Set(left)];
}

/** Removes from the directory what killed runs left, small disks that they had mounted included. What cannot be removed
    stays, and is named: another run's rest is no reason to test nothing. */
export function removeAbandoned(directory: string): void {
  // Without it no other run is known to be alive.
  if (!existsSync('/proc/self')) return;
  for (const name of readdirSync(directory)) {
    const [pid] = name.startsWith(PREFIX) ? name.slice(PREFIX.length).split('-') : [];
    if (pid === undefined || !/^\d+$/.test(pid) || existsSync(`/proc/${pid}`)) continue;
    const abandoned = join(directory, name);
    try {
      removeWithMounts(abandoned);
    } catch (error) {
      console.warn(`${abandoned} is left from a run that was killed, and cannot be removed:`, error);
    }
  }
}

function removeWithMounts(directory: string): void {
  for (const mounted of mountsBelow(directory)) execFileSync('umount', ['-l', mounted], { stdio: 'pipe' });
  rmSync(directory, { recursive: true, force: true });
}

function hasRoom(): boolean {
  if (!existsSync(MEMORY)) return false;
  const { bavail, bsize } = statfsSync(MEMORY);
  return bavail * bsize >= ROOM_BYTES;
}
