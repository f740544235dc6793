// A restored backup lacks the entitlements of the chargers. The limit still holds, and the chargers follow again.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { backupDatabase } from '../../src/outbound/knex/backup.js';
import { restoreDatabase } from '../../src/outbound/knex/restore.js';
import { createEnforcementRig, type EnforcementRig } from './enforcement-rig.js';

const LIMIT_KW = 30;
const directory = mkdtempSync(join(tmpdir(), 'headroom-restored-'));

let rig: EnforcementRig;
afterEach(async () => {
  await rig.stop();
  rmSync(directory, { recursive: true, force: true });
});

it('keeps the limit though a charger that is cut off holds a lease that the backup does not know', async () => {
  const chargers = [{}, {}, {}];
  rig = await createEnforcementRig([{ locationId: 'quay', permanentLimitKw: LIMIT_KW, chargers }]);
  const backup = join(directory, 'before-any-grant');
  await backupDatabase(rig.databaseUrl, backup);
  await rig.until('all is used', () => rig.powerKw('quay') > 0.9 * LIMIT_KW, 100);
  const [gone, ...others] = rig.chargers;
  if (gone === undefined) throw new Error('the rig has chargers');
  await rig.restartService(1, async (databaseUrl) => {
    gone.link.cut();
    await restoreDatabase(databaseUrl, { backup, isDryRun: false, stamp: 'test' });
  });
  await rig.cut(gone);
  expect(gone.holdsLease()).toBe(true);
  await rig.pass(20);
  expect(others.every((charger) => charger.holdsLease())).toBe(true);
  // The fail-safe of the charger that is cut off stays reserved.
  await rig.until('the others use what it left', () => rig.powerKw('quay') > 0.9 * LIMIT_KW - 4.2, 120);
  await rig.restore(gone);
  await rig.until('all is used', () => gone.heldA() > 6 && rig.powerKw('quay') > 0.9 * LIMIT_KW, 120);
});
