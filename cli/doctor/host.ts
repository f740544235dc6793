// Questions of `headroom doctor` to the machine.
import { execFile } from 'node:child_process';
import { createSocket } from 'node:dgram';
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

// Asks a time server once for the lead of its clock: one packet of SNTP (RFC 4330), unauthenticated, for information
// only.
const PORT = 123;
const NTP_ANSWERS_WITHIN_MS = 3_000;
const PACKET_BYTES = 48;
/** Version 4, mode 3: a client asks. */
const CLIENT = 0x23;
const SERVER_MODE = 4;
/** From 1900, the epoch of NTP, to 1970, s. */
const EPOCH_S = 2_208_988_800;
const RECEIVED_AT = 32;
const SENT_AT = 40;

/**
 * @param server a host, or host:port.
 * @returns the lead of its clock over `clock`, ms; the error is at most half the round-trip time.
 * @throws if the server does not answer within 3 s, or the answer is not from a time server.
 */
function ntpAheadMs(server: string, clock: Clock): Promise<number> {
  const { hostname, port } = new URL(`udp://${server}`);
  const isIpV6 = hostname.startsWith('[');
  const socket = createSocket(isIpV6 ? 'udp6' : 'udp4');
  return new Promise<number>((resolve, reject) => {
    const cancel = clock.after(NTP_ANSWERS_WITHIN_MS, () =>
      reject(new Error(`${server} did not answer within ${NTP_ANSWERS_WITHIN_MS / 1000} s`)),
    );
    const asked = Buffer.alloc(PACKET_BYTES);
    asked[0] = CLIENT;
    socket.on('error', reject);
    socket.on('close', cancel);
    const askedAtMs = clock.nowMs();
    socket.on('message', (answer) => {
      const receivedAtMs = clock.nowMs();
      if (answer.length < PACKET_BYTES || ((answer[0] ?? 0) & 7) !== SERVER_MODE || answer[1] === 0)
        return reject(new Error(`${server} does not answer as a time server`));
      resolve((instantAt(answer, RECEIVED_AT) - askedAtMs + instantAt(answer, SENT_AT) - receivedAtMs) / 2);
    });
    socket.send(asked, Number(port) || PORT, hostname.replace(/[[\]]/g, ''));
  }).finally(() => socket.close());
}

/** ms since 1970. */
function instantAt(packet: Buffer, offset: number): number {
  return 1000 * (packet.readUInt32BE(offset) - EPOCH_S + packet.readUInt32BE(offset + 4) / 2 ** 32);
}

/** Tests replace it. */
export interface Host {
  readonly clock: Clock;
  /** As `process.version`. */
  readonly nodeVersion: string;
  readonly timeZone: string;
  /** Limit of open files of the process, by default of this one; undefined if the system does not report it. */
  openFiles(pid?: number): number | undefined;
  /** @throws the system's error. */
  freeBytes(directory: string): number;
  /** Duration of each of several durable writes into a nameless file, ms; undefined if the system has no such files. */
  syncTimesMs(directory: string): readonly number[] | undefined;
  /** Status of time synchronization by the system; undefined if the system does not report it. */
  isSynchronized(): Promise<boolean | undefined>;
  /** Lead of the time server's clock, ms. @throws the connection's error. */
  ntpAheadMs(server: string): Promise<number>;
}

// Flag of Linux without a name in Node (O_TMPFILE): a file without a name, which disappears after it is closed.
const WITHOUT_NAME = 0o20000000 | (constants.O_DIRECTORY ?? 0);
const SYNCS = 20;
/** About the size of a commit with a few changes. */
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

/** undefined if the program is missing, fails, or does not answer. */
function outputOf(program: string, args: readonly string[]): Promise<string | undefined> {
  return new Promise((resolve) => {
    execFile(program, [...args], { timeout: ANSWER_WITHIN_MS }, (error, stdout) =>
      resolve(error === null ? stdout : undefined),
    );
  });
}
