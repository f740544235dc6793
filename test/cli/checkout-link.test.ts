// `npx headroom` in a checkout starts the command of the checkout, and installs nothing.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { temporaryDirectory } from './headroom.js';

it('npx starts the command that an install of the checkout has linked', () => {
  const checkout = temporaryDirectory();
  for (const part of ['package.json', 'bin', 'tools'])
    cpSync(part, join(checkout, part), { recursive: true });
  mkdirSync(join(checkout, 'dist/command'), { recursive: true });
  cpSync('test/cli/linked-command.js', join(checkout, 'dist/command/main.js'));
  const { prepare } = JSON.parse(execFileSync('npm', ['pkg', 'get', 'scripts'], { encoding: 'utf8' }));
  expect(prepare).toMatch(/^node tools\/link-command\.js && /);
  execFileSync(process.execPath, ['tools/link-command.js'], { cwd: checkout });
  // `--no` refuses to install.
  const printed = execFileSync('npx', ['--no', 'headroom', 'tenant', 'list'], {
    cwd: checkout,
    encoding: 'utf8',
  });
  expect(printed).toBe('tenant list\n');
});
