// The embedded broker over TLS, with certificates made by openssl: accepted clients, and the effect of a new
// certificate.
import { once } from 'node:events';
import { copyFileSync, readFileSync } from 'node:fs';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import type { IClientOptions } from 'mqtt';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { CertificateFolder, type Identity, WITH_OPENSSL } from '../../certificates.js';
import {
  type BrokerFiles,
  type BrokerRig,
  closed,
  connectBytes,
  HARBOUR,
  nextMessage,
  startBroker,
  topicOf,
} from './broker-rig.js';

const read = (file: string) => readFileSync(file);

describe('The embedded broker over TLS', WITH_OPENSSL, () => {
  let folder: CertificateFolder;
  let authority: Identity;
  let server: Identity;
  let makers: Identity;
  let rig: BrokerRig;

  beforeAll(() => {
    folder = new CertificateFolder();
    authority = folder.authority('harbour');
    server = folder.issue(authority);
    makers = folder.authority('makers');
  });

  afterEach(() => rig.stop());
  afterAll(() => folder.remove());

  async function start(files: BrokerFiles = server, settings: Parameters<typeof startBroker>[0] = {}) {
    rig = await startBroker(settings, files);
  }

  function connect(name = 'q1-a', options: IClientOptions = {}) {
    return rig.connect(name, { ca: read(authority.cert), ...options });
  }

  /** Options with the certificate of `identity`. */
  function as({ cert, key }: Identity): IClientOptions {
    return { cert: read(cert), key: read(key) };
  }

  async function stillServes(options: IClientOptions = {}): Promise<void> {
    const client = await connect('q1-b', options);
    await client.publishAsync(topicOf('c/1/meter', 'q1-b'), 'served', { qos: 1 });
    await rig.heard('served');
    await client.endAsync();
  }

  /** A handshake without MQTT; rejects if it fails. */
  async function shakeHands(options: object = {}): Promise<TLSSocket> {
    const { port } = new URL(rig.url);
    const socket = connectTls({
      host: '127.0.0.1',
      port: Number(port),
      ca: read(authority.cert),
      ...options,
    });
    await once(socket, 'secureConnect');
    socket.on('error', () => {});
    return socket;
  }

  it('has an mqtts address, and carries messages both ways', async () => {
    await start();
    expect(rig.url).toMatch(/^mqtts:\/\/127\.0\.0\.1:\d+$/);
    const client = await connect();
    await client.subscribeAsync(topicOf('sync'), { qos: 1 });
    const heard = nextMessage(client);
    rig.bus.publish(topicOf('sync'), 'now', { qos: 1, retain: false });
    expect(await heard).toBe('now');
    await stillServes();
  });

  it('is refused by a client that does not trust its certificate authority', async () => {
    await start();
    await expect(connect('q1-a', { ca: read(makers.cert) })).rejects.toThrow(/unable to verify|self-signed/);
    await stillServes();
  });

  it('accepts TLS 1.2 and nothing older', async () => {
    await start();
    const socket = await shakeHands({ maxVersion: 'TLSv1.2' });
    expect(socket.getProtocol()).toBe('TLSv1.2');
    socket.destroy();
    const old = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' };
    await expect(shakeHands(old)).rejects.toThrow(/alert protocol version|ECONNRESET/);
    await rig.refused('tls');
  });

  it('closes the connection of a client that speaks plain MQTT', async () => {
    await start();
    const socket = await rig.socket();
    socket.resume();
    socket.write(connectBytes());
    await closed(socket);
    await rig.refused('tls');
    expect(rig.lines.map(({ message }) => message)).toEqual(['TLS handshake of an MQTT client failed']);
    await stillServes();
  });

  it('counts a silent connection, and closes it after the time limit of the handshake', async () => {
    await start(server, { mqttConnectTimeoutS: 0.3 });
    const silent = await rig.socket();
    await rig.connections(1);
    await closed(silent);
    await rig.connections(0);
    await rig.refused('tls');
  });

  it('closes a connection that stays silent after its handshake', async () => {
    await start(server, { mqttConnectTimeoutS: 0.3 });
    await closed(await shakeHands());
    await rig.connections(0);
  });

  it('keeps connections free for chargers while other clients open connections and stay silent', async () => {
    await start(server, { mqttPendingConnections: 3 });
    const charger = await connect('q1-a');
    const idle = await Promise.all(Array.from({ length: 10 }, () => rig.socket()));
    await Promise.all(idle.slice(0, 7).map(closed));
    expect(await rig.refusals('pending')).toBe(7);
    await stillServes();
    expect(charger.connected).toBe(true);
  });

  it('stops at once while handshakes are under way', async () => {
    await start();
    const silent = await rig.socket();
    await rig.connections(1);
    await rig.bus.stop();
    await closed(silent);
  });

  it('shows a new certificate to the next client, and keeps connected clients', async () => {
    const placed = folder.place(server);
    await start(placed);
    const client = await connect();
    const renewed = folder.issue(authority, { cn: 'renewed' });
    copyFileSync(renewed.cert, placed.cert);
    copyFileSync(renewed.key, placed.key);
    rig.tlsFiles?.refresh();
    const socket = await shakeHands();
    expect(socket.getPeerCertificate().subject.CN).toBe('renewed');
    socket.destroy();
    await client.publishAsync(topicOf('c/1/meter'), 'still here', { qos: 1 });
    await rig.heard('still here');
  });

  describe('with client certificates', () => {
    const files = () => ({ ...server, clientCa: makers.cert });
    const ofMakers = (cn: string, names = '') => as(folder.issue(makers, { cn, names }));

    /** The broker ends the connection, before the handshake is over or just after. */
    async function refusedHands(options: object = {}): Promise<void> {
      await shakeHands(options).then(closed, () => {});
    }

    it.each([
      ['the controllerUuid as common name', () => ofMakers('q1-a')],
      ['the user name as common name', () => ofMakers(`${HARBOUR}/q1-a`)],
      ['the user name as URI', () => ofMakers('a charger', `URI:${HARBOUR}/q1-a`)],
      ['the controllerUuid among several names', () => ofMakers('a site', 'DNS:q1-b,DNS:q1-a')],
    ])('accepts chargers whose certificate names them: %s', async (_, identity) => {
      await start(files());
      const client = await connect('q1-a', identity());
      await client.publishAsync(topicOf('c/1/meter'), 'in', { qos: 1 });
      await rig.heard('in');
    });

    it.each([
      ['of another charger', () => ofMakers('q1-b')],
      ['of a name that only begins like it', () => ofMakers('q1-a.example')],
      ['with a wildcard', () => ofMakers('a charger', 'DNS:*')],
      ["of another tenant's charger", () => ofMakers('7d1f7a52-9a3e-4d9e-8d2b-1f1f2e5a6b01/q1-a')],
    ])('refuses a certificate %s, even with the right password', async (_, identity) => {
      await start(files());
      await expect(connect('q1-a', identity())).rejects.toMatchObject({ code: 5 });
      expect(await rig.refusals('certificate')).toBe(1);
    });

    it('checks the certificate before the password, so that another charger uses up no attempts', async () => {
      await start(files());
      const guess = { ...ofMakers('q1-b'), password: 'a guess' };
      await expect(connect('q1-a', guess)).rejects.toMatchObject({ code: 5 });
      expect([await rig.refusals('certificate'), await rig.refusals('credentials')]).toEqual([1, 0]);
    });

    it('still requires the password', async () => {
      await start(files());
      const options = { ...ofMakers('q1-a'), password: 'guess' };
      await expect(connect('q1-a', options)).rejects.toMatchObject({ code: 4 });
    });

    it('refuses the handshake without a certificate, or with one of another authority', async () => {
      await start(files());
      await refusedHands();
      await rig.refused('tls', 1);
      await refusedHands(as(folder.issue(authority, { cn: 'q1-a' })));
      await rig.refused('tls', 2);
      expect(await rig.refusals('connection')).toBe(0);
      await stillServes(ofMakers('q1-b'));
    });

    it('refuses, from the next handshake on, certificates of a replaced authority, resumed sessions included', async () => {
      const [theirs, placed] = [ofMakers('q1-a'), folder.file('client-ca.pem')];
      copyFileSync(makers.cert, placed);
      await start({ ...server, clientCa: placed });
      const tls12 = { ...theirs, maxVersion: 'TLSv1.2' };
      const before = await shakeHands(tls12);
      const session = before.getSession();
      before.destroy();
      const again = await shakeHands({ ...tls12, session });
      expect(again.isSessionReused()).toBe(true);
      again.destroy();
      copyFileSync(folder.authority('others').cert, placed);
      rig.tlsFiles?.refresh();
      await refusedHands({ ...tls12, session });
      await rig.refused('tls');
    });
  });
});
