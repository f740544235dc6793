// Checks the machine: version of Node, clock, open files, free disk space and speed of the disk.
import { existsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { NODE_VERSIONS } from '../../src/version.js';
import { type Finding, fail, messageOf, ok, warn } from './finding.js';
import type { Host } from './host.js';

/** One of the alternatives in `engines` of `package.json`. */
const ALTERNATIVE = /^(\^|>=)(\d+)(?:\.(\d+))?$/;

export function checkNode({ nodeVersion }: Host): readonly Finding[] {
  const [major = 0, minor = 0] = nodeVersion.replace(/^v/, '').split('.').map(Number);
  const isSupported = NODE_VERSIONS.split('||').some((text) => {
    const [, kind, leastMajor, leastMinor = '0'] = ALTERNATIVE.exec(text.trim()) ?? [];
    const isMajor = kind === '^' ? major === Number(leastMajor) : major >= Number(leastMajor);
    return isMajor && (major > Number(leastMajor) || minor >= Number(leastMinor));
  });
  if (isSupported) return [ok(nodeVersion)];
  return [fail(`${nodeVersion} is not supported`, `install one of ${NODE_VERSIONS}`)];
}

export function checkTimeZone({ timeZone }: Host): readonly Finding[] {
  try {
    new Intl.DateTimeFormat('en', { timeZone: 'Europe/Berlin' });
  } catch {
    return [warn('this Node knows no time zones', 'install one with full ICU: scenarios need time zones')];
  }
  return [ok(`${timeZone}; windows, log and API always use UTC`)];
}

const APART_AT_MOST_MS = 2_000;
const SYNCHRONIZE = 'synchronize it: systemd-timesyncd, chrony or another NTP client';

/** @param ntpServer the server to ask; if undefined, the check relies on the answer of the system. */
export async function checkClock(host: Host, ntpServer: string | undefined): Promise<readonly Finding[]> {
  if (ntpServer !== undefined) return [await compareWith(host, ntpServer)];
  const isSynchronized = await host.isSynchronized();
  if (isSynchronized === true) return [ok('synchronized, as the system reports')];
  if (isSynchronized === false)
    return [warn('not synchronized, as the system reports: windows begin by this clock', SYNCHRONIZE)];
  return [
    warn('the system does not report its synchronization', 'compare it with a time server: --ntp HOST'),
  ];
}

async function compareWith(host: Host, server: string): Promise<Finding> {
  try {
    const aheadMs = await host.ntpAheadMs(server);
    const apart = `${(Math.abs(aheadMs) / 1000).toFixed(2)} s ${aheadMs > 0 ? 'behind' : 'ahead of'} ${server}`;
    if (Math.abs(aheadMs) <= APART_AT_MOST_MS) return ok(apart);
    return fail(`${apart}: windows begin at the wrong time`, SYNCHRONIZE);
  } catch (error) {
    return warn(`cannot be compared: ${messageOf(error)}`, 'name a time server that answers (UDP port 123)');
  }
}

/** Files that the service itself needs in addition to connections. */
const OWN_FILES = 100;
/** HTTP takes at most this share of the files that may be open. */
const HTTP_PART = 1 / 4;

/** @param needs maximum number of connections of each kind; @param pid of the running service, if known. */
export function checkOpenFiles(
  host: Host,
  needs: { readonly http: number; readonly chargers: number },
  pid: number | undefined,
): readonly Finding[] {
  const files = host.openFiles(pid);
  if (files === undefined) return [ok('the system does not report its limit of open files')];
  const http = Math.min(needs.http, Math.ceil(HTTP_PART * files));
  const room = Math.max(files - http - OWN_FILES, 0);
  const who = pid === undefined ? '' : ` by the service that runs`;
  const said = `${files} may be open${who}: ${http} for HTTP, ${room} for chargers`;
  if (needs.chargers <= room) return [ok(`${said}, of which ${needs.chargers} are provisioned`)];
  const enough = Math.ceil((needs.chargers + OWN_FILES) / (1 - HTTP_PART));
  return [
    warn(
      `${said}, and ${needs.chargers} are provisioned`,
      `raise it to ${enough}: ulimit -n, or LimitNOFILE of systemd`,
    ),
  ];
}

const FULL_BYTES = 100e6;
const NEARLY_FULL_BYTES = 1e9;
const SLOW_MS = 100;

/** @param directory of the data; it need not exist yet. */
export function checkDisk(host: Host, directory: string): readonly Finding[] {
  const place = nearestOf(directory);
  const freeBytes = host.freeBytes(place);
  const free = `${(freeBytes / 1e9).toFixed(1)} GB free for ${directory}`;
  const more = 'make room, or lower HEADROOM_POWER_RETENTION_DAYS';
  if (freeBytes < FULL_BYTES) return [fail(`${free}: writes will be refused`, more)];
  if (freeBytes < NEARLY_FULL_BYTES) return [warn(free, more), checkSync(host, place)];
  return [ok(free), checkSync(host, place)];
}

function checkSync(host: Host, directory: string): Finding {
  const times = [...(host.syncTimesMs(directory) ?? [])].sort((a, b) => a - b);
  if (times.length === 0) return ok('its speed can only be measured with a trace');
  const [median = 0, worst = 0] = [times[times.length >> 1], times.at(-1)];
  const said = `a durable write takes ${median.toFixed(1)} ms, at worst ${worst.toFixed(1)} ms of ${times.length}`;
  if (worst < SLOW_MS) return ok(said);
  return warn(said, `every answer to a write waits for one: use an SSD, and no network share`);
}

/** The directory itself, or the nearest existing one above it. */
export function nearestOf(directory: string): string {
  let at = resolve(directory);
  while (!existsSync(at)) at = dirname(at);
  return at;
}
