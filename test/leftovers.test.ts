// A test run that leaves processes or files behind fails and names them. Those of concurrent runs do not count.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { eventually } from './eventually.js';
import { leftBelow } from './leftovers.js';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const CHECKED = join(ROOT, 'test/memory.ts');
/** It listens in its own session, so that the end of its parent does not end it. */
const LISTENER = `
const server = require('node:net').createServer().listen(0, '127.0.0.1', () => {
  require('node:fs').writeFileSync('listening', process.pid + ' ' + server.address().port);
});`;
const LEAVES_MUCH = `
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
it('leaves a file and a process', async () => {
  mkdtempSync(join(tmpdir(), 'left-'));
  spawn(process.execPath, ['-e', ${JSON.stringify(LISTENER)}], { detached: true, stdio: 'ignore' }).unref();
  // Until it was looked for, which is done twice a second.
  while (!existsSync('seen')) await new Promise((resolve) => setTimeout(resolve, 20));
}, 600_000);`;
const LEAVES_NOTHING = `
import { existsSync } from 'node:fs';
it('waits', async () => {
  while (!existsSync('seen')) await new Promise((resolve) => setTimeout(resolve, 20));
}, 600_000);`;

/** A run of that one test, with the same check; its test ends once `letEnd` is called. */
function runOf(test: string) {
  const folder = mkdtempSync(join(tmpdir(), 'headroom-left-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(join(folder, 'some.test.js'), test);
  const settings = { globals: true, pool: 'forks', globalSetup: [CHECKED] };
  writeFileSync(join(folder, 'vitest.config.mjs'), `export default { test: ${JSON.stringify(settings)} };`);
  const child = spawn(process.execPath, [join(ROOT, 'node_modules/vitest/vitest.mjs'), 'run'], {
    cwd: folder,
    env: { PATH: process.env.PATH, TMPDIR: tmpdir() },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (data) => {
      output += data;
    });
  return {
    read: (name: string) => readFileSync(join(folder, name), 'utf8'),
    letEnd: () => writeFileSync(join(folder, 'seen'), ''),
    ended: once(child, 'close').then(([code]) => ({ code, output })),
  };
}

it('a leftover process with a port and a leftover file fail their own run, and no concurrent one', async ({
  skip,
}) => {
  skip(!existsSync('/proc/self/stat'), 'processes are found in /proc, which this system lacks');
  const [tidy, untidy] = [runOf(LEAVES_NOTHING), runOf(LEAVES_MUCH)];
  const [pid, port] = (await eventually(() => untidy.read('listening'))).split(' ');
  const looked = performance.now() + 2_000;
  await eventually(() => expect(performance.now()).toBeGreaterThan(looked));
  untidy.letEnd();
  const { code, output } = await untidy.ended;
  expect(code).toBe(1);
  expect(output).toMatch(/1 passed/);
  expect(output).toContain(`process ${pid}, listening on ${port}: `);
  expect(output).toMatch(/file \S+\/left-\S+\n/);
  // It is removed, so that the next run begins on a clean machine.
  await eventually(() => expect(existsSync(`/proc/${pid}`)).toBe(false));
  tidy.letEnd();
  const other = await tidy.ended;
  expect(other.output).not.toContain('left behind');
  expect(other.code).toBe(0);
});

it('a mount below the directory of the run is named', ({ skip }) => {
  const directory = mkdtempSync(join(tmpdir(), 'headroom-mounted-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const disk = join(directory, 'disk');
  mkdirSync(disk);
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'headroom-test', disk], { stdio: 'pipe' });
  } catch {
    skip('a small disk cannot be mounted here');
  }
  onTestFinished(() => void execFileSync('umount', ['-l', disk]));
  expect(leftBelow(directory)).toEqual([`mount ${disk}`, `file ${disk}`]);
});
