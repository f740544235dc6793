// Changes by the command line, on every engine, and their effect on a running service.

import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { ClusterId, ControllerUuid, LocationId } from '../../../machines/values/ids.js';
import { readEvents } from '../../../src/features/events/rows.js';
import { readPermanentLimits } from '../../../src/features/profiles/rows.js';
import { createAdministration } from '../../../src/outbound/knex/administration.js';
import { migrate } from '../../../src/outbound/knex/database.js';
import {
  type Administration,
  AdministrationError,
  type ProvisionedTenant,
} from '../../../src/ports/administration.js';
import type { Store } from '../../../src/ports/store.js';
import type { DatabaseServer } from './database-server.js';
import {
  CRANE,
  everything,
  HARBOUR,
  HARBOUR_TENANT,
  location,
  openStore,
  PIER,
  put,
  QUAY,
  QUAY_TARGET,
  RIVAL,
  RIVAL_TENANT,
  tenant,
} from './harbour.js';

const KEY = { id: 'demo0001', secretHash: 'k1', scopes: ['locations:read'], expiresAtMs: 99 } as const;
const CLIENT = { id: 'backend', secretHash: 'c1', scopes: ['org:write'] } as const;
const PROVISIONED = {
  tenantUuid: HARBOUR,
  expiresAtMs: null,
  endedAtMs: null,
  name: null,
  createdAtMs: 1,
  createdBy: null,
  endedBy: null,
  lastUsedAtMs: null,
};
const NEW_KEY = { ...KEY, kind: 'apiKey', tenantUuid: HARBOUR } as const;
const NEW_CLIENT = { ...CLIENT, kind: 'client', tenantUuid: HARBOUR, expiresAtMs: null } as const;
const GATEWAY = { gatewayId: 'gw', mqttSecretHash: 'g1', controllers: [CRANE] } as const;
const FULL: ProvisionedTenant = {
  ...HARBOUR_TENANT,
  apiKeys: [KEY],
  oauthClients: [CLIENT],
  gateways: [GATEWAY],
};

/** Tests of the contract; `server` may be called only in hooks and tests, once it has started. */
export function describeAdministration(server: () => DatabaseServer): void {
  let administration: Administration;
  let store: Store;

  let emptyUrl: string;
  beforeAll(async () => {
    emptyUrl = await server().createDatabase();
    await migrate(emptyUrl);
  });
  beforeEach(async () => {
    const databaseUrl = await server().copyDatabase(emptyUrl);
    administration = await createAdministration({ databaseUrl });
    ({ store } = await openStore(databaseUrl));
  });
  afterEach(async () => {
    await administration.close();
    await store.close();
  });

  /** The actions as `action kind id`, without unchanged objects. */
  async function provision(file: ProvisionedTenant, { dryRun = false, atMs = 1 } = {}): Promise<string[]> {
    const actions = await administration.provision(file, { dryRun, atMs });
    return actions
      .filter(({ action }) => action !== 'unchanged')
      .map(({ action, kind, id }) => `${action} ${kind} ${id}`);
  }

  async function permanentLimitKw(): Promise<number | undefined> {
    const { locations } = await store.loadTenant(HARBOUR);
    return locations.find(({ locationId }) => locationId === QUAY)?.permanentLimitKw;
  }

  const quayWith = (over: object) => tenant(HARBOUR, [location(QUAY, [CRANE], over)]);

  describe('provisioning', () => {
    it('creates everything once and changes nothing the second time', async () => {
      expect(await provision(FULL)).toEqual([
        `created tenant ${HARBOUR}`,
        'created api-key demo0001',
        'created client backend',
        'created location quay-1',
        'created charger crane',
        'created connector crane/1',
        'created connector crane/2',
        'created location pier',
        'created gateway gw',
      ]);
      const before = await everything(store);
      const { revision } = await store.revisionSince(undefined);
      expect(await provision(FULL, { atMs: 2 })).toEqual([]);
      expect(await everything(store)).toEqual(before);
      expect(await store.revisionSince(undefined)).toMatchObject({ revision });
    });

    it('logs each change in its commit, once, beside the writes of a running service', async () => {
      const logged = async () => {
        const filter = { afterId: 0, types: undefined, locationId: undefined, count: 1_000 };
        const { events } = await store.read((trx) => readEvents(trx, HARBOUR, filter));
        return events.map(({ type, locationId, data }) => [type, data.credential ?? locationId]);
      };
      await provision(FULL, { dryRun: true });
      expect(await logged()).toEqual([]);
      await provision(FULL);
      await provision(FULL);
      const stolen = provision({
        ...quayWith({ name: 'No' }),
        apiKeys: [{ ...KEY, id: 'k' }],
        gateways: [{ ...GATEWAY, gatewayId: CRANE }],
      });
      await expect(stolen).rejects.toBeInstanceOf(AdministrationError);
      const first = [
        ['credential.issued', 'apiKey:demo0001'],
        ['credential.issued', 'client:backend'],
        ['provisioning.changed', null],
        ['provisioning.changed', QUAY],
        ['provisioning.changed', PIER],
      ];
      expect(await logged()).toEqual(first);
      const writes = Array.from({ length: 40 }, (_, nth) =>
        store.append(HARBOUR, [
          { kind: 'permanentLimit.set', locationId: QUAY, limitKw: nth + 1, atMs: nth },
          { kind: 'cluster.delete', clusterId: `c${nth}` as ClusterId, atMs: nth },
        ]),
      );
      for (const name of ['a', 'b', 'c']) await provision(quayWith({ name }));
      await Promise.all(writes);
      const later = (await logged()).slice(first.length);
      expect(later.filter(([type]) => type === 'provisioning.changed')).toHaveLength(3);
      expect(later.filter(([type]) => type === 'cluster.deleted')).toHaveLength(40);
    });

    it('stores the credentials for authentication', async () => {
      await provision(FULL);
      expect(await store.loadCredentials()).toEqual({
        tenants: [{ tenantUuid: HARBOUR, name: 'A tenant', features: ['energy-management'] }],
        credentials: [
          { ...PROVISIONED, kind: 'apiKey', ...KEY },
          { ...PROVISIONED, kind: 'client', ...CLIENT },
        ],
        mqttLogins: [
          {
            tenantUuid: HARBOUR,
            clientId: CRANE,
            secretHash: 'hash of crane',
            controllers: [{ locationId: QUAY, controllerUuid: CRANE }],
          },
          {
            tenantUuid: HARBOUR,
            clientId: 'gw',
            secretHash: 'g1',
            controllers: [{ locationId: QUAY, controllerUuid: CRANE }],
          },
        ],
      });
      expect(await administration.mqttLogins(HARBOUR)).toHaveLength(2);
      expect(await administration.mqttLogins(RIVAL)).toEqual([]);
    });

    it('keeps the last stored password seals of each tenant', async () => {
      await provision(FULL);
      await provision(RIVAL_TENANT);
      const seals = [{ owners: ['login/crane', 'login/gw'], hash: 'h' }];
      await administration.keepPasswordSeals(HARBOUR, [{ owners: ['login/crane'], hash: 'before' }]);
      await administration.keepPasswordSeals(HARBOUR, seals);
      expect(await administration.passwordSeals(HARBOUR)).toEqual(seals);
      expect(await administration.passwordSeals(RIVAL)).toEqual([]);
    });

    it('reports the same in a dry run and writes nothing', async () => {
      const before = await everything(store);
      const said = await provision(FULL, { dryRun: true });
      expect(await everything(store)).toEqual(before);
      expect(await store.revisionSince(undefined)).toMatchObject({ revision: 0 });
      expect(await provision(FULL)).toEqual(said);
    });

    it('updates changed objects and deletes nothing that the file no longer names', async () => {
      await provision(FULL);
      const changed = tenant(HARBOUR, [location(QUAY, [CRANE], { name: 'New', gridLimitKw: null })], {
        apiKeys: [{ ...KEY, expiresAtMs: null }],
      });
      expect(await provision(changed)).toEqual(['updated api-key demo0001', 'updated location quay-1']);
      const state = await store.loadTenant(HARBOUR);
      expect(state.locations.map(({ name, gridLimitKw }) => [name, gridLimitKw])).toEqual([
        ['Location pier', 80],
        ['New', null],
      ]);
      expect(await administration.listCredentials('client')).toHaveLength(1);
    });

    it('stores the fuses of a location, the feeders and leases of its connectors, and changes nothing the second time', async () => {
      const quay = location(QUAY, [CRANE]);
      const [crane] = quay.chargers;
      if (crane === undefined) throw new Error('no crane');
      const fused = tenant(HARBOUR, [
        {
          ...quay,
          connection: { currentA: [63, 63, 50], voltageV: 230 },
          feeders: [{ name: 'hall', currentA: [32, 32, 32], parent: null }],
          chargers: [
            {
              ...crane,
              feeder: 'hall',
              timing: { heartbeatMs: 30_000, ttlMs: 180_000 },
              connectors: crane.connectors.map((each) => ({ ...each, rotation: 'STR' as const })),
            },
          ],
        },
      ]);
      await provision(fused);
      expect(await provision(fused)).toEqual([]);
      const [stored] = (await store.loadTenant(HARBOUR)).locations;
      expect(stored).toMatchObject({
        connection: { currentA: [63, 63, 50], voltageV: 230 },
        feeders: [{ name: 'hall', currentA: [32, 32, 32], parent: null }],
      });
      const timing = { heartbeatMs: 30_000, ttlMs: 180_000 };
      expect(stored?.connectors).toMatchObject([
        { rotation: 'STR', feeder: 'hall', timing },
        { rotation: 'STR', feeder: 'hall', timing },
      ]);
      expect(await provision(tenant(HARBOUR, [quay]))).toContain('updated location quay-1');
      const [without] = (await store.loadTenant(HARBOUR)).locations;
      expect(without).toMatchObject({
        connection: null,
        feeders: [],
        connectors: [{ timing: null }, { timing: null }],
      });
    });

    it('stores the meter of a location with its login, changes nothing the second time, and removes it once unnamed', async () => {
      const meter = {
        meterUuid: 'main',
        mqttSecretHash: 'm1',
        covers: 'connection' as const,
        maxBuildingKw: 60.5,
        reserveKw: [2, 12] as const,
        pvRaisesHeadroom: true,
      };
      const [first, ...rest] = HARBOUR_TENANT.locations;
      if (first === undefined) throw new Error('the harbour has locations');
      const withMeter = { ...HARBOUR_TENANT, locations: [{ ...first, siteMeter: meter }, ...rest] };
      expect(await provision(withMeter)).toContain('created siteMeter main');
      expect(await provision(withMeter)).toEqual([]);
      const { mqttSecretHash: _, ...kept } = meter;
      const { locations } = await store.loadTenant(HARBOUR);
      expect(locations.find(({ locationId }) => locationId === first.locationId)?.siteMeter).toEqual(kept);
      const logins = await administration.mqttLogins(HARBOUR);
      expect(logins.find(({ clientId }) => clientId === 'main')).toMatchObject({
        secretHash: 'm1',
        controllers: [],
        siteMeterOf: first.locationId,
      });
      expect(await provision(HARBOUR_TENANT)).toEqual(['removed siteMeter main']);
    });

    it('stores the reader of a location, and remembers an opt-in to Home Assistant after its end', async () => {
      const [first, ...rest] = HARBOUR_TENANT.locations;
      if (first === undefined) throw new Error('the harbour has locations');
      const isOn = async () => {
        const { locations } = await store.loadTenant(HARBOUR);
        return locations.find(({ locationId }) => locationId === first.locationId)?.homeAssistant;
      };
      expect(await isOn()).toBeUndefined();
      const reader = { readerUuid: 'screen', mqttSecretHash: 'r1' };
      const read = { ...first, homeAssistant: true, reader };
      expect(await provision({ ...HARBOUR_TENANT, locations: [read, ...rest] })).toContain(
        'created reader screen',
      );
      expect(await provision({ ...HARBOUR_TENANT, locations: [read, ...rest] })).toEqual([]);
      expect(await isOn()).toBe(true);
      const logins = await administration.mqttLogins(HARBOUR);
      expect(logins.find(({ clientId }) => clientId === 'screen')).toMatchObject({
        secretHash: 'r1',
        controllers: [],
        readerOf: first.locationId,
      });
      expect(await provision(HARBOUR_TENANT)).toContain('removed reader screen');
      expect(await isOn()).toBe(false);
    });

    it('stores the DC values and pause rules of connectors, and changes nothing the second time', async () => {
      const quay = location(QUAY, [CRANE]);
      const dc = { maxPowerKw: 150, minPowerKw: 5, efficiency: 0.94 };
      const chargers = quay.chargers.map((charger) => ({
        ...charger,
        connectors: charger.connectors.map((each) => ({
          ...each,
          dc,
          neverPause: true,
          operatorMayPause: true,
        })),
      }));
      await provision(tenant(HARBOUR, [{ ...quay, chargers }]));
      expect(await provision(tenant(HARBOUR, [{ ...quay, chargers }]))).toEqual([]);
      const connectors = async () => (await store.loadTenant(HARBOUR)).locations[0]?.connectors ?? [];
      expect((await connectors()).map((each) => each.dc)).toEqual([dc, dc]);
      expect((await connectors()).map((each) => each.neverPause)).toEqual([true, true]);
      expect((await connectors()).map((each) => each.operatorMayPause)).toEqual([true, true]);
      await provision(tenant(HARBOUR, [quay]));
      expect((await connectors()).map((each) => each.dc)).toEqual([null, null]);
    });

    it('keeps a password that the file leaves out', async () => {
      await provision(FULL);
      const silent = location(QUAY, [CRANE]);
      const [charger] = silent.chargers;
      if (charger === undefined) throw new Error('the quay has a charger');
      const file = tenant(HARBOUR, [{ ...silent, chargers: [{ ...charger, mqttSecretHash: undefined }] }], {
        gateways: [{ ...GATEWAY, mqttSecretHash: undefined }],
      });
      expect(await provision(file)).toEqual([]);
      expect((await administration.mqttLogins(HARBOUR)).map(({ secretHash }) => secretHash)).toEqual([
        'hash of crane',
        'g1',
      ]);
    });

    it('gives no login to a charger without a password', async () => {
      const silent = location(QUAY, [CRANE]);
      const chargers = silent.chargers.map((charger) => ({ ...charger, mqttSecretHash: undefined }));
      await provision(tenant(HARBOUR, [{ ...silent, chargers }]));
      expect((await store.loadCredentials()).mqttLogins).toEqual([]);
    });

    it('removes the right of a gateway to send for a charger that the file no longer lists', async () => {
      await provision(FULL);
      expect(await provision({ ...FULL, gateways: [{ ...GATEWAY, controllers: [] }] })).toEqual([
        'updated gateway gw',
      ]);
      const [, gateway] = await administration.mqttLogins(HARBOUR);
      expect(gateway).toMatchObject({ clientId: 'gw', controllers: [] });
    });

    it('keeps a permanent limit set over REST until the value in the file changes', async () => {
      await provision(quayWith({ permanentLimitKw: 50 }));
      await store.append(HARBOUR, [{ kind: 'permanentLimit.set', locationId: QUAY, limitKw: 33.3, atMs: 2 }]);
      expect(await provision(quayWith({ permanentLimitKw: 50 }), { atMs: 3 })).toEqual([]);
      expect(await permanentLimitKw()).toBe(33.3);
      expect(await provision(quayWith({ permanentLimitKw: 50, name: 'New' }), { atMs: 4 })).toHaveLength(1);
      expect(await permanentLimitKw()).toBe(33.3);
      await provision(quayWith({ permanentLimitKw: 40 }), { atMs: 5 });
      expect(await permanentLimitKw()).toBe(40);
      expect(await store.read((trx) => readPermanentLimits(trx, HARBOUR, QUAY))).toEqual([
        { limitKw: 50, setAtMs: 1 },
        { limitKw: 33.3, setAtMs: 2 },
        { limitKw: 40, setAtMs: 5 },
      ]);
    });

    it('treats an equal limit of many digits as unchanged', async () => {
      const file = quayWith({ permanentLimitKw: 61.70650183763426, gridLimitKw: 0.911831943683099 });
      await provision(file);
      expect(await provision(file)).toEqual([]);
    });

    it('never restores a revoked key or a disabled client', async () => {
      await provision(FULL);
      await administration.endCredential('apiKey', KEY.id, 10);
      await administration.endCredential('client', CLIENT.id, 11);
      await provision({
        ...FULL,
        apiKeys: [{ ...KEY, secretHash: 'k2' }],
        oauthClients: [{ ...CLIENT, secretHash: 'c2' }],
      });
      expect(await administration.listCredentials('apiKey')).toMatchObject([
        { secretHash: 'k2', endedAtMs: 10 },
      ]);
      expect(await administration.listCredentials('client')).toMatchObject([
        { secretHash: 'c2', endedAtMs: 11 },
      ]);
    });

    it.each<[string, ProvisionedTenant]>([
      ['a key of another tenant', { ...RIVAL_TENANT, apiKeys: [{ ...KEY, secretHash: 'stolen' }] }],
      [
        'a client of another tenant',
        { ...RIVAL_TENANT, oauthClients: [{ ...CLIENT, secretHash: 'stolen' }] },
      ],
      ['a charger of another location', tenant(HARBOUR, [location(PIER, [CRANE])])],
      [
        'a gateway for a charger of nobody',
        { ...FULL, gateways: [{ ...GATEWAY, controllers: ['nobody' as ControllerUuid] }] },
      ],
      ['a gateway with the name of a charger', { ...FULL, gateways: [{ ...GATEWAY, gatewayId: CRANE }] }],
    ])('refuses %s and changes nothing', async (_, file) => {
      await provision(FULL);
      const before = await everything(store);
      await expect(provision(file)).rejects.toBeInstanceOf(AdministrationError);
      expect(await everything(store)).toEqual(before);
    });

    it('leaves another tenant with the same location and charger ids unchanged', async () => {
      await provision(FULL);
      await provision(RIVAL_TENANT);
      const { rival } = await everything(store);
      await provision({ ...quayWith({ name: 'New', permanentLimitKw: 1, status: 'INACTIVE' }), name: 'New' });
      expect((await everything(store)).rival).toEqual(rival);
    });
  });

  describe('The administration of tenants, keys and clients', () => {
    it('lists tenants with their numbers of locations and connectors', async () => {
      await provision(FULL);
      await provision(tenant(RIVAL, []));
      expect(await administration.listTenants()).toMatchObject([
        { tenantUuid: HARBOUR, locations: 2, connectors: 2 },
        { tenantUuid: RIVAL, locations: 0, connectors: 0 },
      ]);
    });

    it('switches a feature off and on, for the named tenant only', async () => {
      await provision(FULL);
      await provision(RIVAL_TENANT);
      const features = async () => (await store.loadCredentials()).tenants.map((each) => each.features);
      await administration.setFeature(HARBOUR, 'energy-management', false, 5);
      expect(await features()).toEqual([[], ['energy-management']]);
      await administration.setFeature(HARBOUR, 'energy-management', true, 5);
      await administration.setFeature(HARBOUR, 'energy-management', true, 5);
      expect(await features()).toEqual([['energy-management'], ['energy-management']]);
    });

    it('adds keys and clients, lists them by tenant and ends them once', async () => {
      await provision(tenant(HARBOUR, []));
      await provision(tenant(RIVAL, []));
      await administration.addCredential(NEW_KEY);
      await administration.addCredential({ ...NEW_CLIENT, tenantUuid: RIVAL });
      expect(await administration.listCredentials('apiKey', RIVAL)).toEqual([]);
      expect(await administration.listCredentials('client', HARBOUR)).toEqual([]);
      await administration.endCredential('apiKey', KEY.id, 10);
      await administration.endCredential('apiKey', KEY.id, 20);
      await administration.endCredential('client', CLIENT.id, 30);
      expect(await administration.listCredentials('apiKey', HARBOUR)).toMatchObject([
        { ...KEY, endedAtMs: 10 },
      ]);
      expect(await administration.listCredentials('client', RIVAL)).toMatchObject([
        { ...CLIENT, endedAtMs: 30 },
      ]);
    });

    it('refuses unknown tenants, keys and clients, and ids already taken', async () => {
      await provision(FULL);
      const refused = [
        () => administration.setFeature(RIVAL, 'energy-management', true, 5),
        () => administration.addCredential({ ...NEW_KEY, id: 'new00000', tenantUuid: RIVAL }),
        () => administration.addCredential(NEW_KEY),
        () => administration.addCredential(NEW_CLIENT),
        () => administration.endCredential('apiKey', 'nobody00', 1),
        () => administration.endCredential('client', 'nobody', 1),
      ];
      const before = await everything(store);
      for (const ask of refused) await expect(ask()).rejects.toBeInstanceOf(AdministrationError);
      expect(await everything(store)).toEqual(before);
    });
  });

  describe('The revision for a running service', () => {
    it('names the tenants whose sites changed since the given revision', async () => {
      await provision(FULL);
      await provision(RIVAL_TENANT);
      const { revision, tenants } = await store.revisionSince(undefined);
      expect(tenants).toEqual([]);
      expect(await store.revisionSince(revision)).toEqual({
        revision,
        tenants: [],
        credentialsChanged: false,
      });
      await provision(quayWith({ name: 'New' }));
      const after = await store.revisionSince(revision);
      expect(after).toMatchObject({ tenants: [HARBOUR], credentialsChanged: false });
      expect(after.revision).toBeGreaterThan(revision);
      expect(await store.revisionSince(0)).toMatchObject({ tenants: [HARBOUR, RIVAL] });
    });

    it('shows changes of credentials of every kind', async () => {
      await provision(FULL);
      const changes = [
        () => administration.setFeature(HARBOUR, 'energy-management', false, 5),
        () => administration.addCredential({ ...NEW_KEY, id: 'k2' }),
        () => administration.endCredential('apiKey', 'k2', 1),
        () => administration.addCredential({ ...NEW_CLIENT, id: 'c2' }),
        () => administration.endCredential('client', 'c2', 1),
        () => provision({ ...FULL, gateways: [{ ...GATEWAY, mqttSecretHash: 'g2' }] }),
      ];
      for (const change of changes) {
        const { revision } = await store.revisionSince(undefined);
        await change();
        expect(await store.revisionSince(revision)).toMatchObject({
          tenants: [],
          credentialsChanged: true,
        });
      }
    });

    it('shows changed sites and changed credentials after a new charger', async () => {
      await provision(quayWith({}));
      const { revision } = await store.revisionSince(undefined);
      await provision(tenant(HARBOUR, [location('new' as LocationId, ['new-charger'])]));
      expect(await store.revisionSince(revision)).toMatchObject({
        tenants: [HARBOUR],
        credentialsChanged: true,
      });
    });

    it('does not count writes of the service itself', async () => {
      await provision(FULL);
      const { revision } = await store.revisionSince(undefined);
      await store.append(HARBOUR, [
        put(QUAY_TARGET),
        { kind: 'permanentLimit.set', locationId: QUAY, limitKw: 3, atMs: 4 },
      ]);
      expect(await store.revisionSince(revision)).toEqual({
        revision,
        tenants: [],
        credentialsChanged: false,
      });
    });
  });
}
