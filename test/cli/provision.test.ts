// `headroom provision` creates and updates, shows generated secrets once, and changes nothing after an error.
import { chmodSync, existsSync, readFileSync, realpathSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createAdministration } from '../../src/outbound/knex/administration.js';
import { openDatabase } from '../../src/outbound/knex/connection.js';
import { hashSecret, isPassword, isSecret, parseApiKey, secretIdOf } from '../../src/secrets.js';
import { run, runJson, start, temporaryDirectory, writeFile } from './headroom.js';
import { API_KEY, siteYaml, TENANT } from './site.js';

interface Outcome {
  readonly actions: readonly { readonly action: string; readonly kind: string; readonly id: string }[];
  readonly issued: readonly { readonly kind: string; readonly id: string; readonly secret: string }[];
}

function place(text: string) {
  const directory = temporaryDirectory();
  const environment = { HEADROOM_DATABASE_URL: `sqlite:${directory}/truth.db` };
  return { directory, environment, file: writeFile(directory, 'site.yaml', text) };
}

async function stored(environment: { readonly HEADROOM_DATABASE_URL: string }) {
  const administration = await createAdministration({ databaseUrl: environment.HEADROOM_DATABASE_URL });
  const tenants = await administration.listTenants();
  const [tenant] = tenants;
  const found = {
    tenants,
    keys: await administration.listCredentials('apiKey'),
    clients: await administration.listCredentials('client'),
    logins: tenant === undefined ? [] : await administration.mqttLogins(tenant.tenantUuid),
  };
  await administration.close();
  return found;
}

/** Replaces the stored hash of a charger's password. */
async function rewrite(environment: { readonly HEADROOM_DATABASE_URL: string }, hash: string): Promise<void> {
  const knex = openDatabase(environment.HEADROOM_DATABASE_URL);
  await knex('chargers').update({ mqtt_secret_hash: hash });
  await knex.destroy();
}

const actionsOf = ({ actions }: Outcome) => new Set(actions.map(({ action }) => action));

describe('headroom provision', () => {
  it('creates the entities of the file, and stores given secrets hashed and never shows them', async () => {
    const { file, environment } = place(siteYaml());
    const { code, stdout, stderr } = await run(['provision', file], environment);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain('7 created, 0 updated, 0 unchanged');
    expect(stdout).not.toMatch(/Secrets|charger-secret|0123456789/);
    const { tenants, keys, clients, logins } = await stored(environment);
    expect(tenants).toMatchObject([{ tenantUuid: TENANT, locations: 1, connectors: 1 }]);
    expect(isSecret(parseApiKey(API_KEY)?.secret ?? '', keys[0]?.secretHash ?? '')).toBe(true);
    expect(await isPassword('backend-secret', clients[0]?.secretHash)).toBe(true);
    expect(logins.map(({ clientId }) => clientId)).toEqual(['q1-a', 'quay-gateway']);
    const [charger, gateway] = logins.map(({ secretHash }) => secretHash);
    expect(await isPassword('charger-secret-q1', charger)).toBe(true);
    expect(await isPassword('gateway-secret', gateway)).toBe(true);
    for (const hash of [clients[0]?.secretHash, charger, gateway]) expect(hash).toMatch(/^\$scrypt\$/);
  });

  it('warns if other users can read a file with secrets, and not for a file without secrets', async () => {
    const open = place(siteYaml());
    chmodSync(open.file, 0o640);
    expect((await run(['provision', open.file], open.environment)).stderr).toMatch(
      /^warning: .*site\.yaml is open to others than its owner \(mode 0640\) and holds secrets: chmod 600 .*site\.yaml\n$/,
    );
    const bare = place(siteYaml({ secrets: false }));
    chmodSync(bare.file, 0o644);
    expect((await run(['provision', bare.file], bare.environment)).stderr).toBe('');
  });

  it('warns that the secrets of the demo file are public, regardless of its mode', async () => {
    const { environment, directory } = place('');
    const link = join(directory, 'linked.yaml');
    symlinkSync(realpathSync('cli/demo/harbour.yaml'), link);
    for (const file of ['cli/demo/harbour.yaml', link]) {
      const { code, stderr } = await run(['provision', file], environment);
      const warning = `warning: the secrets in ${file} are public: use it only if nobody else reaches the service\n`;
      expect({ code, stderr }).toEqual({ code: 0, stderr: warning });
    }
  });

  it('replaces hashes of release 0.1 and changes nothing else: tokens and connections stay valid', async () => {
    const { file, environment } = place(siteYaml());
    await run(['provision', file], environment);
    const fast = hashSecret('charger-secret-q1');
    await rewrite(environment, fast);
    const outcome: Outcome = (await runJson(['provision', file], environment)).tenants[0];
    expect(outcome.actions.filter(({ action }) => action !== 'unchanged')).toEqual([
      { action: 'updated', kind: 'charger', id: 'q1-a' },
    ]);
    const hash = (await stored(environment)).logins[0]?.secretHash ?? '';
    expect(hash).toMatch(/^\$scrypt\$/);
    expect(await isPassword('charger-secret-q1', hash)).toBe(true);
    expect(secretIdOf(hash)).toBe(secretIdOf(fast));
    const again: Outcome = (await runJson(['provision', file], environment)).tenants[0];
    expect(actionsOf(again)).toEqual(new Set(['unchanged']));
  });

  it('is idempotent: the second run changes nothing', async () => {
    const { file, environment } = place(siteYaml());
    await run(['provision', file], environment);
    const { tenants } = await runJson(['provision', file], environment);
    expect(actionsOf(tenants[0])).toEqual(new Set(['unchanged']));
  });

  it('generates missing secrets, shows them once, and keeps them at the next run', async () => {
    const { file, environment } = place(siteYaml({ secrets: false }));
    const first: Outcome = (await runJson(['provision', file], environment)).tenants[0];
    expect(first.issued.map(({ kind }) => kind)).toEqual(['api-key', 'client', 'charger', 'gateway']);
    const { keys, clients, logins } = await stored(environment);
    const [key, client, ...passwords] = first.issued.map(({ secret }) => secret);
    expect(parseApiKey(key ?? '')?.keyId).toBe(keys[0]?.id);
    expect(isSecret(parseApiKey(key ?? '')?.secret ?? '', keys[0]?.secretHash ?? '')).toBe(true);
    expect(isSecret(client ?? '', clients[0]?.secretHash ?? '')).toBe(true);
    expect(logins.map(({ secretHash }, i) => isSecret(passwords[i] ?? '', secretHash))).toEqual([true, true]);

    const second: Outcome = (await runJson(['provision', file], environment)).tenants[0];
    expect(second.issued).toEqual([]);
    expect(actionsOf(second)).toEqual(new Set(['unchanged']));
    expect(await stored(environment)).toEqual({ tenants: expect.anything(), keys, clients, logins });
  });

  it('shows generated secrets in a table', async () => {
    const { file, environment } = place(siteYaml({ secrets: false }));
    const { stdout } = await run(['provision', file], environment);
    expect(stdout).toMatch(/Secrets made, shown this once:\n/);
    expect(stdout).toMatch(/api-key +\w{8} +hr_\w{8}_\w{43}/);
    expect(stdout).toMatch(/charger +q1-a +\w{40} /);
  });

  describe('--write-secrets', () => {
    it('writes the file and its secrets for the owner only, prints none, and reuses them next time', async () => {
      const { directory, file, environment } = place(`# the quay\n${siteYaml({ secrets: false })}`);
      const secrets = join(directory, 'secrets.yaml');
      const { code, stdout } = await run(['provision', file, '--write-secrets', secrets], environment);
      expect(code).toBe(0);
      expect(stdout).toContain(`4 secrets made, and written to ${secrets}`);
      expect(stdout).not.toMatch(/\w{40}/);
      expect(statSync(secrets).mode & 0o777).toBe(0o600);
      const written = readFileSync(secrets, 'utf8');
      expect(written).toContain('# the quay');
      expect(written).toMatch(/key: hr_\w{8}_\w{43}/);
      expect(written).toMatch(/clientSecret: \w{43}/);
      // OCPP allows 16 to 40 characters for a charger's password.
      expect(written).toMatch(/mqttPassword: \w{40}\n/);

      const before = await stored(environment);
      const again: Outcome = (await runJson(['provision', secrets], environment)).tenants[0];
      expect(again.issued).toEqual([]);
      expect(actionsOf(again)).toEqual(new Set(['unchanged']));
      expect(await stored(environment)).toEqual(before);
    });

    it('writes into the provisioning file', async () => {
      const { file, environment } = place(siteYaml({ secrets: false }));
      chmodSync(file, 0o644);
      await run(['provision', file, '--write-secrets', file], environment);
      expect(statSync(file).mode & 0o777).toBe(0o600);
      expect(readFileSync(file, 'utf8')).toMatch(/mqttPassword: \w{40}/);
      expect((await runJson(['provision', file], environment)).tenants[0].issued).toEqual([]);
    });

    it('does not overwrite another existing file, and generates no secret', async () => {
      const { directory, file, environment } = place(siteYaml({ secrets: false }));
      const other = writeFile(directory, 'other.yaml', 'precious');
      const { code, stderr } = await run(['provision', file, '--write-secrets', other], environment);
      expect(code).toBe(2);
      expect(stderr).toContain(`${other} exists and may hold the secrets of an earlier run`);
      expect(readFileSync(other, 'utf8')).toBe('precious');
      expect((await stored(environment)).keys).toEqual([]);
    });

    it('stores nothing if the file cannot be written or an entry has no field for its secret', async () => {
      const { directory, file, environment } = place(siteYaml({ secrets: false }));
      const nowhere = join(directory, 'missing', 'secrets.yaml');
      const unwritten = await run(['provision', file, '--write-secrets', nowhere], environment);
      expect(unwritten).toMatchObject({
        code: 2,
        stderr: expect.stringContaining(`cannot write ${nowhere}`),
      });
      const aliased = writeFile(
        directory,
        'aliased.yaml',
        `tenants:
  - { tenantUuid: one, name: One, apiKeys: [&key { scopes: [locations:read] }, *key] }`,
      );
      const { code, stderr } = await run(['provision', aliased, '--write-secrets', aliased], environment);
      expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining('YAML alias') });
      expect((await stored(environment)).keys).toEqual([]);
    });

    it('writes nothing in a dry run', async () => {
      const { directory, file, environment } = place(siteYaml({ secrets: false }));
      const secrets = join(directory, 'secrets.yaml');
      await run(['provision', file, '--dry-run', '--write-secrets', secrets], environment);
      expect(existsSync(secrets)).toBe(false);
    });
  });

  it('updates the changed entities of the file', async () => {
    const { directory, file, environment } = place(siteYaml());
    await run(['provision', file], environment);
    const changed = writeFile(directory, 'changed.yaml', siteYaml({ secrets: true, permanentLimitKw: 60 }));
    const outcome: Outcome = (await runJson(['provision', changed], environment)).tenants[0];
    expect(outcome.actions.filter(({ action }) => action !== 'unchanged')).toEqual([
      { action: 'updated', kind: 'location', id: 'quay-1' },
    ]);
  });

  it('shows the changes with --dry-run, writes nothing and reveals no secret', async () => {
    const { file, environment } = place(siteYaml({ secrets: false }));
    const { code, stdout } = await run(['provision', file, '--dry-run'], environment);
    expect(code).toBe(0);
    expect(stdout).toMatch(/7 would be created/);
    expect(stdout).not.toMatch(/\w{40}/);
    const { tenants } = await runJson(['provision', file, '--dry-run'], environment);
    expect(JSON.stringify(tenants)).not.toContain('secret');
    expect(await stored(environment)).toMatchObject({ tenants: [], keys: [], clients: [] });
  });

  it('reports every error with line and field, ends with 2 and writes nothing', async () => {
    const { file, environment } = place(
      siteYaml().replace('phases: 3', 'phases: 2').replace('name: Quay', 'nam: Quay'),
    );
    const { code, stdout, stderr } = await run(['provision', file], environment);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(
      stderr
        .trim()
        .split('\n')
        .map((line) => line.slice(file.length)),
    ).toEqual([
      expect.stringMatching(/^:10:9 tenants\[0\]\.locations\[0\]\.name: is missing/),
      expect.stringMatching(/^:11:9 tenants\[0\]\.locations\[0\]\.nam: .*did you mean "name"\?$/),
      expect.stringMatching(/^:15:46 tenants\[0\]\.\S+\.connectors\[0\]\.phases: is 2; must be 1 or 3$/),
    ]);
    expect((await stored(environment)).tenants).toEqual([]);
  });

  it('writes no tenant if one of them requests a client id of another tenant', async () => {
    const { directory, file, environment } = place(siteYaml());
    await run(['provision', file], environment);
    const clash = writeFile(
      directory,
      'clash.yaml',
      `tenants:
  - { tenantUuid: newcomer, name: New }
  - { tenantUuid: thief, name: Thief, clients: [{ clientId: harbour-backend }] }
`,
    );
    const { code, stderr } = await run(['provision', clash], environment);
    expect(code).toBe(2);
    expect(stderr).toBe('headroom: client id harbour-backend is taken by another tenant\n');
    expect((await stored(environment)).tenants).toHaveLength(1);
  });

  it('reports a file that cannot be read', async () => {
    const { environment } = place('');
    const { code, stderr } = await run(['provision', '/no/such/file.yaml'], environment);
    expect(code).toBe(2);
    expect(stderr).toMatch(/^headroom: cannot read \/no\/such\/file\.yaml: .*\n$/);
  });

  it('stores the whole file and ends with 0 if its output is closed', async () => {
    const another = `  - tenantUuid: another
    name: Another
    locations:
      - { locationId: yard-1, name: Yard 1, permanentLimitKw: 20, chargers: [] }
`;
    const { file, environment } = place(`${siteYaml()}${another}`);
    const { process: command, finished } = start(['provision', file], environment);
    command.stdout?.destroy();
    command.stderr?.destroy();
    expect(await finished).toMatchObject({ code: 0 });
    const { tenants } = await stored(environment);
    expect(tenants.map(({ tenantUuid }) => tenantUuid).sort()).toEqual(['another', TENANT]);
  });
});
