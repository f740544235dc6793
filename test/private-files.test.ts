// Files with secrets are readable by their owner alone; otherwise the operator gets a warning.
import { chmodSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { exposureOf, makePrivateDirectory } from '../src/private-files.js';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'headroom-private-'));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

it('new directories are for their owner alone, and existing ones stay unchanged', () => {
  chmodSync(directory, 0o755);
  const made = join(directory, 'a', 'b');
  makePrivateDirectory(made);
  makePrivateDirectory(directory);
  const modes = [directory, join(directory, 'a'), made].map((path) => statSync(path).mode & 0o777);
  expect(modes).toEqual([0o755, 0o700, 0o700]);
});

it.each([
  [0o600, undefined],
  [0o400, undefined],
  [0o640, 'mode 0640'],
  [0o604, 'mode 0604'],
])('a file with mode %o is reported as: %s', (mode, words) => {
  const file = join(directory, 'keys.json');
  writeFileSync(file, '');
  chmodSync(file, mode);
  if (words === undefined) expect(exposureOf(file)).toBeUndefined();
  else expect(exposureOf(file)).toMatch(new RegExp(`${words}.*chmod 600 ${file}$`));
});

it('an open directory is reported with its remedy, and a missing file is not reported', () => {
  chmodSync(directory, 0o750);
  expect(exposureOf(directory)).toMatch(/mode 0750.*chmod 700 /);
  expect(exposureOf(join(directory, 'missing'))).toBeUndefined();
});
