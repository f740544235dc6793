// `headroom serve` for an operator or a supervisor: one ready line, a clean stop, one line for a mistake.
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { connectAsync } from 'mqtt';
import { describe, expect, it, onTestFinished } from 'vitest';
import { flagOf, SETTINGS, variableOf } from '../../src/config.js';
import { needing } from '../needs.js';
import { type Environment, run, serve, start, temporaryDirectory, writeFile } from './headroom.js';

/** A port that is in use for the length of the test. */
async function takenPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

function onFreePorts(dataDir = temporaryDirectory()): Environment {
  return { HEADROOM_DATA_DIR: dataDir, HEADROOM_HTTP_PORT: '0', HEADROOM_MQTT_PORT: '0' };
}

describe('headroom serve', () => {
  it('prints one JSON line on stdout after REST and MQTT are ready, and logs to stderr', async () => {
    const { line, stop } = start(['serve'], onFreePorts());
    const ready = JSON.parse(await line(() => true));
    expect(ready).toMatchObject({
      event: 'ready',
      httpUrl: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
      mqttUrl: expect.stringMatching(/^mqtt:\/\/127\.0\.0\.1:\d+$/),
    });
    expect((await fetch(`${ready.httpUrl}/v1/health`)).status).toBe(200);
    await expect(connectAsync(ready.mqttUrl, { username: 'no/one', reconnectPeriod: 0 })).rejects.toThrow(
      /refused/,
    );
    const { stdout } = await stop();
    expect(stdout.trim().split('\n')).toHaveLength(1);
  });

  it('ends with code 1 and one line after a second service starts on its database', async () => {
    const dataDir = temporaryDirectory();
    const first = await serve(dataDir);
    const second = await serve(dataDir);
    const { code, stderr } = await first.finished;
    expect(code).toBe(1);
    expect(stderr).toContain('another service was started on this database');
    expect((await fetch(`${second.httpUrl}/v1/health`)).status).toBe(200);
    await second.stop();
  });

  it.each(['SIGTERM', 'SIGINT'] as const)(
    'stops on %s with exit code 0, and closes its ports',
    async (signal) => {
      const { httpUrl, stop } = await serve(temporaryDirectory());
      const { code, stderr } = await stop(signal);
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      await expect(fetch(`${httpUrl}/v1/health`)).rejects.toThrow();
    },
  );

  it.each(['SIGBUS', 'SIGSEGV'] as const)(
    'lets the operating system end it at a fault in native code (%s)',
    async (signal) => {
      const running = await serve(temporaryDirectory());
      expect((await running.stop(signal)).code).toBe(null);
      expect(running.process.signalCode).toBe(signal);
    },
  );

  it('starts again on the same data', async () => {
    const dataDir = temporaryDirectory();
    const first = await serve(dataDir);
    await first.stop();
    const second = await serve(dataDir);
    expect((await fetch(`${second.httpUrl}/v1/health`)).status).toBe(200);
  });

  it('prefers flags to the environment', async () => {
    const dataDir = temporaryDirectory();
    const { line } = start(
      ['serve', '--http-port', '0', '--mqtt-port', '0', '--data-dir', dataDir, '--http-host', '127.0.0.1'],
      { HEADROOM_HTTP_PORT: 'nonsense', HEADROOM_MQTT_PORT: 'nonsense', HEADROOM_HTTP_HOST: '192.0.2.1' },
    );
    expect(JSON.parse(await line(() => true))).toMatchObject({ event: 'ready' });
  });

  it.each<[string, readonly string[], Environment, RegExp]>([
    [
      'a port that is no number',
      [],
      { HEADROOM_HTTP_PORT: 'eighty' },
      /HEADROOM_HTTP_PORT: "eighty" is not valid/,
    ],
    ['a wrong flag', ['--mqtt-port', '70000'], {}, /--mqtt-port: "70000" is not valid/],
    [
      'an unknown database',
      ['--database-url', 'oracle:x'],
      {},
      /--database-url: .*must be sqlite:PATH or postgres/,
    ],
    ['a broker that is none', ['--mqtt-url', 'ftp://x'], {}, /--mqtt-url: "ftp:\/\/x".*must be mqtt:/],
    ['a lease too short', [], { HEADROOM_LEASE_TTL_S: '20' }, /HEADROOM_LEASE_TTL_S: .*three heartbeats/],
    ['token keys that are none', [], { HEADROOM_TOKEN_KEYS: '{"keys":[]}' }, /token keys: .*P-256/],
    ['a misspelt flag', ['--htp-port', '1'], {}, /unknown option '--htp-port'/],
  ])('ends with one readable line and exit code 2 for %s', async (_title, flags, environment, message) => {
    const { code, stdout, stderr } = await run(['serve', ...flags], { ...onFreePorts(), ...environment });
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(message);
    expect(stderr).not.toMatch(/^\s+at /m);
  });

  it.each([
    ['HEADROOM_HTTP_PORT', '--http-port'],
    ['HEADROOM_MQTT_PORT', '--mqtt-port'],
  ])('reports a port that is in use, and the setting for another one (%s)', async (variable, flag) => {
    const port = await takenPort();
    const { code, stdout, stderr } = await run(['serve'], {
      ...onFreePorts(),
      [variable]: `${port}`,
    });
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toBe(
      `headroom: port ${port} is in use; choose another with ${flag} or ${variable} (0 picks a free one)\n`,
    );
  });

  it('creates no files if it cannot listen on the given address', async () => {
    const dataDir = join(temporaryDirectory(), 'data');
    const { code, stderr } = await run(['serve', '--http-host', '192.0.2.1'], onFreePorts(dataDir));
    expect(code).toBe(1);
    expect(stderr).toMatch(/^headroom: listen EADDRNOTAVAIL: .*192\.0\.2\.1.*\n$/);
    expect(existsSync(dataDir)).toBe(false);
  });

  it(
    'reports at once that its data directory cannot be created',
    needing(process.platform === 'linux' ? undefined : 'Linux'),
    async () => {
      const { code, stderr } = await run(['serve'], onFreePorts('/proc/x'));
      expect(code).toBe(1);
      expect(stderr).toMatch(/^headroom: .*mkdir '\/proc\/x'\n$/);
    },
  );

  it('reports in one line that its data directory is not a directory', async () => {
    const file = writeFile(temporaryDirectory(), 'a-file', '');
    const { code, stderr } = await run(['serve'], onFreePorts(join(file, 'below')));
    expect(code).toBe(1);
    expect(stderr).toMatch(/^headroom: .*a-file.*\n$/);
  });

  it('lists every setting in its help, with default and environment variable', async () => {
    const { code, stdout } = await run(['serve', '--help']);
    expect(code).toBe(0);
    const text = stdout.replace(/\s+/g, ' ');
    for (const key of Object.keys(SETTINGS) as (keyof typeof SETTINGS)[]) {
      const fallback: unknown = SETTINGS[key].schema.safeParse(undefined).data;
      const named = fallback === undefined ? '' : `default ${fallback}; `;
      expect(text).toContain(`${flagOf(key)} <value>`);
      expect(text).toContain(`(${named}${variableOf(key)})`);
    }
  });
});
