// Changes by the command line beside a running service take effect within 2 s, without a restart.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ConnectorId, TenantUuid } from '../../machines/values/ids.js';
import { createVirtualClock } from '../../sim/virtual-clock.js';
import { databaseUrlOf } from '../../src/config.js';
import { clusterDetailSchema, clusterSchema } from '../../src/features/clusters/contract.js';
import { locationLimitsSchema } from '../../src/features/profiles/contract.js';
import { tokenResponseSchema } from '../../src/features/tokens/contract.js';
import { createAdministration } from '../../src/outbound/knex/administration.js';
import type { Administration, ProvisionedTenant } from '../../src/ports/administration.js';
import { ENERGY_MANAGEMENT } from '../../src/ports/records.js';
import { hashSecret } from '../../src/secrets.js';
import { eventually } from '../eventually.js';
import { bodyOf, refusalOf } from './answers.js';
import { connectCharger } from './charger-client.js';
import { profileAt } from './profiles.js';
import { HARBOUR, RIVAL, type RunningService, runService, site, tenantWith } from './running-service.js';

const NEWCOMER = 'f1f1f1f1-3c1d-4f77-b7a4-2f6a0c9d8e01' as TenantUuid;
const clock = createVirtualClock(Date.parse('2026-06-01T12:00:00Z'));
let service: RunningService;
let administration: Administration;
beforeAll(async () => {
  service = await runService([harbour(), tenantWith(RIVAL, [site('quay-1')])], { clock });
  administration = await createAdministration({ databaseUrl: databaseUrlOf(service.config) });
});
afterAll(async () => {
  await administration.close();
  await service.stop();
});

type Site = ProvisionedTenant['locations'][number];

function harbour(over: Readonly<Record<string, Parameters<typeof site>[1]>> = {}, ...more: Site[]) {
  const ids = ['quay-1', 'quay-2', 'quay-3'];
  return tenantWith(HARBOUR, [...ids.map((id) => site(id, over[id])), ...more]);
}

function provision(tenant: ProvisionedTenant) {
  return administration.provision(tenant, { dryRun: false, atMs: clock.nowMs() });
}

/** Resolves when `check` no longer throws; lets at most 2 s pass on the service's clock. */
async function seen(check: () => Promise<void>): Promise<void> {
  clock.advance(1000);
  await eventually(check, 500).catch(async () => {
    clock.advance(1000);
    await eventually(check);
  });
}

async function limitsOf(locationId: string, tenantUuid = HARBOUR) {
  const answer = await service.call('GET', `/locations/${locationId}/limits`, undefined, tenantUuid);
  return bodyOf(answer, locationLimitsSchema);
}

async function tokenOf(tenantUuid: TenantUuid) {
  const client = { client_id: `client-${tenantUuid.slice(0, 8)}`, client_secret: 'client secret' };
  return service.send('POST', '/oauth/token', { body: { grant_type: 'client_credentials', ...client } });
}

describe('a feature', () => {
  it('that is switched off closes the next request, tokens already issued included, until it is on again', async () => {
    const { access_token } = bodyOf(await tokenOf(RIVAL), tokenResponseSchema);
    const byToken = () =>
      service.send('GET', '/clusters', { headers: { authorization: `Bearer ${access_token}` } });
    const byKey = () => service.call('GET', '/clusters', undefined, RIVAL);
    expect([(await byToken()).status, (await byKey()).status]).toEqual([200, 200]);
    await administration.setFeature(RIVAL, ENERGY_MANAGEMENT, false, clock.nowMs());
    await seen(async () => void refusalOf(await byKey(), 'FEATURE_NOT_ENABLED'));
    refusalOf(await byToken(), 'FEATURE_NOT_ENABLED');
    expect((await service.call('GET', '/clusters')).status).toBe(200);
    await administration.setFeature(RIVAL, ENERGY_MANAGEMENT, true, clock.nowMs());
    await seen(async () => expect((await byKey()).status).toBe(200));
  });
});

describe('a location', () => {
  it('that is provisioned is there, with its charger, and clusters may take it', async () => {
    refusalOf(await service.call('GET', '/locations/new/limits'), 'LOCATION_NOT_FOUND');
    await provision(harbour({}, site('new', { permanentLimitKw: 12 })));
    await seen(async () => expect(await limitsOf('new')).toMatchObject({ permanentLimitKw: 12 }));
    const schedule = profileAt(clock.nowMs());
    expect((await service.call('POST', '/chargers/new-a/connectors/1/schedules', schedule)).status).toBe(200);
    const { clusterId } = bodyOf(
      await service.call('POST', '/clusters', { name: 'With new', locationIds: ['new'] }),
      clusterSchema,
      201,
    );
    const charger = await connectCharger(service.mqttUrl, 'new');
    await charger.meter('1', { powerW: 3300 });
    await eventually(async () => {
      const answer = await service.call('GET', `/clusters/${clusterId}`);
      expect(bodyOf(answer, clusterDetailSchema).liveStatus.actualTotalKw).toBe(3.3);
    });
    await charger.stop();
  });

  it('whose permanent limit is provisioned anew has it; one set over REST stays while the file has the same', async () => {
    await service.call('PUT', '/locations/quay-2/limit', { limitKw: 33 });
    await provision(harbour({ 'quay-1': { permanentLimitKw: 61 } }));
    await seen(async () => expect(await limitsOf('quay-1')).toMatchObject({ effectiveLimitKw: 61 }));
    expect(await limitsOf('quay-2')).toMatchObject({ permanentLimitKw: 33 });
  });

  it('that is set INACTIVE refuses writes, can be read, and takes them again when ACTIVE', async () => {
    const request = profileAt(clock.nowMs());
    const write = () => service.call('POST', '/locations/quay-3/schedules', request);
    expect((await write()).status).toBe(200);
    const before = await limitsOf('quay-3');
    await provision(harbour({ 'quay-3': { status: 'INACTIVE' } }));
    await seen(async () => void refusalOf(await write(), 'TARGET_INACTIVE'));
    expect(await limitsOf('quay-3')).toEqual(before);
    await provision(harbour({ 'quay-3': { connectorStatus: 'INACTIVE' } }));
    await seen(async () => expect((await write()).status).toBe(200));
    const locked = await service.call(
      'POST',
      '/chargers/quay-3-a/connectors/1/schedules',
      profileAt(clock.nowMs()),
    );
    refusalOf(locked, 'TARGET_INACTIVE');
  });

  it('that changes keeps its profiles, its readings, its clusters and its next boundary', async () => {
    const request = { name: 'Stays', locationIds: ['quay-1', 'quay-2'], limitKw: 20 };
    const { clusterId } = bodyOf(await service.call('POST', '/clusters', request), clusterSchema, 201);
    const charger = await connectCharger(service.mqttUrl, 'quay-1');
    await charger.meter('2', { powerW: 5500 });
    const live = async () =>
      bodyOf(await service.call('GET', `/clusters/${clusterId}`), clusterDetailSchema).liveStatus;
    await eventually(async () => expect((await live()).actualTotalKw).toBe(5.5));
    const span = { startsInMs: 60_000, endsInMs: 120_000, limitKw: 7 };
    await service.call('POST', '/locations/quay-1/schedules', profileAt(clock.nowMs(), span));
    await provision(harbour({ 'quay-1': { permanentLimitKw: 47 } }));
    await seen(async () => expect(await limitsOf('quay-1')).toMatchObject({ effectiveLimitKw: 47 }));
    expect(await live()).toMatchObject({ actualTotalKw: 5.5, sumLocationLimits: 47 + 33 });
    await charger.meter('2', { powerW: 5600 });
    await eventually(async () => expect((await live()).actualTotalKw).toBe(5.6));
    clock.advance(60_000);
    expect(await limitsOf('quay-1')).toMatchObject({ effectiveLimitKw: 7, profiles: [{ status: 'ACTIVE' }] });
    await charger.stop();
  });
});

describe('a connector', () => {
  it('that is provisioned at a connected charger makes it send its state again', async () => {
    const charger = await connectCharger(service.mqttUrl, 'quay-1');
    await charger.client.subscribeAsync(charger.topic('sync'), { qos: 1 });
    const asked: string[] = [];
    charger.client.on('message', (topic) => asked.push(topic));
    const quay = site('quay-1');
    const [first] = quay.chargers;
    const [connector] = first?.connectors ?? [];
    if (first === undefined || connector === undefined) throw new Error('a site has a charger');
    const third = { ...connector, connectorId: '3' as ConnectorId };
    const chargers = [{ ...first, connectors: [...first.connectors, third] }];
    await provision(tenantWith(HARBOUR, [{ ...quay, chargers }, site('quay-2'), site('quay-3')]));
    await seen(async () => expect(asked).toEqual([charger.topic('sync')]));
    await charger.stop();
  });
});

describe('a credential', () => {
  it('of a tenant that was just provisioned opens', async () => {
    const before = await service.call('GET', '/clusters', undefined, NEWCOMER);
    refusalOf(before, 'UNAUTHORIZED');
    await provision(tenantWith(NEWCOMER, [site('quay-1', { permanentLimitKw: 5 })]));
    await seen(async () => {
      expect(await limitsOf('quay-1', NEWCOMER)).toMatchObject({ permanentLimitKw: 5 });
    });
    const own = await service.call('POST', '/organizations/schedules', profileAt(clock.nowMs()), NEWCOMER);
    expect(own.status).toBe(200);
  });

  it('of a client that was disabled gives no token, and those it gave open nothing', async () => {
    const { access_token } = bodyOf(await tokenOf(NEWCOMER), tokenResponseSchema);
    const headers = { authorization: `Bearer ${access_token}` };
    expect((await service.send('GET', '/clusters', { headers })).status).toBe(200);
    await administration.endCredential('client', `client-${NEWCOMER.slice(0, 8)}`, clock.nowMs());
    await seen(
      async () => void refusalOf(await service.send('GET', '/clusters', { headers }), 'UNAUTHORIZED'),
    );
    expect((await tokenOf(NEWCOMER)).status).toBe(401);
  });

  it('that was revoked opens nothing, and no provisioning brings it back', async () => {
    const read = () => service.call('GET', '/clusters', undefined, NEWCOMER);
    expect((await read()).status).toBe(200);
    await administration.endCredential('apiKey', NEWCOMER.slice(0, 8), clock.nowMs());
    await seen(async () => void refusalOf(await read(), 'UNAUTHORIZED'));
    await provision(tenantWith(NEWCOMER, [site('quay-1', { permanentLimitKw: 6 })]));
    await provision(harbour({ 'quay-3': { permanentLimitKw: 29 } }));
    await seen(async () => expect(await limitsOf('quay-3')).toMatchObject({ permanentLimitKw: 29 }));
    refusalOf(await read(), 'UNAUTHORIZED');
  });

  it('of a charger that gets another password loses its connection', async () => {
    const charger = await connectCharger(service.mqttUrl, 'quay-1');
    const cut = new Promise<void>((resolve) => charger.client.once('close', () => resolve()));
    const quay = site('quay-1', { permanentLimitKw: 47 });
    const locations = [
      { ...quay, chargers: quay.chargers.map((c) => ({ ...c, mqttSecretHash: hashSecret('new') })) },
    ];
    await provision({ ...harbour(), locations });
    clock.advance(1000);
    await cut;
    await expect(connectCharger(service.mqttUrl, 'quay-1')).rejects.toThrow();
  });
});

describe('a dry run', () => {
  it('changes nothing', async () => {
    const before = await limitsOf('quay-2');
    const changed = harbour({ 'quay-2': { permanentLimitKw: 1 } });
    await administration.provision(changed, { dryRun: true, atMs: clock.nowMs() });
    await provision(harbour({}, site('after')));
    await seen(async () => expect(await limitsOf('after')).toMatchObject({ permanentLimitKw: 50 }));
    expect(await limitsOf('quay-2')).toEqual(before);
  });
});
