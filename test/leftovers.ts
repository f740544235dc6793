// Processes with their ports, mounts and files that a test run leaves behind. The check covers its own run alone,
// because several may run on one machine.
import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';

/**
 * A cache that Node writes into any temporary directory, and the sockets of a browser, which Playwright ends by a
 * signal. Both are removed with the directory.
 */
const OF_OTHERS = /^(node-compile-cache|org\.chromium\.Chromium\..*)$/;

interface Process {
  readonly pid: number;
  readonly parentPid: number;
  /** The system reuses pids; pid and start together name one process. */
  readonly startTicks: number;
  readonly isZombie: boolean;
}

/**
 * The descendants of a process, as far as `look` has found them. A process whose parent has ended belongs to init, so
 * the descent must be recorded during the parent's life. Empty on a system without `/proc`.
 */
export class Descendants {
  readonly #rootPid: number;
  readonly #startTicks = new Map<number, number>();

  constructor(rootPid: number) {
    this.#rootPid = rootPid;
  }

  look(): void {
    const processes = runningProcesses();
    const startTicksOf = new Map(processes.map(({ pid, startTicks }) => [pid, startTicks]));
    const isOurs = (pid: number) =>
      pid === this.#rootPid ||
      (this.#startTicks.has(pid) && this.#startTicks.get(pid) === startTicksOf.get(pid));
    for (let seen = -1; seen !== this.#startTicks.size; ) {
      seen = this.#startTicks.size;
      for (const { pid, parentPid, startTicks } of processes)
        if (!isOurs(pid) && isOurs(parentPid)) this.#startTicks.set(pid, startTicks);
    }
  }

  /** All pids ever found, ended or not. */
  seen(): ReadonlySet<number> {
    return new Set(this.#startTicks.keys());
  }

  living(): readonly number[] {
    return runningProcesses()
      .filter(({ pid, startTicks, isZombie }) => !isZombie && this.#startTicks.get(pid) === startTicks)
      .map(({ pid }) => pid);
  }
}

/** A line for each process of `descendants` that still runs, with the TCP ports on which it listens. */
export function leftProcesses(descendants: Descendants): readonly string[] {
  return descendants.living().map((pid) => {
    const ports = listeningPortsOf(pid);
    const listening = ports.length === 0 ? '' : `, listening on ${ports.join(', ')}`;
    return `process ${pid}${listening}: ${commandLineOf(pid)}`;
  });
}

/** A line for each mount below the directory, and for each file in it. */
export function leftBelow(directory: string): readonly string[] {
  const mounts = mountsBelow(directory).map((place) => `mount ${place}`);
  const files = readdirSync(directory)
    .filter((name) => !OF_OTHERS.test(name))
    .map((name) => `file ${directory}/${name}`);
  return [...mounts, ...files];
}

/**
 * A line for each file in the directory whose name has the pid of one of `pids`, such as `headroom-world-17-Ab12Cd`.
 */
export function leftInNameOf(pids: ReadonlySet<number>, directory: string): readonly string[] {
  if (!existsSync(directory)) return [];
  return readdirSync(directory)
    .filter((name) => pids.has(Number(/^headroom-[a-z]+-(\d+)-/.exec(name)?.[1])))
    .map((name) => `file ${directory}/${name}`);
}

/** The mount points below a directory, the innermost first. */
export function mountsBelow(directory: string): readonly string[] {
  return readOr('', '/proc/mounts')
    .split('\n')
    .map((line) => line.split(' ')[1] ?? '')
    .filter((place) => place.startsWith(`${directory}/`))
    .reverse();
}

function runningProcesses(): readonly Process[] {
  if (!existsSync('/proc/self/stat')) return [];
  return readdirSync('/proc').flatMap((name) => {
    const pid = Number(name);
    const stat = Number.isInteger(pid) ? readOr('', `/proc/${name}/stat`) : '';
    // The name of the program comes second, in brackets, and may have spaces and brackets itself.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const [state, parentPid] = fields;
    if (state === undefined || parentPid === undefined) return [];
    return [{ pid, parentPid: Number(parentPid), startTicks: Number(fields[19]), isZombie: state === 'Z' }];
  });
}

function commandLineOf(pid: number): string {
  return readOr('', `/proc/${pid}/cmdline`).split('\0').join(' ').trim();
}

function listeningPortsOf(pid: number): readonly number[] {
  const sockets = new Set(
    namesIn(`/proc/${pid}/fd`).flatMap(
      (fd) => /^socket:\[(\d+)\]$/.exec(linkOf(`/proc/${pid}/fd/${fd}`))?.[1] ?? [],
    ),
  );
  const LISTENS = '0A';
  const ports = ['tcp', 'tcp6'].flatMap((table) =>
    readOr('', `/proc/net/${table}`)
      .split('\n')
      .map((line) => line.trim().split(/\s+/))
      .filter((columns) => columns[3] === LISTENS && sockets.has(columns[9] ?? ''))
      .map((columns) => Number.parseInt(columns[1]?.split(':')[1] ?? '', 16)),
  );
  return [...new Set(ports)];
}

/** A process may end during the read. */
function readOr(otherwise: string, path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return otherwise;
  }
}

function namesIn(path: string): readonly string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}
