// Finds the process that listens on a port of this machine, and checks for a running Headroom.
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { get as getPlain } from 'node:http';
import { get as getEncrypted } from 'node:https';
import { text } from 'node:stream/consumers';
import { type Health, healthSchema } from '../../src/wire/health.js';

/** A process of this machine, within the permissions of this user. */
export interface Holder {
  readonly pid: number;
  readonly name: string;
}

const LISTENING = '0A';
const ANSWER_WITHIN_MS = 2_000;
const ANYWHERE: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' };

/** undefined if the system does not report it: for a process of another user, or on a system other than Linux. */
export function holderOf(port: number): Holder | undefined {
  try {
    const sockets = new Set(['tcp', 'tcp6'].flatMap((kind) => socketsAt(`/proc/net/${kind}`, port)));
    const pid = readdirSync('/proc').find((name) => /^\d+$/.test(name) && hasOneOf(name, sockets));
    if (pid === undefined) return undefined;
    return { pid: Number(pid), name: readFileSync(`/proc/${pid}/comm`, 'utf8').trim() };
  } catch {
    return undefined;
  }
}

/** Lines are `number local:port remote:port state … inode`, the ports in hex. */
function socketsAt(table: string, port: number): readonly string[] {
  const lines = readFileSync(table, 'utf8').trim().split('\n').slice(1);
  return lines
    .map((line) => line.trim().split(/\s+/))
    .filter(
      ([, local = '', , state]) => state === LISTENING && parseInt(local.split(':')[1] ?? '', 16) === port,
    )
    .map((columns) => `socket:[${columns[9]}]`);
}

function hasOneOf(pid: string, sockets: ReadonlySet<string>): boolean {
  const directory = `/proc/${pid}/fd`;
  try {
    return readdirSync(directory).some((name) => sockets.has(readlinkSync(`${directory}/${name}`)));
  } catch {
    // The process belongs to another user, or has ended meanwhile.
    return false;
  }
}

/** Health of the Headroom that listens there; undefined if no Headroom answers. */
export async function healthAt(host: string, port: number, isTls: boolean): Promise<Health | undefined> {
  const hostname = ANYWHERE[host] ?? host;
  const options = { hostname, port, path: '/health', timeout: ANSWER_WITHIN_MS, agent: false };
  return new Promise((resolve) => {
    const take = (answer: Parameters<typeof text>[0]) => {
      text(answer).then(
        (body) => resolve(parsed(body)),
        () => resolve(undefined),
      );
    };
    // The request carries no secret, and the identity of the server decides nothing, so any certificate is accepted.
    const request = isTls
      ? getEncrypted({ ...options, rejectUnauthorized: false }, take)
      : getPlain(options, take);
    request.on('timeout', () => request.destroy());
    request.on('error', () => resolve(undefined));
  });
}

function parsed(body: string): Health | undefined {
  try {
    return healthSchema.safeParse(JSON.parse(body)).data;
  } catch {
    return undefined;
  }
}
