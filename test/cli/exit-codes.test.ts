// Every command: its help says the exit codes, a wrong word ends it with 2, and the list of commands tells what they are.
import { describe, expect, it } from 'vitest';
import { COMMANDS } from '../../cli/commands.js';
import { run } from './headroom.js';

describe.each(COMMANDS)('headroom $name', ({ name, about, load }) => {
  it('is in the list as it describes itself', async () => {
    expect((await load()).description()).toBe(about);
  });

  it('ends with 0 after its help, which says the exit codes, and with 2 on a wrong word', async () => {
    const [help, wrong] = await Promise.all([run([name, '--help']), run([name, '--no-such-flag'])]);
    expect(help).toMatchObject({ code: 0, stderr: '' });
    expect(help.stdout).toContain('Exit codes: 0 done; 1 it failed');
    expect({ code: wrong.code, stdout: wrong.stdout }).toEqual({ code: 2, stdout: '' });
  });
});
