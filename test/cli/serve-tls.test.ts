// `headroom serve` with certificates: independent TLS clients connect, and wrong certificates are reported.
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, cpSync, mkdtempSync, rmSync } from 'node:fs';
import { request } from 'node:https';
import { connect as connectSocket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect as connectTls } from 'node:tls';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CertificateFolder, type Identity, WITH_OPENSSL } from '../certificates.js';
import { eventually } from '../eventually.js';
import { missingPrograms, needing } from '../needs.js';
import { run, runJson, serve, start, temporaryDirectory, writeFile } from './headroom.js';

const runCommand = promisify(execFile);
const MISSING = missingPrograms('curl', 'mosquitto_pub');

const TENANT = '0b6cf0c4-6d0f-4e0e-9f0a-5f6c3b1d2a10';
const SITES = `
tenants:
  - tenantUuid: ${TENANT}
    name: Harbour Charging
    features: [energy-management]
    apiKeys: [{ key: hr_tlstls01_OnlyForThisTestAndNothingElse }]
    locations:
      - locationId: quay-1
        name: Quay 1
        permanentLimitKw: 50
        chargers:
          - controllerUuid: q1-a
            mqttPassword: charger-secret-q1
            connectors: [{ connectorId: "1", phases: 3, voltageV: 230, maxCurrentA: 32 }]
`;

describe('headroom serve over TLS', WITH_OPENSSL, () => {
  let folder: CertificateFolder;
  let authority: Identity;
  let server: Identity;
  let dataDir: string;
  let sites: string;

  beforeAll(async () => {
    folder = new CertificateFolder();
    authority = folder.authority('harbour');
    server = folder.issue(authority);
    dataDir = mkdtempSync(join(tmpdir(), 'headroom-tls-'));
    sites = writeFile(dataDir, 'sites.yaml', SITES);
    await runJson(['provision', sites], { HEADROOM_DATA_DIR: dataDir });
  });

  afterAll(() => {
    folder.remove();
    rmSync(dataDir, { recursive: true, force: true });
  });

  /** Each service has a copy of the provisioned data, because others are killed at the end of their test. */
  function serveTls(identity = server, environment: Readonly<Record<string, string>> = {}) {
    const own = temporaryDirectory();
    cpSync(dataDir, own, { recursive: true });
    return serve(own, environment, ['--tls-cert', identity.cert, '--tls-key', identity.key]);
  }

  it(
    'answers curl and mosquitto_pub if they trust its authority, and no other client',
    needing(MISSING),
    async () => {
      const { httpUrl, mqttUrl, stop } = await serveTls();
      expect([new URL(httpUrl).protocol, new URL(mqttUrl).protocol]).toEqual(['https:', 'mqtts:']);
      const { stdout } = await runCommand('curl', ['-sS', '--cacert', authority.cert, `${httpUrl}/health`]);
      expect(JSON.parse(stdout)).toMatchObject({ status: 'ok' });
      await expect(runCommand('curl', ['-sS', `${httpUrl}/health`])).rejects.toThrow(/certificate/);
      await expect(
        runCommand('curl', ['-sS', `${httpUrl.replace('https:', 'http:')}/health`]),
      ).rejects.toThrow();
      const { port } = new URL(mqttUrl);
      const login = [
        '-i',
        'q1-a',
        '-u',
        `${TENANT}/q1-a`,
        '-P',
        'charger-secret-q1',
        '-V',
        '311',
        '-k',
        '30',
      ];
      const message = ['-q', '1', '-t', `ems/v1/${TENANT}/quay-1/q1-a/c/1/meter`, '-m', '{"powerW":1}'];
      const at = ['-h', '127.0.0.1', '-p', port, '--cafile', authority.cert];
      await runCommand('mosquitto_pub', [...at, ...login, ...message]);
      const { stdout: metrics } = await runCommand('curl', [
        ...['-sS', '--cacert', authority.cert],
        `${httpUrl}/metrics`,
      ]);
      expect(metrics).toMatch(/headroom_mqtt_messages_total\{kind="meter",result="accepted"\} 1/);
      expect(metrics).toMatch(/tls_certificate_expires_timestamp_seconds\{certificate="server"\} 1\d{9}/);
      expect(await stop()).toMatchObject({ code: 0, stderr: '' });
    },
  );

  it('accepts virtual chargers that trust its authority', async () => {
    const { mqttUrl } = await serveTls();
    const flags = ['charger', 'run', '--url', mqttUrl, '--file', sites, '--report-every', '1', '--json'];
    const trusting = start([...flags, '--ca', authority.cert]);
    expect(JSON.parse(await trusting.line((line) => line.includes('"online":1')))).toMatchObject({
      online: 1,
    });
    const doubting = start(flags);
    const told = JSON.parse(await doubting.line((line) => line.includes('"lastError":"')));
    expect(told).toMatchObject({ online: 0, lastError: expect.stringContaining('certificate') });
  });

  it('uses a new certificate without a restart, but none without the matching key', async () => {
    const placed = folder.place(server);
    const { httpUrl, mqttUrl, stop } = await serveTls(placed);
    async function shownBy(url: string): Promise<unknown> {
      const socket = connectTls({ port: Number(new URL(url).port), rejectUnauthorized: false });
      await once(socket, 'secureConnect');
      const name = socket.getPeerCertificate().subject.CN;
      socket.destroy();
      return name;
    }
    const renewed = folder.issue(authority, { cn: 'renewed' });
    copyFileSync(renewed.cert, placed.cert);
    expect([await shownBy(httpUrl), await shownBy(mqttUrl)]).toEqual(['headroom', 'headroom']);
    copyFileSync(renewed.key, placed.key);
    await eventually(async () => {
      expect([await shownBy(httpUrl), await shownBy(mqttUrl)]).toEqual(['renewed', 'renewed']);
    });
    copyFileSync(server.key, placed.key);
    const { port } = new URL(mqttUrl);
    await eventually(async () => expect(await shownBy(`mqtts://127.0.0.1:${port}`)).toBe('renewed'));
    expect((await stop()).code).toBe(0);
  });

  it('keeps an HTTPS stream open while its certificate is replaced', async () => {
    const placed = folder.place(server);
    const { httpUrl } = await serveTls(placed);
    const headers = { 'x-api-key': 'hr_tlstls01_OnlyForThisTestAndNothingElse' };
    const options = { headers, rejectUnauthorized: false };
    const [response] = await once(request(`${httpUrl}/v1/stream`, options).end(), 'response');
    let isOpen = true;
    response.on('close', () => {
      isOpen = false;
    });
    response.resume();
    const renewed = folder.issue(authority, { cn: 'renewed' });
    copyFileSync(renewed.cert, placed.cert);
    copyFileSync(renewed.key, placed.key);
    await eventually(async () => {
      const socket = connectTls({ port: Number(new URL(httpUrl).port), rejectUnauthorized: false });
      await once(socket, 'secureConnect');
      expect(socket.getPeerCertificate().subject.CN).toBe('renewed');
      socket.destroy();
    });
    expect([response.statusCode, isOpen]).toEqual([200, true]);
    response.destroy();
  });

  it('stops in time during TLS handshakes', async () => {
    const { httpUrl, mqttUrl, stop } = await serveTls();
    const idle = [httpUrl, mqttUrl].map((url) => connectSocket(Number(new URL(url).port), '127.0.0.1'));
    for (const socket of idle) socket.on('error', () => {});
    await Promise.all(idle.map((socket) => once(socket, 'connect')));
    expect(await stop()).toMatchObject({ code: 0, stderr: '' });
  });

  it('requests certificates of the configured authority from chargers only', async () => {
    const makers = folder.authority('makers');
    const { httpUrl, mqttUrl } = await serveTls(server, { HEADROOM_TLS_CLIENT_CA: makers.cert });
    await runCommand('curl', ['-sS', '--cacert', authority.cert, `${httpUrl}/health`]);
    const charger = folder.issue(makers, { cn: 'q1-a', names: '' });
    const flags = ['charger', 'run', '--url', mqttUrl, '--file', sites, '--report-every', '1', '--json'];
    const known = [...flags, '--ca', authority.cert, '--cert', charger.cert, '--key', charger.key];
    await start(known).line((line) => line.includes('"online":1'));
    const nobody = connectTls({ port: Number(new URL(mqttUrl).port), rejectUnauthorized: false });
    nobody.on('error', () => {});
    nobody.resume();
    await once(nobody, 'close');
  });

  it.each<[string, Readonly<Record<string, string>>, RegExp]>([
    ['a certificate without a key', { HEADROOM_TLS_CERT: 'x.pem' }, /HEADROOM_TLS_CERT: .*HEADROOM_TLS_KEY/],
    [
      'a file that is missing',
      { HEADROOM_TLS_CERT: 'x.pem', HEADROOM_TLS_KEY: 'x.key' },
      /cannot read x\.pem/,
    ],
    ['a CA for chargers without TLS', { HEADROOM_TLS_CLIENT_CA: 'x.pem' }, /CLIENT_CA: .*TLS_CERT/],
    ['a CA for no broker', { HEADROOM_MQTT_CA: 'x.pem' }, /HEADROOM_MQTT_CA: .*HEADROOM_MQTT_URL/],
    [
      'a CA for a broker without TLS',
      { HEADROOM_MQTT_CA: 'x.pem', HEADROOM_MQTT_URL: 'mqtt://127.0.0.1' },
      /HEADROOM_MQTT_CA: .*mqtts/,
    ],
    [
      "a broker's CA that is missing",
      { HEADROOM_MQTT_CA: 'x.pem', HEADROOM_MQTT_URL: 'mqtts://127.0.0.1' },
      /HEADROOM_MQTT_CA: cannot read x\.pem/,
    ],
  ])('ends with one line for %s', async (_, environment, message) => {
    const { code, stdout, stderr } = await run(['serve', '--http-port', '0', '--mqtt-port', '0'], {
      HEADROOM_DATA_DIR: `${temporaryDirectory()}/data`,
      HEADROOM_LOG_LEVEL: 'warn',
      ...environment,
    });
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(message);
    expect(stderr.trim().split('\n')).toHaveLength(1);
  });

  it('warns if it listens on other interfaces without TLS, and only then', async () => {
    const open = await serve(temporaryDirectory(), { HEADROOM_MQTT_HOST: '0.0.0.0' });
    expect((await open.stop()).stderr).toMatch(/"hosts":\["0\.0\.0\.0"\].*travel unencrypted/);
    const closed = await serve(temporaryDirectory());
    expect((await closed.stop()).stderr).toBe('');
  });
});
