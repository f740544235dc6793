// `headroom gateway ocpp` as operators run it, beside a service in its own process.
import { once } from 'node:events';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { RPCClient } from 'ocpp-rpc';
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { CertificateFolder, WITH_OPENSSL } from '../certificates.js';
import { type Running, run, start, temporaryDirectory, writeFile } from '../cli/headroom.js';
import { type ServedSite, serveSite } from '../cli/served-site.js';
import { API_KEY, siteYaml } from '../cli/site.js';
import { eventually } from '../eventually.js';
import { freePort } from '../free-port.js';
import { CLIENT } from './ocpp-site.js';

const CHARGER = 'q1-a';

let served: ServedSite;
let folder: CertificateFolder | undefined;

beforeAll(async () => {
  served = await serveSite();
});
afterEach(() => {
  folder?.remove();
  folder = undefined;
});
afterAll(() => served.close());

/** Returns the log from now on. */
function logOf({ process }: Pick<Running, 'process'>): () => string {
  let log = '';
  process.stderr?.on('data', (data) => {
    log += data;
  });
  return () => log;
}

/** A ready gateway to the served site, with these flags and settings. */
async function gatewayWith(
  flags: readonly string[],
  environment: Readonly<Record<string, string>> = {},
  file = served.file,
) {
  const directory = temporaryDirectory();
  const args = ['gateway', 'ocpp', file, '--port', '0', '--data-dir', directory, ...flags];
  const gateway = start(args, environment);
  const log = logOf(gateway);
  const ready = JSON.parse(await gateway.line((line) => line.includes('"event":"ready"')));
  return { ...gateway, log, ocppUrl: ready.ocppUrl as string };
}

/** Resolves once the running service has the charger. */
async function servedKnows(controllerUuid: string): Promise<void> {
  await eventually(async () => {
    const response = await fetch(`${served.httpUrl}/v1/locations/quay-1/live`, {
      headers: { 'x-api-key': API_KEY },
    });
    expect(await response.text()).toContain(`"${controllerUuid}"`);
  });
}

function client(endpoint: string, options: Partial<ConstructorParameters<typeof RPCClient>[0]>): RPCClient {
  const client = new RPCClient({ ...CLIENT, endpoint, identity: CHARGER, ...options });
  onTestFinished(async () => {
    await client.close({ force: true }).catch(() => {});
  });
  return client;
}

describe('A gateway with client certificates for chargers', WITH_OPENSSL, () => {
  it.each([
    ['--mqtt-url names', ({ mqttUrl }: ServedSite) => ({ flags: ['--mqtt-url', mqttUrl], environment: {} })],
    [
      'HEADROOM_MQTT_PORT of the same machine names',
      ({ mqttUrl }: ServedSite) => ({
        flags: [],
        environment: { HEADROOM_MQTT_PORT: new URL(mqttUrl).port },
      }),
    ],
  ])('connects to the service that %s', async (_, placeOf) => {
    folder = new CertificateFolder();
    const authority = folder.authority('site');
    const { cert, key } = folder.issue(authority);
    const { flags, environment } = placeOf(served);
    const tls = ['--tls-cert', cert, '--tls-key', key, '--tls-client-ca', authority.cert];
    const { ocppUrl } = await gatewayWith([...tls, ...flags], environment);
    const own = folder.issue(authority, { cn: CHARGER, names: '' });
    const [ca, shown, secret] = [authority.cert, own.cert, own.key].map((path) => readFileSync(path));
    const charger = client(ocppUrl, { wsOpts: { ca, cert: shown, key: secret }, password: null });
    await expect(charger.connect()).resolves.toBeDefined();
  });
});

describe('The log of a gateway', () => {
  it('contains connections, the reason for a missing lease, disconnections, and the reason for its stop', async () => {
    const gateway = await gatewayWith(['--mqtt-url', served.mqttUrl]);
    const charger = client(gateway.ocppUrl, { password: 'charger-secret-q1', protocols: ['ocpp1.6'] });
    charger.handle(async () => ({ status: 'Rejected' }));
    await charger.connect();
    await charger.call('BootNotification', { chargePointVendor: 'v', chargePointModel: 'm' });
    const status = { connectorId: 1, errorCode: 'NoError', status: 'Charging' };
    await charger.call('StatusNotification', status);
    const lines = () =>
      gateway
        .log()
        .split('\n')
        .filter((line) => line.startsWith('{'))
        .map((line) => JSON.parse(line));

    await eventually(() => {
      expect(lines()).toContainEqual(
        expect.objectContaining({ msg: 'charger connected', controllerUuid: CHARGER, protocol: 'ocpp1.6' }),
      );
      expect(lines()).toContainEqual(
        expect.objectContaining({
          level: 'warn',
          msg: 'lease not verified yet: the maximum of the connector is reserved',
          controllerUuid: CHARGER,
          connectorId: '1',
          why: expect.stringMatching(/./),
        }),
      );
    });
    await charger.close({ code: 1000, reason: 'the installer leaves' });
    await eventually(() =>
      expect(lines()).toContainEqual(
        expect.objectContaining({
          msg: 'charger disconnected',
          controllerUuid: CHARGER,
          why: 'the installer leaves',
        }),
      ),
    );
    await gateway.stop();
    expect(lines()).toContainEqual(
      expect.objectContaining({ msg: 'the gateway stops', why: expect.stringMatching(/SIGTERM/) }),
    );
  });
});

describe('A gateway without the address of the service', () => {
  it('does not start if the service picks a free port', async () => {
    const args = ['gateway', 'ocpp', served.file, '--data-dir', join(served.directory, 'gateway')];
    const { code, stderr } = await start(args, { HEADROOM_MQTT_PORT: '0' }).finished;
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: expect.stringMatching(/^headroom: HEADROOM_MQTT_PORT: .*HEADROOM_MQTT_URL\n$/),
    });
  });
});

describe('The help of a gateway', () => {
  it('describes its flags for a gateway, and the default address of the service', async () => {
    const { stdout } = await run(['gateway', 'ocpp', '--help'], {});
    const text = stdout.replace(/\s+/g, ' ');
    expect(text).toContain('mqtt://127.0.0.1 at the port of HEADROOM_MQTT_PORT if left out');
    expect(text).toContain("the gateway's own certificate");
    expect(text).toContain('ocpp-*.json');
    expect(text).not.toMatch(/REST|SQLite|embedded|external/);
  });
});

describe('A gateway with an invalid address for id tags', () => {
  it('does not start, and lists the valid addresses', async () => {
    const args = ['gateway', 'ocpp', served.file, '--data-dir', temporaryDirectory()];
    const { code, stderr } = await run([...args, '--id-tags', 'ftp://example.com/tags'], {});
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr:
        'headroom: --id-tags must be "all", a file with one id tag per line, or http(s)://…: ftp://example.com/tags is none of these\n',
    });
  });
});

describe('A gateway with a file of id tags', () => {
  it('accepts tags that are added while it runs, and keeps its tags if the file is missing', async () => {
    const directory = temporaryDirectory();
    const file = writeFile(directory, 'tags', 'FIRST\n');
    const gateway = await gatewayWith(['--mqtt-url', served.mqttUrl, '--id-tags', file]);
    const charger = client(gateway.ocppUrl, { password: 'charger-secret-q1' });
    await charger.connect();
    const ask = (idTag: string) => charger.call('Authorize', { idTag });
    const answer = (status: string) => ({ idTagInfo: { status } });
    expect(await ask('FIRST')).toMatchObject(answer('Accepted'));
    expect(await ask('SECOND')).toMatchObject(answer('Invalid'));
    writeFile(directory, 'tags', 'SECOND\n');
    await eventually(async () => expect(await ask('SECOND')).toMatchObject(answer('Accepted')));
    expect(await ask('FIRST')).toMatchObject(answer('Invalid'));
    rmSync(file);
    await eventually(() =>
      expect(gateway.log()).toContain('new id tags cannot be used; the earlier ones stay in force'),
    );
    expect(await ask('SECOND')).toMatchObject(answer('Accepted'));
  });
});

describe('A gateway whose provisioning file changes', () => {
  const OTHER = 'q1-b';
  const OTHERS = `          - { controllerUuid: ${OTHER}, mqttPassword: other-secret-q1, connectors: [{ connectorId: "1", phases: 3, maxCurrentA: 32 }] }\n`;
  const withOther = siteYaml().replace('        chargers:\n', `$&${OTHERS}`);

  it('admits an added charger, keeps the others connected, and disconnects a removed one', async () => {
    const directory = temporaryDirectory();
    const file = writeFile(directory, 'sites.yaml', siteYaml());
    const gateway = await gatewayWith(['--mqtt-url', served.mqttUrl], {}, file);
    const charger = client(gateway.ocppUrl, { password: 'charger-secret-q1' });
    const closed = once(charger, 'close');
    await charger.connect();
    const connect = (password: string) =>
      client(gateway.ocppUrl, { identity: OTHER, password })
        .connect()
        .then(() => 'admitted');
    await expect(connect('other-secret-q1')).rejects.toMatchObject({ code: 404 });

    // The service first: it counts failed logins of chargers that it does not know.
    const sites = writeFile(directory, 'for-the-service.yaml', withOther);
    expect(await run(['provision', sites], served.environment)).toMatchObject({ code: 0 });
    await servedKnows(OTHER);
    writeFile(directory, 'sites.yaml', withOther);
    await eventually(async () => expect(await connect('other-secret-q1')).toBe('admitted'));
    await expect(charger.call('Heartbeat', {})).resolves.toHaveProperty('currentTime');
    await eventually(() =>
      expect(gateway.log()).toMatch(/"added":1,"removed":0,"changed":0,"chargers":\["harbour\/q1-b"\]/),
    );

    writeFile(directory, 'sites.yaml', `${withOther}another: field\n`);
    await eventually(() =>
      expect(gateway.log()).toMatch(/"error".*sites.yaml:\d+:1 another: is not a field known here/),
    );
    await expect(charger.call('Heartbeat', {})).resolves.toHaveProperty('currentTime');

    writeFile(
      directory,
      'sites.yaml',
      withOther.replace(/.*controllerUuid: q1-a(.*\n){3}/, '').replace('[q1-a]', '[q1-b]'),
    );
    expect((await closed)[0]).toMatchObject({ code: 1008 });
    await eventually(() =>
      expect(gateway.log()).toContain('the provisioning file no longer has this charger'),
    );
    const again = client(gateway.ocppUrl, { password: 'charger-secret-q1' });
    await expect(again.connect()).rejects.toMatchObject({ code: 404 });
  });

  it('admits a charger with its new password alone, after the service has it', async () => {
    const directory = temporaryDirectory();
    const file = writeFile(directory, 'sites.yaml', withOther);
    await run(['provision', file], served.environment);
    const gateway = await gatewayWith(['--mqtt-url', served.mqttUrl], {}, file);
    const old = client(gateway.ocppUrl, { identity: OTHER, password: 'other-secret-q1' });
    const closed = once(old, 'close');
    await servedKnows(OTHER);
    await old.connect();
    const kept = client(gateway.ocppUrl, { password: 'charger-secret-q1' });
    await kept.connect();
    writeFile(directory, 'sites.yaml', withOther.replace('other-secret-q1', 'other-secret-q2'));
    await run(['provision', file], served.environment);
    await closed;
    const connect = (password: string) => client(gateway.ocppUrl, { identity: OTHER, password }).connect();
    await expect(connect('other-secret-q1')).rejects.toMatchObject({ code: 401 });
    await expect(connect('other-secret-q2')).resolves.toBeDefined();
    await expect(kept.call('Heartbeat', {})).resolves.toHaveProperty('currentTime');
    await gateway.stop();
    writeFile(directory, 'sites.yaml', withOther);
    await run(['provision', file], served.environment);
  });
});

describe('A gateway with a wrong address of the service', () => {
  it('starts, and logs the address without its password at once and at each charger connection', async () => {
    const place = `127.0.0.1:${await freePort()}`;
    const gateway = await gatewayWith(['--mqtt-url', `mqtt://depot:not-for-logs@${place}`]);
    await eventually(() =>
      expect(gateway.log()).toMatch(
        new RegExp(`"warn".*"mqtt://${place}".*ECONNREFUSED.*Headroom cannot be reached`),
      ),
    );
    const charger = client(gateway.ocppUrl, { password: 'charger-secret-q1' });
    await expect(charger.connect()).rejects.toMatchObject({ code: 503 });
    await eventually(() =>
      expect(gateway.log()).toContain(`OCPP charger refused: Headroom cannot be reached at mqtt://${place}`),
    );
    expect(gateway.log()).not.toContain('not-for-logs');
  });
});

describe('A gateway whose chargers have passwords of a length invalid for OCPP', () => {
  it('logs their names at its start', async () => {
    const chargers = Object.entries({ short: 15, shortest: 16, longest: 40, long: 41 }).map(
      ([name, length]) => `          - controllerUuid: ${name}
            mqttPassword: ${'a phrase of a charger to be cut off where it is'.slice(0, length - 1)}!
            connectors: [{ connectorId: "1", phases: 3, maxCurrentA: 32 }]
`,
    );
    const text = siteYaml({ secrets: false }).replace('        chargers:\n', `$&${chargers.join('')}`);
    const file = writeFile(temporaryDirectory(), 'sites.yaml', text);
    const gateway = await gatewayWith(['--mqtt-url', served.mqttUrl], {}, file);
    await eventually(() => expect(gateway.log()).toContain('"count":2,"controllers":["short","long"]'));
  });
});
