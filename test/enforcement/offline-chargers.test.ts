// Chargers in the event log: offline after a long loss, and online again, once each, over restarts of the service.
import createKnex from 'knex';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { eventPageSchema } from '../../src/features/events/contract.js';
import { bodyOf } from '../service/answers.js';
import { createEnforcementRig, type EnforcementRig } from './enforcement-rig.js';

let rig: EnforcementRig;
beforeEach(async () => {
  const chargers = [{ failsafeA: 6 }, { failsafeA: 6 }];
  rig = await createEnforcementRig([{ locationId: 'quay', permanentLimitKw: 21, chargers }]);
  await rig.pass(30);
});
afterEach(() => rig.stop());

const lost = () => rig.charger('quay-1');

async function logged() {
  const answer = await rig.call('GET', '/events?type=charger.offline,charger.online');
  return bodyOf(answer, eventPageSchema).events;
}

async function kinds(): Promise<readonly string[]> {
  return (await logged()).map(({ type, controllerUuid }) => `${type} ${controllerUuid}`);
}

/** Sets the connectors of the lost charger, as the rows of an operator's own hand. */
async function become(status: 'ACTIVE' | 'INACTIVE') {
  const filename = rig.databaseUrl.slice('sqlite:'.length);
  const knex = createKnex({ client: 'sqlite3', connection: { filename }, useNullAsDefault: true });
  await knex.transaction(async (trx) => {
    await trx('connectors').where({ controller_uuid: 'quay-1' }).update({ status });
    await trx('revision_counter').increment('revision', 1);
    const { revision } = await trx('revision_counter').first('revision');
    await trx('tenants').update({ sites_revision: revision });
  });
  await knex.destroy();
}

describe('a charger in the event log', () => {
  it('is offline after four minutes without a message, and online with the next one', async () => {
    await rig.cut(lost());
    const cutAtMs = rig.clock.nowMs();
    await rig.pass(230);
    expect(await logged()).toEqual([]);
    await rig.pass(30);
    const [offline, ...none] = await logged();
    expect(none).toEqual([]);
    expect(offline).toMatchObject({
      type: 'charger.offline',
      locationId: 'quay',
      controllerUuid: 'quay-1',
      connectorId: null,
      source: 'service',
      by: null,
    });
    const sinceMs = Date.parse(String(offline?.data.offlineSince));
    expect(Math.abs(sinceMs - cutAtMs)).toBeLessThan(2_000);
    await rig.restore(lost());
    await rig.pass(30);
    expect(await kinds()).toEqual(['charger.offline quay-1', 'charger.online quay-1']);
    expect((await logged())[1]?.data).toEqual(offline?.data);
  });

  it('stays out of it during shorter losses, however many', async () => {
    for (let loss = 0; loss < 3; loss++) {
      await rig.cut(lost());
      await rig.pass(120);
      await rig.restore(lost());
      await rig.pass(20);
    }
    await rig.pass(300);
    expect(await logged()).toEqual([]);
  });

  it('is expected to report only while it is ACTIVE', async () => {
    await rig.cut(lost());
    await rig.pass(120);
    await become('INACTIVE');
    await rig.pass(300);
    expect(await logged()).toEqual([]);
    await become('ACTIVE');
    await rig.pass(200);
    expect(await logged()).toEqual([]);
    await rig.pass(120);
    expect(await kinds()).toEqual(['charger.offline quay-1']);
  });

  it('is offline once, and online once, although the service restarts in between', async () => {
    await rig.cut(lost());
    await rig.pass(260);
    await rig.restartService(10);
    await rig.pass(300);
    expect(await kinds()).toEqual(['charger.offline quay-1']);
    await rig.restore(lost());
    await rig.pass(30);
    await rig.restartService(10);
    await rig.pass(300);
    expect(await kinds()).toEqual(['charger.offline quay-1', 'charger.online quay-1']);
  });
});
