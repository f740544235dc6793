// A repeated provisioning takes one slow hash for all chosen passwords together. It still finds changed passwords.
import { createHook } from 'node:async_hooks';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { TenantUuid } from '../../machines/values/ids.js';
import { createAdministration } from '../../src/outbound/knex/administration.js';
import type { Administration, PasswordSeal } from '../../src/ports/administration.js';
import { parseProvisioning } from '../../src/provisioning/parse-provisioning.js';
import { type PresetSecret, PresetSecrets } from '../../src/provisioning/plan-tenant.js';
import { provisionFile } from '../../src/provisioning/provision-file.js';
import { hashPassword, isPassword } from '../../src/secrets.js';

const TENANT = 'harbour' as TenantUuid;

/** Slow hashes begun in this test file, as counted by Node itself. */
let slowHashes = 0;
const jobs = createHook({
  init(_, type) {
    if (type === 'SCRYPTREQUEST') slowHashes++;
  },
});
beforeEach(() => {
  jobs.enable();
  slowHashes = 0;
});
afterEach(() => void jobs.disable());

/** Number of slow hashes that `work` takes. */
async function costOf(work: () => Promise<unknown>): Promise<number> {
  const before = slowHashes;
  await work();
  return slowHashes - before;
}

describe('A file with chosen passwords', () => {
  let directory: string;
  let administration: Administration;
  beforeEach(async () => {
    directory = mkdtempSync(join(tmpdir(), 'headroom-provisioning-'));
    administration = await createAdministration({ databaseUrl: `sqlite:${join(directory, 'truth.db')}` });
  });
  afterEach(async () => {
    await administration.close();
    rmSync(directory, { recursive: true, force: true });
  });

  /** Applies a file with these passwords, by charger. Resolves to the changes of the chargers. */
  async function provision(passwords: Readonly<Record<string, string>>): Promise<readonly string[]> {
    const chargers = Object.entries(passwords).map(
      ([controllerUuid, mqttPassword]) =>
        `{ controllerUuid: ${controllerUuid}, mqttPassword: ${mqttPassword}, connectors: [{ connectorId: "1", phases: 3, maxCurrentA: 32 }] }`,
    );
    const file = parseProvisioning(
      `tenants:
  - tenantUuid: ${TENANT}
    name: Harbour
    locations:
      - { locationId: quay, name: Quay, permanentLimitKw: 50, chargers: [${chargers.join(', ')}] }
`,
      'site.yaml',
    );
    const done: string[] = [];
    for await (const { actions } of provisionFile(administration, file, { dryRun: false, atMs: 1 }))
      for (const { action, kind, id } of actions) if (kind === 'charger') done.push(`${action} ${id}`);
    return done;
  }

  const FOUR = { c1: 'first-of-four', c2: 'second-of-four', c3: 'third-of-four', c4: 'fourth-of-four' };

  it('takes one slow hash for all passwords at each repetition without changes', async () => {
    // One hash for each charger, and one shared by all.
    expect(await costOf(() => provision(FOUR))).toBe(5);
    for (const _ of ['again', 'and again'])
      expect(await costOf(async () => expect(new Set(await provision(FOUR))).toContain('unchanged c3'))).toBe(
        1,
      );
  });

  it('updates a changed password, and leaves the others unchanged', async () => {
    await provision(FOUR);
    const changed = { ...FOUR, c2: 'another-for-the-second' };
    expect(await provision(changed)).toEqual(['unchanged c1', 'updated c2', 'unchanged c3', 'unchanged c4']);
    const logins = await administration.mqttLogins(TENANT);
    const second = logins.find(({ clientId }) => clientId === 'c2')?.secretHash;
    expect(await isPassword('another-for-the-second', second)).toBe(true);
    expect(await costOf(() => provision(changed))).toBe(1);
  });

  it('hashes the password of a new charger, and no earlier one again', async () => {
    await provision(FOUR);
    expect(await costOf(() => provision({ ...FOUR, c5: 'the-fifth-password' }))).toBe(2);
  });

  it('checks each password separately after one is removed from the file', async () => {
    await provision(FOUR);
    const { c4: _, ...three } = FOUR;
    expect(await costOf(() => provision(three))).toBe(4);
    expect(await costOf(() => provision(three))).toBe(1);
  });

  it('is applied again to a login that another file changed meanwhile', async () => {
    await provision(FOUR);
    await provision({ c1: 'what-another-file-says' });
    expect(await provision(FOUR)).toContain('updated c1');
  });
});

describe('A seal of many passwords', () => {
  const TOGETHER = 4;
  let presets: readonly PresetSecret[];
  let seals: readonly PasswordSeal[];
  beforeAll(async () => {
    const stored = await hashPassword('the very same for all');
    presets = Array.from({ length: 6 }, (_, i) => ({
      owner: `login/c${i}`,
      password: 'the very same for all',
      stored,
    }));
    seals = (await sealed(presets, [])) ?? [];
  });

  async function sealed(given: readonly PresetSecret[], before: readonly PasswordSeal[]) {
    const secrets = new PresetSecrets(before, () => {}, TOGETHER);
    await secrets.hashesOf(given);
    return secrets.sealsOf(given);
  }

  it('covers a limited number, so that a change causes few other checks', async () => {
    expect(seals.map(({ owners }) => owners.length)).toEqual([4, 2]);
    const changed = presets.map((preset, i) => (i === 5 ? { ...preset, password: 'it changed' } : preset));
    const slow: number[] = [];
    await new PresetSecrets(seals, (count) => slow.push(count)).hashesOf(changed);
    expect(slow).toEqual([2]);
  });

  it('is kept after a file that names other passwords', async () => {
    const others = presets.slice(0, 2).map((preset, i) => ({ ...preset, owner: `login/other-${i}` }));
    expect(await sealed(others, seals)).toEqual([...seals, expect.objectContaining({})]);
    expect(await sealed(presets, seals)).toBeUndefined();
  });

  it('reveals no single password to a holder of all others: a wrong one costs two slow hashes', async () => {
    const guess = presets.map((preset, i) => (i === 3 ? { ...preset, password: 'a guess' } : preset));
    const hashes = await new PresetSecrets(seals, () => {}).hashesOf(guess);
    expect(hashes.get('login/c3')).not.toBe(guess[3]?.stored);
    expect(await isPassword('a guess', hashes.get('login/c3'))).toBe(true);
  });
});
