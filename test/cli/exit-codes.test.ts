// Every command, down to those of two words: its help says the exit codes and loads little, and a wrong word ends it with 2.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Command } from 'commander';
import { afterAll, describe, expect, it } from 'vitest';
import { COMMANDS } from '../../cli/commands.js';
import { run, writeFile } from './headroom.js';

/** A module that writes the address of each file that is loaded after it to stderr, as a debugger hears of it. */
const NOTE_WHAT_IS_LOADED = `import { writeSync } from 'node:fs';
import { Session } from 'node:inspector';
const session = new Session();
session.connect();
session.on('Debugger.scriptParsed', ({ params: { url } }) => /^file:/.test(url) && writeSync(2, url + '\\n'));
session.post('Debugger.enable');
`;

/** The words that call `command` and each command below it. */
function wordsOf(command: Command, above: readonly string[] = []): readonly (readonly string[])[] {
  const words = [...above, command.name()];
  return [words, ...command.commands.flatMap((each) => wordsOf(each, words))];
}

describe.each(COMMANDS)('headroom $name', ({ about, load }) => {
  it('is in the list as it describes itself', async () => {
    expect((await load()).description()).toBe(about);
  });
});

const commands = (await Promise.all(COMMANDS.map(async ({ load }) => wordsOf(await load())))).flat();

const notesFolder = mkdtempSync(join(tmpdir(), 'headroom-notes-'));
const notes = writeFile(notesFolder, 'notes.mjs', NOTE_WHAT_IS_LOADED);
afterAll(() => rmSync(notesFolder, { recursive: true, force: true }));

describe.each(commands.map((words) => ({ words, name: words.join(' ') })))('headroom $name', ({ words }) => {
  it('ends with 0 after its help, which says the exit codes, and loads neither the service nor the simulator for it', async () => {
    const help = await run([...words, '--help'], { NODE_OPTIONS: `--import ${notes}` });
    expect(help.code).toBe(0);
    expect(help.stdout).toContain(`Usage: headroom ${words.join(' ')}`);
    expect(help.stdout).toContain('Exit codes: 0 done; 1 it failed');
    const loaded = help.stderr.trimEnd().split('\n');
    // Nothing else is said there.
    expect(loaded.filter((line) => !line.startsWith('file:'))).toEqual([]);
    expect(help.stderr).toMatch(/dist\/cli\/commands\.js/);
    expect(help.stderr).not.toMatch(
      /dist\/src\/service\.js|dist\/sim\/run\/|node_modules\/(knex|aedes|express)\//,
    );
  });

  it('ends with 2 on a wrong word', async () => {
    const wrong = await run([...words, '--no-such-flag']);
    expect({ code: wrong.code, stdout: wrong.stdout }).toEqual({ code: 2, stdout: '' });
    expect(wrong.stderr).toMatch(/^error: /);
  });
});
