// Every command and subcommand: its help names the exit codes and loads little, and a wrong word ends it with 2.
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Command } from 'commander';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { COMMANDS } from '../../cli/commands.js';
import { run, runAlone, writeFile } from './headroom.js';
import { Resident } from './resident.js';

/** A module that writes the URL of each file loaded after it to stderr, by the debugger's event. */
const NOTE_WHAT_IS_LOADED = `import { writeSync } from 'node:fs';
import { Session } from 'node:inspector';
const session = new Session();
session.connect();
session.on('Debugger.scriptParsed', ({ params: { url } }) => /^file:/.test(url) && writeSync(2, url + '\\n'));
session.post('Debugger.enable');
`;

/** Chunks of the bundle with the service, its database, its broker and the simulator. */
const HEAVY = ['service.js', 'connection.js', 'embedded-broker.js', 'run-scenario.js', 'world.js'];

/** The words that call `command` and each command below it. */
function wordsOf(command: Command, above: readonly string[] = []): readonly (readonly string[])[] {
  const words = [...above, command.name()];
  return [words, ...command.commands.flatMap((each) => wordsOf(each, words))];
}

const notesFolder = mkdtempSync(join(tmpdir(), 'headroom-notes-'));
const notes = writeFile(notesFolder, 'notes.mjs', NOTE_WHAT_IS_LOADED);
afterAll(() => rmSync(notesFolder, { recursive: true, force: true }));

const LISTED = await Promise.all(
  COMMANDS.map(async ({ name, about, load }) => {
    const command = await load();
    return { name, about, described: command.description(), all: wordsOf(command) };
  }),
);

describe.each(LISTED)('headroom $name', ({ about, described, all }) => {
  let resident: Resident;
  /** All files loaded for the command and the commands below it. */
  let loaded = '';

  beforeAll(() => {
    resident = new Resident(['--import', notes]);
  });
  afterAll(() => resident.stop());

  it('is checked for chunks that exist in the bundle', () => {
    expect(HEAVY.filter((chunk) => !existsSync(`dist/command/${chunk}`))).toEqual([]);
  });

  it('has the same description in the list of commands and in its help', () => {
    expect(described).toBe(about);
  });

  describe.each(all.map((words) => ({ words, name: words.join(' ') })))('headroom $name', ({ words }) => {
    it('ends with 0 after its help, which lists the exit codes and loads neither service nor simulator', async () => {
      const help = await resident.run([...words, '--help'], {});
      expect(help.code).toBe(0);
      expect(help.stdout).toContain(`Usage: headroom ${words.join(' ')}`);
      expect(help.stdout).toContain('Exit codes: 0 done; 1 it failed');
      // The help writes nothing to stderr itself.
      expect(help.stderr.split('\n').filter((line) => !/^(file:.*)?$/.test(line))).toEqual([]);
      loaded += help.stderr;
      expect(loaded).toContain('/dist/command/commands.js');
      for (const chunk of HEAVY) expect(loaded).not.toContain(`/dist/command/${chunk}`);
      expect(loaded).not.toMatch(/node_modules\/(knex|aedes|express)\//);
    });

    it('ends with 2 for an unknown flag', async () => {
      const wrong = await resident.run([...words, '--no-such-flag'], {});
      expect({ code: wrong.code, stdout: wrong.stdout }).toEqual({ code: 2, stdout: '' });
      expect(wrong.stderr.replaceAll(/^file:.*\n/gm, '')).toMatch(/^error: /);
    });
  });
});

describe('A command that runs after others in one process', () => {
  it.each([
    ['--version'],
    ['help', 'gateway'],
    ['key', 'list', '--expires', 'noon'],
    ['sim', 'run', 'no-such-file.yaml'],
    ['tenant', 'list', '--data-dir', '/dev/null/nowhere'],
    ['backup', 'copy.sqlite', '--data-dir', '/dev/null/nowhere'],
    ['doctor', '--data-dir', '/dev/null/nowhere'],
  ])('has the same output and exit code as in a separate process: %s %s', async (...args) => {
    const [after, alone] = await Promise.all([run(args), runAlone(args)]);
    expect(after).toEqual(alone);
    expect(after.stdout + after.stderr).not.toBe('');
  });
});
