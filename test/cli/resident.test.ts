// The process that runs commands for tests ends with the run, even if a command keeps a resource open.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { eventually } from '../eventually.js';

const PROGRAM = fileURLToPath(new URL('./resident-process.js', import.meta.url));
/** Keeps the process open for ever. */
const HELD_OPEN = 'data:text/javascript,setInterval(() => {}, 1e9);process.send("begun")';

it('The process that runs commands for tests ends after its parent is killed', async () => {
  const parent = spawn(
    process.execPath,
    [
      '--input-type=module',
      '-e',
      `import { fork } from 'node:child_process';
const child = fork(${JSON.stringify(PROGRAM)}, { execArgv: ['--import', ${JSON.stringify(HELD_OPEN)}], stdio: ['ignore', 'ignore', 'ignore', 'ipc'] });
child.once('message', () => console.log(child.pid));`,
    ],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  const pid = Number(String((await once(parent.stdout, 'data'))[0]));
  const isAlive = () => {
    try {
      return process.kill(pid, 0);
    } catch {
      return false;
    }
  };
  onTestFinished(() => {
    if (isAlive()) process.kill(pid, 'SIGKILL');
  });
  expect(isAlive()).toBe(true);
  parent.kill('SIGKILL');
  await eventually(() => expect(isAlive()).toBe(false));
});
