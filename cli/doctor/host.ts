// What `headroom doctor` asks the machine that it runs on.
import { execFile } from 'node:child_process';
import {
  closeSync,
  constants,
  existsSync,
  fsyncSync,
  openSync,
  readFileSync,
  statfsSync,
  writeSync,
} from 'node:fs';
import { systemClock } from '../../src/clock.js';
import type { Clock } from '../../src/ports/clock.js';
import { ntpAheadMs } from './ntp.js';

/** Tests put another in its place. */
export interface Host {
  readonly clock: Clock;
  /** As `process.version`. */
  readonly nodeVersion: string;
  readonly timeZone: string;
  /** How many files the process may have open, this one where none is named; undefined where the system does not say. */
  openFiles(pid?: number): number | undefined;
  /** @throws the system's error. */
  freeBytes(directory: string): number;
  /** How long each of some durable writes into a file without a name takes, ms; undefined where there are no such files. */
  syncTimesMs(directory: string): readonly number[] | undefined;
  /** What the system says of its time synchronization; undefined where it says nothing. */
  isSynchronized(): Promise<boolean | undefined>;
  /** By how much the time server's clock is ahead, ms. @throws the connection's error. */
  ntpAheadMs(server: string): Promise<number>;
}

// Linux has such a flag and Node has no name for it: a file in a directory that appears under no name and is gone when it is closed.
const WITHOUT_NAME = 0o20000000 | (constants.O_DIRECTORY ?? 0);
const SYNCS = 20;
/** About as long as a commit of a few changes. */
const SYNCED = Buffer.alloc(4096);
const ANSWER_WITHIN_MS = 3_000;

export const thisHost: Host = {
  clock: systemClock,
  nodeVersion: process.version,
  timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone,
  openFiles(pid) {
    try {
      const limits = readFileSync(`/proc/${pid ?? 'self'}/limits`, 'utf8');
      const [, limit] = /^Max open files +(\d+)/m.exec(limits) ?? [];
      return limit === undefined ? undefined : Number(limit);
    } catch {
      return undefined;
    }
  },
  freeBytes(directory) {
    const { bavail, bsize } = statfsSync(directory);
    return bavail * bsize;
  },
  syncTimesMs(directory) {
    if (process.platform !== 'linux') return undefined;
    let descriptor: number;
    try {
      descriptor = openSync(directory, WITHOUT_NAME | constants.O_RDWR, 0o600);
    } catch {
      return undefined;
    }
    try {
      return Array.from({ length: SYNCS }, () => timeOfSync(descriptor));
    } finally {
      closeSync(descriptor);
    }
  },
  async isSynchronized() {
    if (existsSync('/run/systemd/timesync/synchronized')) return true;
    const chrony = await outputOf('chronyc', ['-c', 'tracking']);
    // Comma-separated; the last field is the leap status.
    if (chrony !== undefined) return !chrony.trim().endsWith('Not synchronised');
    const said = await outputOf('timedatectl', ['show', '--property=NTPSynchronized', '--value']);
    return said === undefined || said.trim() === '' ? undefined : said.trim() === 'yes';
  },
  ntpAheadMs: (server) => ntpAheadMs(server, systemClock),
};

function timeOfSync(descriptor: number): number {
  const startedMs = systemClock.monotonicMs();
  writeSync(descriptor, SYNCED, 0, SYNCED.length, 0);
  fsyncSync(descriptor);
  return systemClock.monotonicMs() - startedMs;
}

/** undefined where the program is not there, fails, or does not answer. */
function outputOf(program: string, args: readonly string[]): Promise<string | undefined> {
  return new Promise((resolve) => {
    execFile(program, [...args], { timeout: ANSWER_WITHIN_MS }, (error, stdout) =>
      resolve(error === null ? stdout : undefined),
    );
  });
}
