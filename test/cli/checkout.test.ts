// `npx headroom` in a checkout starts the checkout's own command, and rebuilds nothing that is up to date.
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { temporaryDirectory } from './headroom.js';

/** A built checkout whose build, if it runs again, leaves the file `built-again`. */
function builtCheckout(): string {
  const checkout = temporaryDirectory();
  for (const part of ['cli/headroom.js', 'tools']) cpSync(part, join(checkout, part), { recursive: true });
  const described = JSON.parse(readFileSync('package.json', 'utf8'));
  described.scripts.build = `node -e "fs.writeFileSync('built-again', '')"`;
  writeFileSync(join(checkout, 'package.json'), JSON.stringify(described));
  mkdirSync(join(checkout, 'src'));
  mkdirSync(join(checkout, 'dist/command'), { recursive: true });
  cpSync('test/cli/stand-in-command.js', join(checkout, 'dist/command/main.js'));
  writeFileSync(join(checkout, 'dist/built'), '');
  return checkout;
}

/** `npx` of a user who has never run it here. */
function npx(checkout: string, args: readonly string[]): string {
  return execFileSync('npx', ['headroom', ...args], {
    cwd: checkout,
    encoding: 'utf8',
    env: { ...process.env, npm_config_cache: temporaryDirectory(), npm_config_update_notifier: 'false' },
  });
}

it('npx starts the command of the checkout without another build', () => {
  const checkout = builtCheckout();
  expect(npx(checkout, ['tenant', 'list'])).toBe('tenant list\n');
  expect(existsSync(join(checkout, 'built-again'))).toBe(false);
});

it.each(['src/newer.ts', 'dist/command/of-an-interrupted-build.js'])(
  'npx builds the checkout first if %s is newer than the last build',
  (name) => {
    const checkout = builtCheckout();
    writeFileSync(join(checkout, name), '');
    const soon = new Date(Date.now() + 60_000);
    utimesSync(join(checkout, name), soon, soon);
    expect(npx(checkout, ['tenant', 'list'])).toBe('tenant list\n');
    expect(existsSync(join(checkout, 'built-again'))).toBe(true);
  },
);
