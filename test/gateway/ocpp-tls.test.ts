// Security profiles 2 and 3 of OCPP: TLS to the gateway, and certificates in place of passwords.
import { readFileSync } from 'node:fs';
import { afterEach, describe, expect, it } from 'vitest';
import { CertificateFolder, type Identity, WITH_OPENSSL } from '../certificates.js';
import { eventually } from '../eventually.js';
import { CHARGER, type OcppSite, runOcppSite } from './ocpp-site.js';
import { NOT_AUTHORIZED, startRefusingBroker } from './refusing-broker.js';

let running: OcppSite | undefined;
let folder: CertificateFolder | undefined;

afterEach(async () => {
  await running?.stop();
  folder?.remove();
});

function pems({ cert, key }: Identity) {
  return { cert: readFileSync(cert, 'utf8'), key: readFileSync(key, 'utf8') };
}

async function secured(asksForCertificates: boolean, options: Parameters<typeof runOcppSite>[0] = {}) {
  folder = new CertificateFolder();
  const authority = folder.authority('site');
  const ca = readFileSync(authority.cert, 'utf8');
  const tls = { ...pems(folder.issue(authority)), ...(asksForCertificates ? { ca } : {}) };
  running = await runOcppSite({ tls, ...options });
  return { ...running, folder, authority, ca };
}

describe('A gateway with a certificate', WITH_OPENSSL, () => {
  it('accepts chargers over TLS with their passwords', async () => {
    const { client, ca, ocppUrl } = await secured(false);
    expect(ocppUrl).toMatch(/^wss:/);
    await expect(client({ wsOpts: { ca } }).connect()).resolves.toBeDefined();
    await expect(
      client({ wsOpts: { ca }, password: 'not this one, surely' }).connect(),
    ).rejects.toMatchObject({
      code: 401,
    });
  });

  it('accepts a charger by its certificate, and publishes for it with the login of a gateway', async () => {
    const { client, ca, folder, authority, gateway, live } = await secured(true);
    const own = pems(folder.issue(authority, { cn: CHARGER, names: '' }));
    const charger = client({ wsOpts: { ca, ...own }, password: null });
    await charger.connect();
    await charger.call('StatusNotification', { connectorId: 1, errorCode: 'NoError', status: 'Available' });
    await eventually(() => expect(gateway.bridges[0]?.isOpen).toBe(true));
    await eventually(async () =>
      expect(await live()).toMatchObject({ link: 'online', chargingStatus: 'Available' }),
    );
    await charger.close();
    await eventually(async () => expect(await live()).toMatchObject({ link: 'offline' }));
  });

  it('refuses a certificate of another authority, one for another charger, and a missing one', async () => {
    const { client, ca, folder, authority, count } = await secured(true);
    const foreign = pems(folder.issue(folder.authority('elsewhere'), { cn: CHARGER }));
    await expect(client({ wsOpts: { ca, ...foreign } }).connect()).rejects.toThrow();
    await expect(client({ wsOpts: { ca } }).connect()).rejects.toThrow();
    const other = pems(folder.issue(authority, { cn: 'quay-z', names: '' }));
    await expect(client({ wsOpts: { ca, ...other } }).connect()).rejects.toMatchObject({ code: 401 });
    expect(await count('headroom_gateway_refusals_total', { reason: 'certificate' })).toBe(1);
    expect(await count('headroom_gateway_refusals_total', { reason: 'tls' })).toBeGreaterThan(0);
  });

  it('logs in again for a charger with a certificate after a refused login is accepted again', async () => {
    const broker = await startRefusingBroker();
    const { client, ca, folder, authority } = await secured(true, { mqttUrl: broker.url });
    try {
      const own = pems(folder.issue(authority, { cn: CHARGER, names: '' }));
      const first = client({ wsOpts: { ca, ...own }, password: null });
      const isCut = new Promise((resolve) => first.once('close', resolve));
      await first.connect();
      broker.refuseWith(NOT_AUTHORIZED);
      broker.cutAll();
      await isCut;
      const again = client({ wsOpts: { ca, ...own }, password: null });
      await expect(again.connect()).rejects.toMatchObject({ code: 401 });
      broker.refuseWith(undefined);
      const last = client({ wsOpts: { ca, ...own }, password: null });
      await last.connect();
      expect(broker.attemptsOf('bench')).toBe(4);
    } finally {
      await running?.gateway.stop();
      await broker.close();
    }
  });
});
