// A running gateway receives another state of the provisioning file: its service, broker, sockets and chargers are real.
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import type { TenantUuid } from '../../machines/values/ids.js';
import type { ProvisioningFile } from '../../src/provisioning/provisioning-schema.js';
import { CertificateFolder, WITH_OPENSSL } from '../certificates.js';
import { eventually } from '../eventually.js';
import { RIVAL, silentLog } from '../service/running-service.js';
import { CHARGER, fileOf, type OcppSite, runOcppSite } from './ocpp-site.js';
import { askUpgrade } from './raw-upgrade.js';

const NEIGHBOUR = 'quay-b';
const BOTH = [CHARGER, NEIGHBOUR];
const GOING_AWAY = 1001;
const POLICY_VIOLATION = 1008;

let running: OcppSite | undefined;
const cleanUps: (() => unknown)[] = [];

afterEach(async () => {
  await running?.stop();
  running = undefined;
  for (const cleanUp of cleanUps.splice(0)) await cleanUp();
});

async function site(...options: Parameters<typeof runOcppSite>): Promise<OcppSite> {
  running = await runOcppSite(...options);
  return running;
}

/** Passes connections to the service, and counts them. */
async function countingPath() {
  let count = 0;
  let port = 0;
  const server = createServer((from) => {
    count++;
    const to = connect(port, '127.0.0.1');
    for (const socket of [from, to]) socket.on('error', () => {});
    from.pipe(to).pipe(from);
    from.once('close', () => to.destroy());
    to.once('close', () => from.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  cleanUps.push(() => server.close());
  return {
    url: `mqtt://127.0.0.1:${(server.address() as AddressInfo).port}`,
    leadsTo({ service }: OcppSite) {
      port = Number(new URL(service.mqttUrl).port);
    },
    count: () => count,
  };
}

function bridgeOf({ gateway }: OcppSite, controllerUuid: string) {
  return gateway.bridges.find(({ address }) => address.controllerUuid === controllerUuid);
}

async function openClient(all: OcppSite, options: Parameters<OcppSite['client']>[0] = {}) {
  const client = all.client(options);
  const closed = once(client, 'close').then(([{ code, reason }]) => ({ code, reason }));
  await client.connect();
  return { client, closed };
}

describe('A charger that the file no longer has', () => {
  it('is disconnected and refused; another keeps its socket, its login and its lease', async () => {
    const path = await countingPath();
    const lines: { msg: string; controllerUuid?: string }[] = [];
    const info = (fields: object, msg: string) => void lines.push({ ...fields, msg });
    const all = await site({ mqttUrl: path.url, log: { ...silentLog, info } }, 1, BOTH);
    path.leadsTo(all);
    const neighbour = all.charger({ controllerUuid: NEIGHBOUR });
    await eventually(async () => expect(await all.live(NEIGHBOUR)).toMatchObject({ reason: 'fairShare' }));
    const { closed } = await openClient(all);
    await eventually(() => expect(bridgeOf(all, CHARGER)?.isOpen).toBe(true));
    const before = { bridge: bridgeOf(all, NEIGHBOUR), logins: path.count() };

    all.gateway.provision(fileOf(['1'], [NEIGHBOUR]));

    expect(await closed).toEqual({
      code: POLICY_VIOLATION,
      reason: 'the provisioning file no longer has this charger',
    });
    await expect(all.client().connect()).rejects.toMatchObject({ code: 404 });
    await eventually(async () => expect(await all.count('headroom_gateway_logins')).toBe(1));
    await eventually(async () => expect(await all.live(CHARGER)).toMatchObject({ link: 'offline' }));
    expect(lines).toContainEqual(expect.objectContaining({ added: 0, removed: 1, changed: 0 }));
    expect(await all.count('headroom_gateway_refusals_total', { reason: 'removed' })).toBe(1);
    expect(await all.count('headroom_gateway_provisioned_chargers')).toBe(1);

    // Its lease is renewed by the same connections.
    await all.service.call('PUT', '/locations/quay/limit', { limitKw: 60 });
    await eventually(() => expect(neighbour.limitA).toBe(32));
    const connections = lines.filter(
      ({ msg, controllerUuid }) => msg === 'charger connected' && controllerUuid === NEIGHBOUR,
    );
    expect(connections).toHaveLength(1);
    expect(path.count()).toBe(before.logins);
    expect(bridgeOf(all, NEIGHBOUR)).toBe(before.bridge);
    expect(await all.count('headroom_gateway_leases_lost_total')).toBe(0);
  });

  it('is cut off if it does not answer the close, and its login has ended before', async () => {
    const all = await site();
    const mute = askUpgrade(all.ocppUrl);
    await eventually(() => expect(mute.status()).toBe(101));
    await eventually(() => expect(bridgeOf(all, CHARGER)?.isOpen).toBe(true));
    all.gateway.provision(fileOf(['1'], [NEIGHBOUR]));
    await eventually(async () => expect(await all.count('headroom_gateway_logins')).toBe(0));
    await eventually(() => expect(mute.isClosed()).toBe(true));
  });

  it('is let in again once the file has it again, with the lease that it proved before', async () => {
    const all = await site({}, 1, BOTH);
    const charger = all.charger();
    await eventually(() => expect(bridgeOf(all, CHARGER)?.provenCount).toBe(1));
    all.gateway.provision(fileOf(['1'], [NEIGHBOUR]));
    await eventually(() => expect(charger.isConnected).toBe(false));
    all.gateway.provision(fileOf(['1'], BOTH));
    await eventually(() => expect(bridgeOf(all, CHARGER)?.isOpen).toBe(true));
    await eventually(async () => expect(await all.live()).toMatchObject({ reason: 'fairShare' }));
  });
});

describe('A charger that the file adds', () => {
  it('is refused before, and let in from then on', async () => {
    const all = await site({ file: fileOf(['1'], [NEIGHBOUR]) }, 1, BOTH);
    await expect(all.client().connect()).rejects.toMatchObject({ code: 404 });
    all.gateway.provision(fileOf(['1'], BOTH));
    await expect(all.client().connect()).resolves.toBeDefined();
  });
});

describe('A charger that the file changes', () => {
  it('is disconnected, and returns with its new properties and a lease', async () => {
    const all = await site({}, 1, BOTH);
    const charger = all.charger();
    await eventually(() => expect(bridgeOf(all, CHARGER)?.provenCount).toBe(1));
    const { closed } = await openClient(all, { identity: NEIGHBOUR });
    all.gateway.provision(fileOf(['1'], BOTH, { voltageV: 240 }));
    expect(await closed).toEqual({
      code: GOING_AWAY,
      reason: 'the provisioning file has changed this charger',
    });
    expect(bridgeOf(all, CHARGER)?.connectors).toMatchObject([{ voltageV: 240 }]);
    await eventually(() => expect(bridgeOf(all, CHARGER)?.provenCount).toBe(1));
    expect(charger.isConnected).toBe(true);
    expect(await all.count('headroom_gateway_refusals_total', { reason: 'changed' })).toBe(2);
  });

  it('stays connected if the gateway does not use what changed', async () => {
    const all = await site();
    const { client } = await openClient(all);
    const { tenants } = fileOf(['1']);
    const renamed: ProvisioningFile = {
      tenants: tenants.map((tenant) => ({
        ...tenant,
        locations: tenant.locations.map((location) => ({
          ...location,
          name: 'Another name',
          permanentLimitKw: 5,
          chargers: location.chargers.map((charger) => ({
            ...charger,
            mqttPassword: 'a password of tomorrow',
          })),
        })),
      })),
    };
    all.gateway.provision(renamed);
    await expect(client.call('Heartbeat', {})).resolves.toHaveProperty('currentTime');
    expect(await all.count('headroom_gateway_refusals_total')).toBe(0);
  });
});

describe('A charger that moves to another tenant', () => {
  it('is disconnected from the first, and its path without a tenant leads to the second', async () => {
    const all = await site();
    const { closed } = await openClient(all);
    const { tenants } = fileOf(['1']);
    const moved = tenants.map((tenant) => ({ ...tenant, tenantUuid: RIVAL as TenantUuid }));
    all.gateway.provision({ tenants: moved });
    expect(await closed).toMatchObject({ code: POLICY_VIOLATION });
    // The service does not know it there.
    await expect(all.client().connect()).rejects.toMatchObject({ code: 401 });
  });

  it('keeps its connection while both tenants have its name, and then needs a path with its tenant', async () => {
    const warnings: object[] = [];
    const log = { ...silentLog, warn: (fields: object) => void warnings.push(fields) };
    const all = await site({ log });
    const { client } = await openClient(all);
    const { tenants } = fileOf(['1']);
    const moved = tenants.map((tenant) => ({ ...tenant, tenantUuid: RIVAL as TenantUuid }));
    all.gateway.provision({ tenants: [...tenants, ...moved] });
    expect(warnings).toContainEqual({ count: 1, controllers: [CHARGER] });
    await expect(client.call('Heartbeat', {})).resolves.toHaveProperty('currentTime');
    await expect(all.client().connect()).rejects.toMatchObject({ code: 404 });
    const tenantUuid = tenants[0]?.tenantUuid;
    const endpoint = `${all.ocppUrl}/${tenantUuid}`;
    await expect(all.client({ endpoint }).connect()).resolves.toBeDefined();
  });
});

describe('A charger with a certificate', WITH_OPENSSL, () => {
  it('is disconnected if the file replaces the gateway whose login it uses, and that login ends', async () => {
    const folder = new CertificateFolder();
    cleanUps.push(() => folder.remove());
    const authority = folder.authority('site');
    const [server, own] = [folder.issue(authority), folder.issue(authority, { cn: CHARGER, names: '' })];
    const read = (path: string) => readFileSync(path, 'utf8');
    const ca = read(authority.cert);
    const all = await site({ tls: { cert: read(server.cert), key: read(server.key), ca } }, 1, BOTH);
    const shown = { password: null, wsOpts: { ca, cert: read(own.cert), key: read(own.key) } };
    const { closed } = await openClient(all, shown);
    await eventually(() => expect(bridgeOf(all, CHARGER)?.isOpen).toBe(true));
    all.gateway.provision(fileOf(['1'], BOTH, { gatewayId: 'another' }));
    expect(await closed).toMatchObject({ code: GOING_AWAY });
    await eventually(async () => expect(await all.count('headroom_gateway_logins')).toBe(0));
    await eventually(async () => expect(await all.live()).toMatchObject({ link: 'offline' }));
    // The service has no such gateway.
    await expect(all.client(shown).connect()).rejects.toMatchObject({ code: 401 });
  });
});
