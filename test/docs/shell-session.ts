// One bash for a whole session: variables, functions and the directory stay from block to block.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { eventually, inPatience, Patience } from '../eventually.js';

export interface Output {
  readonly stdout: string;
  readonly stderr: string;
}

export interface ShellSession {
  /** Runs `script` to its end. @throws Error with its output if one of its commands fails */
  run(script: string, patienceMs: number): Promise<Output>;
  /**
   * Runs `script` in the background; resolves once its output contains `until`.
   * @throws Error with its output if it ends before that
   */
  start(script: string, until: string, patienceMs: number): Promise<Started>;
  /** Ends all started processes, and the shell. */
  end(): Promise<void>;
}

export interface Started {
  readonly output: Output;
  /** Sends SIGINT, like Ctrl-C. Resolves after the end of the process. */
  interrupt(): Promise<void>;
}

/** `scriptDir` takes the scripts and their output; commands begin in `directory`. */
export function openShell(options: {
  readonly directory: string;
  readonly scriptDir: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
}): ShellSession {
  const { directory, scriptDir, environment } = options;
  mkdirSync(scriptDir, { recursive: true });
  const bash = spawn('bash', ['--noprofile', '--norc'], {
    cwd: directory,
    env: environment,
    stdio: ['pipe', 'pipe', 'pipe'],
    // A separate process group, so that the shell's processes can be ended with it.
    detached: true,
  });
  // A shell that has ended takes no more input. The caller that waits for its output gets the error.
  bash.stdin.on('error', () => undefined);
  bash.stderr.resume();
  const closed = once(bash, 'close');
  const waiting = new Map<string, (value: string) => void>();
  createInterface({ input: bash.stdout }).on('line', (line) => {
    const [file = '', value = ''] = line.split(' ');
    waiting.get(file)?.(value);
  });
  bash.stdin.write('set -eo pipefail\n');
  const shellGroup = bash.pid ?? Number.NaN;
  const groups: number[] = [];
  let scripts = 0;

  function write(script: string) {
    scripts += 1;
    const file = join(scriptDir, `${scripts}.sh`);
    for (const [ending, text] of Object.entries({ '': script, '.out': '', '.err': '' })) {
      writeFileSync(`${file}${ending}`, text);
    }
    return { file, redirected: `source ${file} >${file}.out 2>${file}.err </dev/null` };
  }

  function outputOf(file: string): Output {
    return { stdout: readFileSync(`${file}.out`, 'utf8'), stderr: readFileSync(`${file}.err`, 'utf8') };
  }

  /** The shell's echo for `file`, or undefined if the shell has ended. */
  function echoOf(file: string, line: string): Promise<string | undefined> {
    const echoed = new Promise<string>((resolve) => waiting.set(file, resolve));
    bash.stdin.write(`${line}\n`);
    return Promise.race([echoed, closed.then(() => undefined)]);
  }

  async function stopGroup(group: number, signal: NodeJS.Signals): Promise<void> {
    kill(group, signal);
    await eventually(() => {
      if (kill(group, 0)) throw new Error(`process group ${group} does not end`);
    });
  }

  return {
    async run(script, patienceMs) {
      const { file, redirected } = write(script);
      const late = () => failure(`it took more than ${patienceMs} ms`, outputOf(file));
      try {
        const outcome = await inPatience(echoOf(file, `${redirected}; echo ${file} done`), late, patienceMs);
        if (outcome !== 'done') throw failure('it failed', outputOf(file));
        return outputOf(file);
      } catch (error) {
        kill(shellGroup, 'SIGKILL');
        throw error;
      }
    },
    async start(script, until, patienceMs) {
      const { file, redirected } = write(script);
      // `set -m` gives it a process group, too.
      const group = Number(await echoOf(file, `set -m; ( ${redirected} ) & echo ${file} $!; set +m`));
      if (Number.isNaN(group)) throw new Error('the shell has ended');
      groups.push(group);
      const patience = new Patience(patienceMs);
      for (;;) {
        const isAlive = kill(group, 0);
        const output = outputOf(file);
        if (`${output.stdout}${output.stderr}`.includes(until)) {
          return { output, interrupt: () => stopGroup(group, 'SIGINT') };
        }
        if (!isAlive) throw failure(`it ended before it said "${until}"`, output);
        if (!(await patience.lasts())) throw failure(`it did not say "${until}"`, output);
      }
    },
    async end() {
      for (const group of groups.reverse()) await stopGroup(group, 'SIGTERM');
      kill(shellGroup, 'SIGKILL');
      await closed;
    },
  };
}

/** False if the group has no process. */
function kill(group: number, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(-group, signal);
    return true;
  } catch {
    return false;
  }
}

function failure(what: string, { stdout, stderr }: Output): Error {
  return new Error(`${what}\n${stderr}\n${stdout}`.trimEnd());
}
