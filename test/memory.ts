// The temporary directory of a test run, and the check at its end that it leaves nothing behind.
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Descendants, leftBelow, leftInNameOf, leftProcesses, mountsBelow } from './leftovers.js';

/** On a disk each commit waits, and costs twice the processor time. */
const MEMORY = '/dev/shm';
const PREFIX = 'headroom-tests-';
/** Several times the need of a whole run; a container has 64 MB by default. */
const ROOM_BYTES = 2 ** 31;
const LOOK_EVERY_MS = 500;
/** The last processes of a run are ended by a signal as it closes, and on a busy machine they end slowly. */
const GONE_WITHIN_MS = 120_000;

/**
 * Gives the run its own temporary directory, in memory if the host has room. A leftover at the end fails the run.
 */
export function setup(): void {
  const parent = hasRoom() ? MEMORY : tmpdir();
  removeAbandoned(parent);
  const directory = mkdtempSync(join(parent, `${PREFIX}${process.pid}-`));
  // PostgreSQL runs as its own user, and needs access to its files.
  chmodSync(directory, 0o711);
  process.env.TMPDIR = directory;
  const descendants = new Descendants(process.pid);
  setInterval(() => descendants.look(), LOOK_EVERY_MS).unref();
  // Vitest ends its workers after its teardowns, so their leftovers show only after that.
  process.once('exit', () => {
    const left = leftAtEnd(descendants, directory);
    if (left.length === 0) return;
    process.stderr.write(`\nThe tests left behind:\n${left.map((line) => `  ${line}\n`).join('')}`);
    process.exitCode = 1;
  });
}

/** Names all leftovers and removes them, so that the next run begins on a clean machine. */
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

/**
 * Removes leftovers of killed runs from the directory, with their mounted small disks. A leftover that cannot be
 * removed is named and stays, because another run's leftover is no reason to test nothing.
 */
export function removeAbandoned(directory: string): void {
  // Without /proc, a living run is not distinguishable from a killed one.
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
