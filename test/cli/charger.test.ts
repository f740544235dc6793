// `headroom charger run` against a running service: the draw of virtual chargers shows over REST.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../eventually.js';
import { run, start } from './headroom.js';
import { type ServedSite, serveSite } from './served-site.js';
import { API_KEY, TENANT } from './site.js';

let site: ServedSite;
beforeAll(async () => {
  site = await serveSite();
});
afterAll(() => site.close());

/** Draw of the location's chargers as the service reports it, kW. */
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
  it('runs the chargers of a provisioning file until a signal, and the service shows their power', async () => {
    const { file, httpUrl, mqttUrl } = site;
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
      /^\d\d:\d\d:\d\dZ {2}online 1\/1 {2}charging \d {2}\d+\.\d of \d+\.\d kW {2}\d+\.\d\d kWh {2}leases \d\/1 {2}\w+ 1$/,
    );
    await eventually(async () => expect(await drawn()).toBeGreaterThan(0));
    expect(await chargers.stop()).toMatchObject({ code: 0, stderr: '' });
    await eventually(async () => expect(await drawn()).toBe(0));
  });

  it('runs a virtual charger with its own login, and reports in JSON', async () => {
    const { mqttUrl } = site;
    const login = ['--tenant', TENANT, '--location', 'quay-1', '--username', `${TENANT}/q1-a`];
    const chargers = start([
      'charger',
      'run',
      '--url',
      mqttUrl,
      ...login,
      '--password',
      'charger-secret-q1',
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

  it('reports the limits from the service, each with its reason and lease', async () => {
    const { file, mqttUrl } = site;
    const args = ['--url', mqttUrl, '--file', file, '--lively', '--report-every', '1', '--each', '--json'];
    const chargers = start(['charger', 'run', ...args]);
    const line = await chargers.line((text) => JSON.parse(text).leased === 1);
    const [connector] = JSON.parse(line).each;
    expect(connector).toMatchObject({ locationId: 'quay-1', controllerUuid: 'q1-a', connectorId: '1' });
    expect(connector.reason).not.toBe('failsafe');
    expect(connector.leaseLeftS).toBeGreaterThan(0);
    expect(connector.leaseLeftS).toBeLessThanOrEqual(60);
  });

  it('runs misbehaving chargers: one that ignores limits draws its hardware maximum', async () => {
    const { file, mqttUrl } = site;
    const chargers = start([
      ...['charger', 'run', '--url', mqttUrl, '--file', file, '--report-every', '1', '--each'],
      ...['--misbehave', 'power-only', 'flood', '--drift', '-2', '--pilot-delay', '5'],
    ]);
    const line = await chargers.line((text) => text.includes('q1-a/1'));
    expect(line).toMatch(/^ +q1-a\/1 {2}\w+ {2}\d+\.\d kW {2}limit 32\.0 A \(failsafe, no lease\)$/);
    const { stdout } = await chargers.stop();
    expect(stdout).toContain('leases 0/1');
  });

  it('runs chargers that switch to one phase below 3 kW; a charger without phase switching is paused', async () => {
    const { file, httpUrl, mqttUrl } = site;
    const headers = { 'x-api-key': API_KEY, 'content-type': 'application/json' };
    const limit = (limitKw: number) =>
      fetch(`${httpUrl}/v1/locations/quay-1/limit`, {
        method: 'PUT',
        headers,
        body: JSON.stringify({ limitKw }),
      });
    const args = [
      'charger',
      'run',
      '--url',
      mqttUrl,
      '--file',
      file,
      '--meter-period',
      '1',
      '--report-every',
      '1',
    ];
    await limit(3);
    for (const [flags, isSwitched] of [
      [['--ends-with-session', '--switches-phases'], true],
      [[], false],
    ] as const) {
      const chargers = start([...args, ...flags, '--each', '--json']);
      await chargers.line(
        (text) => JSON.parse(text).charging === 1 || JSON.parse(text).each[0].reason === 'paused',
      );
      await eventually(async () => {
        const live = await (await fetch(`${httpUrl}/v1/locations/quay-1/live`, { headers })).json();
        const [connector] = (live as { connectors: { isPhaseSwitched: boolean; reason: string }[] })
          .connectors;
        expect(connector).toMatchObject(
          isSwitched ? { isPhaseSwitched: true, limitPhases: 1 } : { reason: 'paused' },
        );
      });
      await chargers.stop();
    }
    await limit(50);
  });

  it('keeps trying to connect, and shows the reason why its chargers are refused', async () => {
    const { file, mqttUrl } = site;
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

  it('ends at a signal while the broker does not answer', async () => {
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
    [
      ['--url', 'mqtt://x', '--tenant', 't', '--location', 'l', '--switches-phases'],
      /^headroom: --switches-phases needs --ends-with-session: only such chargers may switch phases\n$/,
    ],
    [['--url', 'not a url'], /It must be a broker address such as mqtt:/],
    [['--url', 'http://x'], /It must be a broker address such as mqtt:/],
    [['--url', 'mqtt://x', '--count', '0'], /It must be a whole number from 1 to 10000/],
    [['--url', 'mqtt://x', '--connectors', '8'], /It must be a whole number from 1 to 7/],
    [['--url', 'mqtt://x', '--lease', 'long'], /Allowed choices are heartbeat, receipt, none/],
    [['--url', 'mqtt://x', '--misbehave', 'rudely'], /Allowed choices are late-reaction, ignore-limits, /],
    [['--url', 'mqtt://x', '--drift', 'slow'], /It must be a number from -50 to 50/],
    [[], /required option '--url <url>' not specified/],
  ])('refuses %j with the reason and exit code 2', async (args, message) => {
    const { code, stderr } = await run(['charger', 'run', ...args]);
    expect(code).toBe(2);
    expect(stderr).toMatch(message);
  });
});
