// `headroom doctor` finds each problem, names a way out, and changes nothing.
import { createHash } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import {
  chmodSync,
  closeSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { createServer } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { join } from 'node:path';
import { createServer as createTlsServer } from 'node:tls';
import { Aedes } from 'aedes';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { thisHost } from '../../cli/doctor/host.js';
import { systemClock } from '../../src/clock.js';
import { VERSION } from '../../src/version.js';
import { CertificateFolder, WITH_OPENSSL } from '../certificates.js';
import { startNats } from '../nats.js';
import { missingPrograms, needing } from '../needs.js';
import { findingsOf, unwell } from './doctor-rig.js';
import { run, serve, temporaryDirectory, writeFile } from './headroom.js';
import { siteYaml } from './site.js';

const DAY_MS = 24 * 3600 * 1000;

let dataDir: string;
beforeEach(() => {
  dataDir = temporaryDirectory();
});

/** A database with the small site in the data directory. */
async function provisioned(yaml = siteYaml()): Promise<string> {
  const file = writeFile(temporaryDirectory(), 'site.yaml', yaml);
  expect((await run(['provision', file], { HEADROOM_DATA_DIR: dataDir })).code).toBe(0);
  return file;
}

/** Names and contents of all files in the data directory. */
function contents(): readonly string[] {
  return readdirSync(dataDir)
    .sort()
    .map(
      (name) =>
        `${name} ${createHash('sha256')
          .update(readFileSync(join(dataDir, name)))
          .digest('hex')}`,
    );
}

async function listening(server: ReturnType<typeof createTcpServer>): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

describe('headroom doctor', () => {
  it('reports no problem for a data directory that does not exist, and creates nothing', async () => {
    const empty = join(dataDir, 'not-yet');
    expect(unwell(await findingsOf({ dataDir: empty }))).toEqual([]);
    expect(readdirSync(dataDir)).toEqual([]);
  });

  it('reports no problem for a provisioned database without a service, and changes nothing', async () => {
    const provisioningFile = await provisioned();
    const before = contents();
    expect(unwell(await findingsOf({ dataDir }, { provisioningFile }))).toEqual([]);
    expect(contents()).toEqual(before);
  });

  it('works beside a running service, and shows its version, process and ownership term', async () => {
    await provisioned();
    const { httpUrl, mqttUrl, process: child } = await serve(dataDir);
    const flags = { dataDir, httpPort: new URL(httpUrl).port, mqttPort: new URL(mqttUrl).port };
    const names = readdirSync(dataDir);
    const found = await findingsOf(flags);
    expect(unwell(found)).toEqual([]);
    expect(found.map(({ check, message }) => `${check}: ${message}`)).toEqual(
      expect.arrayContaining([
        `service: version ${VERSION}, pid ${child.pid}: well`,
        `ports: MQTT 127.0.0.1:${flags.mqttPort} is the running service's`,
        'database: SQLite, whole',
        'owner: term 1',
      ]),
    );
    expect(readdirSync(dataDir)).toEqual(names);
  });

  it('reads the files of a killed service, and leaves them for the next start', async () => {
    await provisioned();
    await (await serve(dataDir)).stop('SIGKILL');
    const names = readdirSync(dataDir);
    expect(names).toContain('headroom.sqlite-wal');
    const found = await findingsOf({ dataDir });
    expect(unwell(found)).toEqual([]);
    expect(found).toContainEqual({ check: 'owner', status: 'ok', message: 'term 1' });
    expect(readdirSync(dataDir)).toEqual(names);
    rmSync(join(dataDir, 'headroom.sqlite-shm'));
    expect(unwell(await findingsOf({ dataDir }))).toEqual([
      expect.stringMatching(/^warn database: .* has a -wal file and no -shm file/),
    ]);
    expect(readdirSync(dataDir)).not.toContain('headroom.sqlite-shm');
  });

  it('prints a line for each check, and ends with 1 for a failure and 2 for invalid settings', async () => {
    const yaml = writeFile(dataDir, 'bad.yaml', 'tenants: [{ tenantUuid: 5 }]\n');
    const environment = {
      HEADROOM_DATA_DIR: join(dataDir, 'data'),
      HEADROOM_HTTP_PORT: '0',
      HEADROOM_MQTT_PORT: '0',
    };
    const failed = await run(['doctor', yaml], environment);
    expect(failed.code).toBe(1);
    expect(failed.stdout).toMatch(/^ok {4}node +v/m);
    expect(failed.stdout).toMatch(/^fail {2}file +.*bad\.yaml.*: correct the file$/m);
    expect(failed.stderr).toMatch(/^\d+ ok, \d+ warnings, 1 failed$/m);
    const json = await run(['doctor', '--json'], {
      ...environment,
      HEADROOM_HTP_PORT: '1',
      HEADROOM_KEY: 'x',
    });
    expect(json.code).toBe(0);
    expect(json.stdout).not.toContain('HEADROOM_KEY');
    expect(JSON.parse(json.stdout)).toMatchObject({
      isWell: true,
      findings: expect.arrayContaining([
        expect.objectContaining({
          check: 'settings',
          status: 'warn',
          message: 'HEADROOM_HTP_PORT is no setting',
        }),
      ]),
    });
    const unreadable = await run(['doctor', '--json'], { HEADROOM_HTTP_PORT: 'eighty' });
    expect(unreadable.code).toBe(2);
    expect(JSON.parse(unreadable.stdout)).toMatchObject({
      isWell: false,
      findings: [
        { check: 'settings', status: 'fail', message: expect.stringContaining('HEADROOM_HTTP_PORT') },
      ],
    });
  });
});

describe('The host checks of headroom doctor', () => {
  it.each([
    ['v18.20.0', 'fail node: v18.20.0 is not supported'],
    ['v20.18.3', 'fail node: v20.18.3 is not supported'],
    ['v22.11.0', 'fail node: v22.11.0 is not supported'],
    ['v21.7.0', 'fail node: v21.7.0 is not supported'],
    ['v23.1.0', 'fail node: v23.1.0 is not supported'],
  ])('refuse Node %s', async (nodeVersion, line) => {
    expect(unwell(await findingsOf({ dataDir }, { host: { nodeVersion } }))).toEqual([line]);
  });

  it.each(['v20.19.0', 'v20.20.2', 'v22.12.0', 'v24.0.0', 'v25.1.0'])(
    'accept Node %s',
    async (nodeVersion) => {
      expect(unwell(await findingsOf({ dataDir }, { host: { nodeVersion } }))).toEqual([]);
    },
  );

  it('report a disk that is full, nearly full or slow', async () => {
    const disk = (freeBytes: number, syncMs = 1) =>
      findingsOf({ dataDir }, { host: { freeBytes: () => freeBytes, syncTimesMs: () => [1, syncMs, 2] } });
    expect(unwell(await disk(5e7))).toEqual([
      expect.stringMatching(/^fail disk: 0\.1 GB free .*writes will be refused$/),
    ]);
    expect(unwell(await disk(5e8))).toEqual([expect.stringMatching(/^warn disk: 0\.5 GB free/)]);
    expect(unwell(await disk(5e10, 140))).toEqual([
      'warn disk: a durable write takes 2.0 ms, at worst 140.0 ms of 3',
    ]);
  });

  it('measure the speed of the disk by writes that leave no file', () => {
    const times = thisHost.syncTimesMs(dataDir);
    if (process.platform === 'linux') expect(times?.length).toBe(20);
    expect(readdirSync(dataDir)).toEqual([]);
    expect(thisHost.freeBytes(dataDir)).toBeGreaterThan(0);
  });

  it('warn if fewer files may be open than chargers are provisioned', async () => {
    await provisioned();
    const found = await findingsOf({ dataDir }, { host: { openFiles: () => 132 } });
    expect(unwell(found)).toEqual([
      'warn open files: 132 may be open: 33 for HTTP, 0 for chargers, and 1 are provisioned',
    ]);
    const external = await findingsOf(
      { dataDir, mqttUrl: 'mqtt://127.0.0.1:1' },
      { host: { openFiles: () => 132 } },
    );
    expect(unwell(external)).not.toContainEqual(expect.stringContaining('open files'));
  });

  it('report a clock that is unsynchronized, of unknown state, or behind a time server', async () => {
    const clock = (isSynchronized: boolean | undefined) =>
      findingsOf({ dataDir }, { host: { isSynchronized: async () => isSynchronized } });
    expect(unwell(await clock(false))).toEqual([expect.stringMatching(/^warn clock: not synchronized/)]);
    expect(unwell(await clock(undefined))).toEqual([
      expect.stringMatching(/^warn clock: the system does not report its/),
    ]);
    const host = { ntpAheadMs: async () => 2_400 };
    expect(unwell(await findingsOf({ dataDir }, { host, ntpServer: 'ntp.example' }))).toEqual([
      'fail clock: 2.40 s behind ntp.example: windows begin at the wrong time',
    ]);
  });

  it('measure the lead of a time server, and refuse answers of another kind', async () => {
    const server = createSocket('udp4');
    onTestFinished(() => void server.close());
    let isServer = true;
    server.on('message', (asked, { port }) => {
      const answer = Buffer.alloc(48);
      answer[0] = isServer ? 0x24 : 0x23;
      answer[1] = 2;
      for (const at of [32, 40])
        answer.writeUInt32BE(Math.floor(systemClock.nowMs() / 1000) + 2_208_988_800 + 30, at);
      expect(asked.length).toBe(48);
      server.send(answer, port, '127.0.0.1');
    });
    server.bind(0, '127.0.0.1');
    await once(server, 'listening');
    const address = `127.0.0.1:${server.address().port}`;
    const aheadMs = await thisHost.ntpAheadMs(address);
    expect(Math.abs(aheadMs - 30_000)).toBeLessThan(1_500);
    isServer = false;
    await expect(thisHost.ntpAheadMs(address)).rejects.toThrow('does not answer as a time server');
  });
});

describe('The installation checks of headroom doctor', () => {
  it('warn of secret files that other users can read', async () => {
    const provisioningFile = await provisioned();
    chmodSync(provisioningFile, 0o644);
    chmodSync(join(dataDir, 'headroom.sqlite'), 0o640);
    expect(unwell(await findingsOf({ dataDir }, { provisioningFile }))).toEqual([
      `warn files: ${join(dataDir, 'headroom.sqlite')} is open to others than its owner (mode 0640) and holds secrets`,
      `warn files: ${provisioningFile} is open to others than its owner (mode 0644) and holds secrets`,
    ]);
  });

  it('warn of settings that contradict each other', async () => {
    const databaseUrl = 'postgres://nobody:secret@127.0.0.1:1/none';
    const found = unwell(await findingsOf({ dataDir, databaseUrl, standby: 'true', logLevel: 'silent' }));
    expect(found.slice(0, 2)).toEqual([
      'warn settings: HEADROOM_TOKEN_KEYS is not set: access tokens end when another node takes over',
      'warn settings: HEADROOM_LOG_LEVEL is silent: the log lacks failures',
    ]);
    expect(found.slice(2)).toEqual([expect.stringMatching(/^fail database: the database is unavailable/)]);
    expect(found.join()).not.toContain('secret');
  });

  it('report a database that is missing, damaged, of another format, or without acknowledged writes', async () => {
    await provisioned();
    const file = join(dataDir, 'headroom.sqlite');
    const good = readFileSync(file);
    const mark = join(dataDir, 'last-commit-headroom.sqlite.json');
    const text = readFileSync(mark, 'utf8');
    writeFileSync(mark, text.replace(/"commits":\d+/, '"commits":99999'));
    expect(unwell(await findingsOf({ dataDir }))).toEqual([
      expect.stringMatching(/^fail database: .* lacks acknowledged writes/),
    ]);
    writeFileSync(mark, text);
    const descriptor = openSync(file, 'r+');
    for (let page = 2; page < good.length / 4096; page++)
      writeSync(descriptor, Buffer.alloc(4096, 7), 0, 4096, page * 4096);
    closeSync(descriptor);
    expect(unwell(await findingsOf({ dataDir }))).toEqual([
      expect.stringMatching(/^fail database: .* is damaged/),
    ]);
    rmSync(file);
    expect(unwell(await findingsOf({ dataDir }))).toEqual([
      expect.stringMatching(/^fail database: .* is gone/),
    ]);
    rmSync(mark);
    writeFileSync(file, 'not a database at all, but long enough to look like one. '.repeat(100), {
      mode: 0o600,
    });
    expect(unwell(await findingsOf({ dataDir }))).toEqual([expect.stringMatching(/^fail database: /)]);
    expect(statSync(file).size).toBe(5700);
  });

  it('refuse invalid token keys', async () => {
    const tokenKeys = writeFile(dataDir, 'keys.json', '{"keys": []}');
    expect(unwell(await findingsOf({ dataDir, tokenKeys }))).toEqual([
      expect.stringMatching(/^fail token keys: .* must be a JWK Set/),
    ]);
  });

  it('name the process that uses a port', async () => {
    const httpPort = String(await listening(createServer((_, response) => response.end('{}'))));
    const [line] = unwell(await findingsOf({ dataDir, httpPort }));
    expect(line).toMatch(`fail ports: REST 127.0.0.1:${httpPort} is held by `);
    if (process.platform === 'linux') expect(line).toContain(`pid ${process.pid}`);
  });

  it('report a service that is degraded or of another version', async () => {
    const health = {
      status: 'degraded',
      version: '0.0.9',
      uptimeSeconds: 1,
      role: 'standby',
      checks: { database: 'ok', active: 'failing' },
    };
    const server = createServer((_, response) => response.writeHead(503).end(JSON.stringify(health)));
    const httpPort = String(await listening(server));
    expect(unwell(await findingsOf({ dataDir, httpPort }))).toEqual([
      expect.stringMatching(/^fail service: version 0\.0\.9, standby.*: active failing$/),
      expect.stringMatching(
        new RegExp(`^warn service: version 0\\.0\\.9, standby.*, and this is version ${VERSION}$`),
      ),
    ]);
  });

  it('warn of sites whose fail-safes exceed a limit or a fuse, in database and file', async () => {
    const yaml = siteYaml({ secrets: true, permanentLimitKw: 4 }).replace(
      'permanentLimitKw: 4',
      'permanentLimitKw: 4\n        connection: { currentA: [5, 16, 16] }',
    );
    // Provisioning refuses a fuse that carries no fail-safe at all.
    expect(
      unwell(await findingsOf({ dataDir }, { provisioningFile: writeFile(dataDir, 'a.yaml', yaml) })),
    ).toEqual([expect.stringMatching(/^fail file: /)]);
    const provisioningFile = await provisioned(siteYaml({ secrets: true, permanentLimitKw: 4 }));
    const line = 'quay-1 of harbour: its fail-safes need 4.554 kW, and permanentLimitKw is 4 kW';
    expect(unwell(await findingsOf({ dataDir }, { provisioningFile }))).toEqual([
      `warn sites: ${line}`,
      `warn file: ${line}`,
    ]);
  });
});

describe('The provisioning file checks of headroom doctor', () => {
  it('warn of connectors above the rating of a fuse, and of passwords invalid for OCPP', async () => {
    const yaml = siteYaml()
      .replace(
        'chargers:',
        'feeders: [{ name: hall, currentA: 40 }, { name: corner, currentA: 20, parent: hall }]\n        chargers:',
      )
      .replace('mqttPassword: charger-secret-q1', 'mqttPassword: charger-secret\n            feeder: corner');
    const provisioningFile = await provisioned(yaml);
    const rating =
      'quay-1 of harbour: connector q1-a/1 takes up to 32 A, and phase L1 of feeder "corner" carries 20 A';
    expect(unwell(await findingsOf({ dataDir }, { provisioningFile }))).toEqual([
      `warn sites: ${rating}`,
      `warn file: ${rating}`,
      'warn file: mqttPassword of q1-a does not have the 16 to 40 characters of an OCPP password',
    ]);
  });
});

describe('The certificate checks of headroom doctor', WITH_OPENSSL, () => {
  const folder = new CertificateFolder();
  afterAll(() => folder.remove());
  let authority: ReturnType<CertificateFolder['authority']>;
  beforeAll(() => {
    authority = folder.authority('quay');
  });

  it('report expiry, also of the broker, wrong keys and an unknown authority', async () => {
    const { cert: tlsCert, key: tlsKey } = folder.issue(authority, { days: 30 });
    chmodSync(tlsKey, 0o600);
    const at = (days: number) => ({
      clock: { ...systemClock, nowMs: () => systemClock.nowMs() + days * DAY_MS },
    });
    const found = (days: number) => findingsOf({ dataDir, tlsCert, tlsKey }, { host: at(days) });
    expect(unwell(await found(0))).toEqual([]);
    expect(unwell(await found(20))).toEqual([expect.stringMatching(/^warn certificate: .* ends on /)]);
    expect(unwell(await found(31))).toEqual([expect.stringMatching(/^fail certificate: .* ended on /)]);
    expect(unwell(await found(-1))).toEqual([
      expect.stringMatching(/^fail certificate: .* is not valid before /),
    ]);
    expect(
      unwell(await findingsOf({ dataDir, tlsCert, tlsKey: authority.key, httpHost: '0.0.0.0' })),
    ).toEqual([expect.stringMatching(/^fail certificate: .* is not the key of/)]);
    expect(unwell(await findingsOf({ dataDir, httpHost: '0.0.0.0' }))).toEqual([
      expect.stringMatching(/^warn certificate: none, and the service listens on 0\.0\.0\.0/),
    ]);

    const broker = createTlsServer({ cert: readFileSync(tlsCert), key: readFileSync(tlsKey) });
    const mqttUrl = `mqtts://127.0.0.1:${await listening(broker)}`;
    expect(unwell(await findingsOf({ dataDir, mqttUrl, mqttCa: authority.cert }, { host: at(20) }))).toEqual([
      expect.stringMatching(/^warn broker: .* is reached; its certificate ends on /),
    ]);
    expect(unwell(await findingsOf({ dataDir, mqttUrl }))).toEqual([
      expect.stringMatching(/^fail broker: .* cannot be reached: .*certificate/),
    ]);
  });
});

describe('The broker checks of headroom doctor', () => {
  it('report a broker that is unreachable', async () => {
    expect(unwell(await findingsOf({ dataDir, mqttUrl: 'mqtt://127.0.0.1:1' }))).toEqual([
      expect.stringMatching(/^fail broker: 127\.0\.0\.1:1 cannot be reached: .*ECONNREFUSED/),
    ]);
  });

  it('test the credentials, but do not log in while a service may be running', async () => {
    await provisioned();
    let signIns = 0;
    const aedes = await Aedes.createBroker({
      authenticate: (_client, username, _password, done) => {
        signIns++;
        done(null, username === 'headroom');
      },
    });
    onTestFinished(() => new Promise<void>((resolve) => aedes.close(resolve)));
    const port = await listening(createTcpServer(aedes.handle));
    expect(unwell(await findingsOf({ dataDir, mqttUrl: `mqtt://headroom:x@127.0.0.1:${port}` }))).toEqual([]);
    const refused = await findingsOf({ dataDir, mqttUrl: `mqtt://stranger:x@127.0.0.1:${port}` });
    expect(unwell(refused)).toEqual([expect.stringMatching(/^fail broker: .*[Nn]ot authorized/)]);
    expect(signIns).toBe(2);
    await (await serve(dataDir)).stop('SIGKILL');
    // The database file does not show that the killed service has ended.
    expect(unwell(await findingsOf({ dataDir, mqttUrl: `mqtt://headroom:x@127.0.0.1:${port}` }))).toEqual([]);
    expect(signIns).toBe(2);
  });
});

describe('The NATS checks of headroom doctor', () => {
  it('report a NATS server that is unreachable', async () => {
    const found = await findingsOf({ dataDir, busUrl: 'nats://127.0.0.1:1' });
    expect(unwell(found)).toEqual([
      expect.stringMatching(/^fail broker: NATS cannot be reached: connection refused/),
    ]);
  });

  describe('with a server', needing(missingPrograms('nats-server')), () => {
    it('test the credentials', async () => {
      const nats = await startNats('--user', 'headroom', '--pass', 'p@ss/word');
      onTestFinished(() => nats.stop());
      const urlAs = (name: string) => nats.url.replace('//', `//${name}:p%40ss%2Fword@`);
      expect(unwell(await findingsOf({ dataDir, busUrl: urlAs('headroom') }))).toEqual([]);
      const refused = unwell(await findingsOf({ dataDir, busUrl: urlAs('stranger') }));
      expect(refused).toEqual([expect.stringMatching(/^fail broker: .*[Aa]uthorization/)]);
      expect(refused.join()).not.toContain('word');
    });

    it('test the certificate against the configured authority', WITH_OPENSSL, async () => {
      const folder = new CertificateFolder();
      onTestFinished(() => folder.remove());
      const authority = folder.authority('nats');
      const { cert, key } = folder.issue(authority);
      const nats = await startNats('--tls', '--tlscert', cert, '--tlskey', key);
      onTestFinished(() => nats.stop());
      const busUrl = nats.url.replace('nats://127.0.0.1', 'tls://localhost');
      expect(unwell(await findingsOf({ dataDir, busUrl, busCa: authority.cert }))).toEqual([]);
      expect(unwell(await findingsOf({ dataDir, busUrl }))).toEqual([
        expect.stringMatching(/^fail broker: .*certificate/),
      ]);
    });
  });
});
