// `headroom charger run` against a running service: virtual chargers whose draw shows over REST.
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { run, serve, start, temporaryDirectory, writeFile } from './headroom.js';
import { API_KEY, siteYaml, TENANT } from './site.js';

async function running() {
  const directory = temporaryDirectory();
  const environment = { HEADROOM_DATA_DIR: join(directory, 'data') };
  const file = writeFile(directory, 'site.yaml', siteYaml());
  await run(['provision', file], environment);
  return { file, ...(await serve(environment.HEADROOM_DATA_DIR)) };
}

/** What the service says the location's chargers draw, kW. */
async function drawnKw(httpUrl: string): Promise<() => Promise<number>> {
  const headers = { 'x-api-key': API_KEY, 'content-type': 'application/json' };
  const body = JSON.stringify({ name: 'All', locationIds: ['quay-1'] });
  const created = await fetch(`${httpUrl}/v1/clusters`, { method: 'POST', headers, body });
  const { clusterId } = (await created.json()) as { clusterId: string };
  return async () => {
    const detail = await (await fetch(`${httpUrl}/v1/clusters/${clusterId}`, { headers })).json();
    return (detail as { liveStatus: { actualTotalKw: number } }).liveStatus.actualTotalKw;
  };
}

describe('headroom charger run', () => {
  it('runs the chargers of a provisioning file, whose draw the service then shows, until a signal', async () => {
    const { file, httpUrl, mqttUrl } = await running();
    const drawn = await drawnKw(httpUrl);
    expect(await drawn()).toBe(0);
    const chargers = start([
      'charger',
      'run',
      '--url',
      mqttUrl,
      '--file',
      file,
      '--lively',
      '--report-every',
      '1',
      '--seed',
      '2',
    ]);
    expect(await chargers.line((line) => line.includes('online 1/1'))).toMatch(
      /^\d\d:\d\d:\d\dZ {2}online 1\/1 {2}charging \d {2}\d+\.\d kW {2}\d+\.\d\d kWh$/,
    );
    await vi.waitFor(async () => expect(await drawn()).toBeGreaterThan(0), {
      timeout: 15_000,
      interval: 100,
    });
    expect(await chargers.stop()).toMatchObject({ code: 0, stderr: '' });
    await vi.waitFor(async () => expect(await drawn()).toBe(0), { timeout: 5_000, interval: 100 });
  });

  it('runs a made-up charger with a login of its own, and reports in JSON', async () => {
    const { mqttUrl } = await running();
    const login = ['--tenant', TENANT, '--location', 'quay-1', '--username', `${TENANT}/q1-a`];
    const chargers = start([
      'charger',
      'run',
      '--url',
      mqttUrl,
      ...login,
      '--password',
      'charger-secret',
      '--report-every',
      '1',
      '--json',
    ]);
    const line = await chargers.line((text) => JSON.parse(text).online === 1);
    expect(JSON.parse(line)).toMatchObject({
      chargers: 1,
      charging: expect.any(Number),
      energyKwh: expect.any(Number),
    });
  });

  it('goes on trying and says why its chargers are refused', async () => {
    const { file, mqttUrl } = await running();
    const chargers = start([
      'charger',
      'run',
      '--url',
      mqttUrl,
      '--file',
      file,
      '--password',
      'wrong',
      '--report-every',
      '1',
    ]);
    expect(await chargers.line((line) => line.includes('refused'))).toMatch(
      /online 0\/1 .*\(Connection refused/,
    );
    expect(await chargers.stop()).toMatchObject({ code: 0 });
  });

  it('ends at a signal while no broker answers', async () => {
    const args = ['--url', 'mqtt://127.0.0.1:1', '--tenant', 't', '--location', 'l', '--report-every', '1'];
    const chargers = start(['charger', 'run', ...args]);
    expect(await chargers.line((line) => line.includes('ECONNREFUSED'))).toContain('online 0/1');
    expect(await chargers.stop('SIGINT')).toMatchObject({ code: 0 });
  });

  it.each([
    [
      ['--url', 'mqtt://x', '--count', '2'],
      /^headroom: --tenant is needed, or a provisioning file with --file\n$/,
    ],
    [['--url', 'not a url'], /It must be a broker address such as mqtt:/],
    [['--url', 'http://x'], /It must be a broker address such as mqtt:/],
    [['--url', 'mqtt://x', '--count', '0'], /It must be a whole number from 1 to 10000/],
    [[], /required option '--url <url>' not specified/],
  ])('answers %j with what is wrong, and exit code 1', async (args, message) => {
    const { code, stderr } = await run(['charger', 'run', ...args]);
    expect(code).toBe(1);
    expect(stderr).toMatch(message);
  });
});
