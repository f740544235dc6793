// Commands that are clients of a service: in their own process, over its REST API.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createHeadroom } from '../../client/headroom.js';
import { freePort } from '../free-port.js';
import { run, runJson, start } from './headroom.js';
import { type ServedSite, serveSite } from './served-site.js';
import { API_KEY } from './site.js';

const FROM = '2030-06-01T17:00:00.000Z';
const TO = '2030-06-01T19:00:00.000Z';

let site: ServedSite;
let environment: Record<string, string>;
beforeAll(async () => {
  site = await serveSite();
  environment = { HEADROOM_URL: site.httpUrl, HEADROOM_KEY: API_KEY };
});
afterAll(() => site.close());

const ask = (...words: readonly string[]) => run(words, environment);
const askJson = (...words: readonly string[]) => runJson(words, environment);

describe('A command for a running service', () => {
  it('takes address and key as flags, too', async () => {
    const flags = ['--url', site.httpUrl, '--key', API_KEY];
    expect((await run(['status', ...flags])).stdout).toMatch(
      /LOCATION +NAME +LIMIT kW +POWER kW .*\nquay-1 +Quay 1 +\d+ +0 /,
    );
  });

  it('shows the connectors of a location with the reasons of their limits', async () => {
    const { code, stdout } = await ask('status', 'quay-1');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^Quay 1: 0 kW of \d+ kW\n/);
    expect(stdout).toMatch(/CONNECTOR +STATUS +LIMIT kW +POWER kW +REASON *\nq1-a\/1 /);
  });

  it('reads the limits of a location, and sets the permanent one', async () => {
    expect((await ask('limit', 'quay-1', '42.5')).stdout).toMatch(
      /LOCATION +PERMANENT kW +BY PROFILES kW +IN FORCE kW *\nquay-1 +42\.5 +42\.5 +42\.5 *\n/,
    );
    expect(await askJson('limit', 'quay-1')).toEqual({
      locationId: 'quay-1',
      permanentLimitKw: 42.5,
      effectiveLimitKw: 42.5,
      gridLimitKw: 42.5,
    });
  });

  it('submits, lists and cancels profiles, and prints that a limit does not fit', async () => {
    expect((await ask('schedule', 'quay-1')).stderr).toBe('No profiles: the permanent limit applies.\n');
    const window = ['--from', '2030-06-01T19:00:00+02:00', '--to', TO];
    const submitted = await ask('schedule', 'quay-1', '--limit', '2', ...window, '--priority', '5');
    expect(submitted.code).toBe(0);
    expect(submitted.stdout).toContain(`5         2         ${FROM}  ${TO}  SCHEDULED`);
    expect(submitted.stderr).toContain('the 6 A minimum');
    expect(await askJson('schedule', 'quay-1')).toMatchObject({ profiles: [{ priority: 5, limitKw: 2 }] });
    expect((await ask('schedule', 'quay-1', '--cancel', '5')).stdout).toContain('CANCELLED');
    expect(await askJson('schedule', 'quay-1')).toMatchObject({ profiles: [] });
  });

  it('lists clusters, their members and their events', async () => {
    expect((await ask('cluster')).stderr).toBe('No clusters yet.\n');
    const headroom = createHeadroom({ url: site.httpUrl, apiKey: API_KEY });
    const body = { name: 'Harbour', locationIds: ['quay-1'], limitKw: 30 };
    const { clusterId } = await headroom.post('/v1/clusters', { body });
    expect((await ask('cluster')).stdout).toContain(`${clusterId}  Harbour  30      ACTIVE  1`);
    expect((await ask('cluster', clusterId)).stdout).toMatch(
      /^Harbour, ACTIVE: 0 kW of 30 kW\nLOCATION +SET kW +SHARE kW +POWER kW *\nquay-1 +\d.* 30 +0/,
    );
    const events = await ask('events', '--type', 'cluster.changed', 'cluster.deleted');
    expect(events.stdout).toMatch(/ID +AT +TYPE +OF +BY *\n\d+ +\S+ +cluster\.changed +apiKey:clitest1/);
    const [, last] = /--after (\d+)/.exec(events.stderr) ?? [];
    const following = start(['events', '--after', last ?? '', '--follow', '--json'], environment);
    await headroom.delete('/v1/clusters/{clusterId}', { path: { clusterId } });
    expect(JSON.parse(await following.line(() => true))).toMatchObject({ type: 'cluster.deleted' });
    expect(await following.stop('SIGINT')).toMatchObject({ code: 0, stderr: '' });
  });

  it('prints a line for each change of the limit, until it is stopped', async () => {
    await ask('limit', 'quay-1', '40');
    const watching = start(['watch', 'quay-1'], environment);
    await watching.line((line) => line.endsWith('Z  0 kW of 40 kW'));
    await ask('limit', 'quay-1', '39');
    await watching.line((line) => line.endsWith('Z  0 kW of 39 kW'));
    const { code, stdout, stderr } = await watching.stop('SIGINT');
    expect({ code, lines: stdout.trim().split('\n').length, stderr }).toEqual({
      code: 0,
      lines: 2,
      stderr: '',
    });
  });

  it('lists the sessions that ended in a sandbox, and the power that its cars draw', async () => {
    const sandbox = start([
      ...['sandbox', 'scenarios/ordinary-depot-day.yaml', '--port', '0', '--control-port', '0'],
      ...['--start', '2026-06-01T10:00:00Z', '--seed', '1', '--speed', '0'],
    ]);
    const wordOf = async (name: string) =>
      (await sandbox.line((line) => line.trim().startsWith(name)))
        .trim()
        .slice(name.length)
        .trim()
        .split(/[, ]/)[0];
    const url = (await wordOf('REST API'))?.replace(/\/v1$/, '') ?? '';
    const flags = ['--url', url, '--key', (await wordOf('API key')) ?? ''];
    const watching = start(['watch', 'site-1', '--json', ...flags]);
    await watching.line(() => true);
    await fetch(`${await wordOf('Clock')}/clock`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ advance: 'P1D' }),
    });
    await watching.line((line) => JSON.parse(line).actualKw > 20);
    const span = ['--from', '2026-06-01T10:00:00Z', '--to', '2026-06-02T10:00:00Z'];
    const { stdout } = await run(['sessions', '--location', 'site-1', ...span, ...flags]);
    expect(stdout).toMatch(
      /LOCATION +CONNECTOR +BEGIN +END +ENERGY kWh +PEAK kW +DEPARTURE *\nsite-1 +\S+\/1 +2026-06-0/,
    );
    expect(await run(['sessions', '--location', 'nowhere', ...flags])).toMatchObject({ code: 1 });
    await watching.stop('SIGINT');
    await sandbox.stop();
  });
});

describe('A command for a running service ends', () => {
  it('with 1 and the message of the service, if it refuses the request', async () => {
    expect(await ask('limit', 'nowhere')).toEqual({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/^headroom: .*nowhere.*\n$/),
    });
    const past = ['--from', '2020-06-01T17:00:00Z', '--to', '2020-06-01T18:00:00Z'];
    expect((await ask('schedule', 'quay-1', '--limit', '5', ...past)).stderr).toContain('endTime');
    const stranger = await run(['status', '--key', 'hr_stranger1_x'], environment);
    expect({ code: stranger.code, stderr: stranger.stderr }).toEqual({
      code: 1,
      stderr: expect.stringMatching(/^headroom: .+\n$/),
    });
  });

  it('with 1 and the reason, if nobody answers', async () => {
    const url = `http://127.0.0.1:${await freePort()}`;
    expect(await ask('status', '--url', url)).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^headroom: .*ECONNREFUSED/),
    });
  });

  it.each([
    [['status', '--key', ''], 'HEADROOM_KEY'],
    [['status', '--url', 'quay'], 'https://headroom.example'],
    [['limit', 'quay-1', '-4'], 'number in kW'],
    [['limit', 'quay-1', 'much'], 'number in kW'],
    [['schedule', 'quay-1', '--limit', '5'], '--limit and --to'],
    [['schedule', 'quay-1', '--priority', '5'], '--limit and --to'],
    [['schedule', 'quay-1', '--cancel', '5', '--limit', '5'], 'cannot be used with'],
    [['schedule', 'quay-1', '--limit', '5', '--to', 'noon'], 'instant'],
  ])('with 2, and nothing sent, after %j', async (words, message) => {
    const { code, stdout, stderr } = await ask(...words);
    expect({ code, stdout, stderr }).toEqual({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining(message),
    });
  });
});
