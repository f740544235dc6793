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

it('makes directories for the owner alone, and leaves those that are there as they are', () => {
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
])('says of a file with mode %o: %s', (mode, words) => {
  const file = join(directory, 'keys.json');
  writeFileSync(file, '');
  chmodSync(file, mode);
  if (words === undefined) expect(exposureOf(file)).toBeUndefined();
  else expect(exposureOf(file)).toMatch(new RegExp(`${words}.*chmod 600 ${file}$`));
});

it('names the way out of an open directory too, and says nothing of what is not there', () => {
  chmodSync(directory, 0o750);
  expect(exposureOf(directory)).toMatch(/mode 0750.*chmod 700 /);
  expect(exposureOf(join(directory, 'missing'))).toBeUndefined();
});
