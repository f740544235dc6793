// `headroom completion`: the shells themselves run the script and complete words of the command.
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { COMMANDS } from '../../cli/commands.js';
import { missingPrograms, needing } from '../needs.js';
import { run, writeFile } from './headroom.js';

const COMMAND = fileURLToPath(new URL('../../cli/headroom.js', import.meta.url));

/** A folder with the command as people call it, and a file whose name a shell can complete. */
const folder = mkdtempSync(join(tmpdir(), 'headroom-completion-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
writeFile(folder, 'sites.yaml', '');
chmodSync(writeFile(folder, 'headroom', `#!/bin/sh\nexec '${process.execPath}' '${COMMAND}' "$@"\n`), 0o755);

function runShell(shell: string, args: readonly string[]): string {
  const env = { HOME: folder, PATH: `${folder}:${process.env.PATH}`, TERM: 'dumb' };
  const { stdout, error } = spawnSync(shell, [...args], { cwd: folder, env, encoding: 'utf8' });
  if (error !== undefined) throw error;
  return stdout;
}

const CASES = [
  [['sim', 'ru'], ['run']],
  [
    ['feature', ''],
    ['enable', 'disable'],
  ],
  [
    ['completion', ''],
    ['bash', 'zsh', 'fish'],
  ],
  [['limit', '--js'], ['--json']],
  [['limit', '--idem'], ['--idempotency-key']],
  [['schedule', '--idem'], ['--idempotency-key']],
  [
    ['cluster', '--i'],
    ['--idempotency-key', '--if-match'],
  ],
  [['cluster', '--nonsense'], []],
] as const;

describe('bash', needing(missingPrograms('bash')), () => {
  const completed = (...words: readonly string[]): readonly string[] => {
    const list = ['headroom', ...words].map((word) => `'${word}'`).join(' ');
    const script = `source <(headroom completion bash); source <(headroom completion bash)
      COMP_WORDS=(${list}); COMP_CWORD=${words.length}
      __headroom_complete 2>/dev/null; printf '%s\\n' "\${COMPREPLY[@]}"`;
    return runShell('bash', ['--norc', '-c', script]).split('\n').filter(Boolean);
  };

  it.each(CASES)('completes %j to %j', (words, expected) => {
    expect([...completed(...words)].filter((word) => word !== 'help').sort()).toEqual([...expected].sort());
  });

  it('completes every command', () => {
    expect(completed('')).toEqual(expect.arrayContaining(COMMANDS.map(({ name }) => name)));
  });

  it('leaves the names of files to the shell, and registers the command', () => {
    const registered = runShell('bash', [
      '--norc',
      '-c',
      'source <(headroom completion bash); complete -p headroom',
    ]);
    expect(registered.trim()).toBe('complete -o default -F __headroom_complete headroom');
    expect(completed('provision', '')).toEqual([]);
  });

  it('writes nothing to stderr when it is loaded twice', () => {
    const twice = 'exec 2>&1; source <(headroom completion bash); source <(headroom completion bash)';
    expect(runShell('bash', ['--norc', '-c', twice])).toBe('');
  });
});

describe('fish', needing(missingPrograms('fish')), () => {
  const completed = (...words: readonly string[]): readonly string[] =>
    runShell('fish', [
      '--no-config',
      '-c',
      `headroom completion fish | source; complete -C 'headroom ${words.join(' ')}'`,
    ])
      .split('\n')
      .map((line) => line.split('\t')[0] ?? '')
      .filter(Boolean);

  it.each(CASES)('completes %j to %j', (words, expected) => {
    expect([...completed(...words)].filter((word) => word !== 'help').sort()).toEqual([...expected].sort());
  });

  it('completes the names of files', () => {
    expect(completed('provision', 'si')).toEqual(['sites.yaml']);
  });
});

describe('zsh', needing(missingPrograms('zsh')), () => {
  it('loads the script, which completes the command', () => {
    const script =
      'autoload -Uz compinit && compinit -u; source <(headroom completion zsh); print -r -- $_comps[headroom]';
    expect(runShell('zsh', ['-f', '-c', script]).trim()).toBe('_headroom');
  });
});

describe('The command', () => {
  it.each(['bash', 'zsh', 'fish'])('prints the script of %s, and says how to load it', async (shell) => {
    const printed = await run(['completion', shell]);
    expect([printed.code, printed.stderr]).toEqual([0, '']);
    expect(printed.stdout).toContain('headroom complete --');
    expect((await run(['completion', '--help'])).stdout).toContain(`headroom completion ${shell}`);
  });

  it('refuses another shell, and names those it has', async () => {
    const refused = await run(['completion', 'powershell']);
    expect(refused.code).toBe(2);
    expect(refused.stderr).toContain('Allowed choices are bash, zsh, fish');
  });

  it('prints completions by the protocol of the scripts, and is in no list itself', async () => {
    const words = ['complete', '--', 'sim', 'ru'];
    expect((await run(words)).stdout).toMatch(/^run\trun a scenario.*\n:4\n$/);
    expect((await run(['complete', '--', 'provision', ''])).stdout).toBe(':0\n');
    expect((await run(['--help'])).stdout).not.toMatch(/^ {2}complete /m);
  });
});
