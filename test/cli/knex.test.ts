// knex's own command line in the checkout: it finds the service's migrations, and drops nothing by accident.
import { execFile } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeEach, describe, expect, it } from 'vitest';
import { MIGRATIONS } from '../../src/outbound/knex/migrations.js';
import { runJson, serve, temporaryDirectory } from './headroom.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const CONFIRMED = { HEADROOM_ROLLBACK: 'drop-data' };

let dataDir: string;
let names: readonly string[];
beforeEach(async () => {
  dataDir = temporaryDirectory();
  names = (await MIGRATIONS.getMigrations([])).map(({ name }) => name);
});

/** Runs the program behind `npx knex …` in the checkout, without npm's own second for each call. */
async function knex(
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<{ readonly code: number; readonly output: string }> {
  const env = { PATH: process.env.PATH, HEADROOM_DATA_DIR: dataDir, NO_COLOR: '1', ...environment };
  const running = promisify(execFile)('node_modules/.bin/knex', ['--knexfile', 'dist/knexfile.js', ...args], {
    cwd: ROOT,
    env,
  });
  return running.then(
    ({ stdout, stderr }) => ({ code: 0, output: stdout + stderr }),
    (error: { code: number; stdout: string; stderr: string }) => ({
      code: error.code,
      output: error.stdout + error.stderr,
    }),
  );
}

const migrate = () => runJson(['migrate'], { HEADROOM_DATA_DIR: dataDir });

describe('npx knex', () => {
  it('lists and runs the same migrations as the service', async () => {
    const before = await knex(['migrate:list']);
    expect(before).toMatchObject({ code: 0, output: expect.stringContaining(`${names.length} Pending`) });
    expect(before.output).toContain(names.join('\n'));
    expect((await knex(['migrate:latest', '--verbose'])).output).toContain(names.join('\n'));
    expect(statSync(join(dataDir, 'headroom.sqlite')).mode & 0o777).toBe(0o600);
    expect(await migrate()).toEqual({ migrations: [] });
    const after = await knex(['migrate:list']);
    for (const name of names) expect(after.output).toContain(name);
    expect(after.output).toContain('No Pending Migration files Found');
  });

  it('finds no pending migration after "headroom migrate"', async () => {
    expect((await migrate()).migrations).toEqual(names);
    expect((await knex(['migrate:latest'])).output).toContain('Already up to date');
  });

  it('rolls back only with HEADROOM_ROLLBACK=drop-data, and the service can migrate again', async () => {
    await migrate();
    for (const command of [['migrate:rollback'], ['migrate:down'], ['migrate:rollback', '--all']]) {
      const refused = await knex(command);
      expect(refused).toMatchObject({
        code: 1,
        output: expect.stringContaining('HEADROOM_ROLLBACK=drop-data'),
      });
    }
    expect(await migrate()).toEqual({ migrations: [] });
    expect(await knex(['migrate:down'], CONFIRMED)).toMatchObject({ code: 0 });
    expect(await migrate()).toEqual({ migrations: names.slice(-1) });
    expect(await knex(['migrate:rollback', '--all'], CONFIRMED)).toMatchObject({ code: 0 });
    expect(existsSync(join(dataDir, 'last-commit-headroom.sqlite.json'))).toBe(false);
    expect((await migrate()).migrations).toEqual(names);
  });

  it('rolls back nothing while a service runs', async () => {
    const service = await serve(dataDir);
    const refused = await knex(['migrate:rollback'], CONFIRMED);
    expect(refused).toMatchObject({ code: 1, output: expect.stringContaining('stop the service') });
    expect((await service.stop()).code).toBe(0);
    expect(await migrate()).toEqual({ migrations: [] });
  });
});
