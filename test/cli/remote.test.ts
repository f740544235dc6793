// Commands that are clients of a service: in their own process, over its REST API.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createHeadroom } from '../../client/headroom.js';
import { freePort } from '../free-port.js';
import { run, runJson, serve, start, temporaryDirectory, writeFile } from './headroom.js';
import { type ServedSite, serveSite } from './served-site.js';
import { API_KEY, siteYaml } from './site.js';

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
    expect((await ask('events', '--after', '999999')).stderr).toContain(
      `The newest event is ${last}: the log has no event 999999 yet.`,
    );
    const following = start(['events', '--after', last ?? '', '--follow', '--json'], environment);
    await headroom.delete('/v1/clusters/{clusterId}', { path: { clusterId } });
    expect(JSON.parse(await following.line(() => true))).toMatchObject({ type: 'cluster.deleted' });
    expect(await following.stop('SIGINT')).toMatchObject({ code: 0, stderr: '' });
  });

  it('makes a change with a key once, however often the command runs', async () => {
    const profile = ['schedule', 'quay-1', '--limit', '7', '--from', FROM, '--to', TO, '--priority', '6'];
    const key = ['--idempotency-key', 'evening "peak" \\ 1'];
    const [first, second] = [await ask(...profile, ...key), await ask(...profile, ...key)];
    expect(first.code).toBe(0);
    expect(second.stdout).toBe(first.stdout);
    await ask('schedule', 'quay-1', '--cancel', '6');
    expect(await askJson('schedule', 'quay-1')).toMatchObject({ profiles: [] });
    const create = ['cluster', '--create', 'Once', '--location', 'quay-1', '--limit', '30'];
    const [cluster] = [
      await askJson(...create, ...key.with(1, 'c-1')),
      await ask(...create, ...key.with(1, 'c-1')),
    ];
    expect(await askJson('cluster')).toEqual([cluster]);
    expect((await ask('cluster', String(Object(cluster).clusterId), '--delete')).stdout).toMatch(
      /^Deleted \S+\.\n$/,
    );
    await ask('limit', 'quay-1', '41', ...key.with(1, 'l-1'));
    await ask('limit', 'quay-1', '39');
    // The late repetition does not undo the change since.
    expect((await ask('limit', 'quay-1', '41', ...key.with(1, 'l-1'))).stdout).toMatch(/quay-1 +39 +39 +39/);
  });

  it('changes and deletes a cluster only as its ETag shows it', async () => {
    const cluster = Object(await askJson('cluster', '--create', 'Quays', '--location', 'quay-1'));
    const { clusterId } = cluster;
    const { etag } = Object(await askJson('cluster', clusterId));
    const { stderr } = await ask('cluster', clusterId);
    expect(stderr).toBe(`For a change of this state alone: --if-match '${etag}'\n`);
    // A shell removes the quotes.
    const changed = await ask('cluster', clusterId, '--limit', '22', '--if-match', etag.replaceAll('"', ''));
    expect(changed).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^Quays, ACTIVE: 0 kW of 22 kW\n/),
    });
    for (const change of [['--limit', 'none'], ['--delete']])
      expect(await ask('cluster', clusterId, ...change, '--if-match', etag)).toEqual({
        code: 1,
        stdout: '',
        stderr: expect.stringMatching(
          /^headroom: --if-match: .* changed .*"headroom cluster CLUSTER".*new ETag\.\n$/,
        ),
      });
    expect((await ask('cluster', clusterId, '--limit', 'none', '--if-match', '*')).stdout).toMatch(
      /without a cap/,
    );
    expect((await ask('cluster', clusterId, '--delete')).code).toBe(0);
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

describe('A command that follows a service', () => {
  it('outlives a restart of the service, and reports it', async () => {
    const directory = temporaryDirectory();
    const data = { HEADROOM_DATA_DIR: directory, HEADROOM_HTTP_PORT: String(await freePort()) };
    await run(['provision', writeFile(directory, 'site.yaml', siteYaml())], data);
    const before = await serve(directory, data);
    const client = { HEADROOM_URL: before.httpUrl, HEADROOM_KEY: API_KEY };
    const watching = start(['watch', 'quay-1'], client);
    const following = start(['events', '--follow'], client);
    await watching.line((line) => line.endsWith('of 50 kW'));
    await following.line(() => true);
    const isReported = [watching, following].map(
      ({ process }) => new Promise((resolve) => process.stderr?.once('data', resolve)),
    );
    await before.stop();
    await Promise.all(isReported);
    await serve(directory, data);
    await run(['limit', 'quay-1', '41'], client);
    await watching.line((line) => line.endsWith('of 41 kW'));
    await following.line((line) => line.includes('permanentLimit.changed'));
    for (const each of [watching, following]) {
      const { code, stderr } = await each.stop('SIGINT');
      expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining('; trying again\n') });
    }
  });
});

describe('The help of a command for a running service', () => {
  it.each([
    ['limit', ['--idempotency-key']],
    ['schedule', ['--idempotency-key']],
    ['cluster', ['--idempotency-key', '--if-match', '--delete', '--create']],
  ] as const)('of %s has %j', async (command, flags) => {
    const { stdout } = await ask(command, '--help');
    for (const flag of flags) expect(stdout).toContain(flag);
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
    expect((await ask('schedule', 'quay-1', '--limit', '5', ...past)).stderr).toMatch(
      /^headroom: --to: must/,
    );
    expect((await ask('sessions', '--from', '2020-01-01T00:00:00Z')).stderr).toMatch(
      /^headroom: --from: must be at most 366 days before to\n$/,
    );
    const stranger = await run(['status', '--key', 'hr_stranger1_x'], environment);
    expect({ code: stranger.code, stderr: stranger.stderr }).toEqual({
      code: 1,
      stderr: expect.stringMatching(/^headroom: .*API key.*HEADROOM_KEY or --key\.\n$/),
    });
  });

  it('with 1, the flag and the way out, if a key belongs to another request', async () => {
    const key = ['--idempotency-key', 'reused'];
    await ask('limit', 'quay-1', '40', ...key);
    const window = ['--from', FROM, '--to', TO];
    for (const other of [
      ['limit', 'quay-1', '38'],
      ['schedule', 'quay-1', '--limit', '5', ...window],
      ['cluster', '--create', 'Other', '--location', 'quay-1'],
    ])
      expect(await ask(...other, ...key)).toEqual({
        code: 1,
        stdout: '',
        stderr: expect.stringMatching(/^headroom: --idempotency-key: .*another request.*give a new key.*\n$/),
      });
    expect(await askJson('cluster')).toEqual([]);
  });

  it('with 1 and the reason, if nobody answers', async () => {
    const url = `http://127.0.0.1:${await freePort()}`;
    expect(await ask('status', '--url', url)).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^headroom: .*ECONNREFUSED/),
    });
    expect(await ask('events', '--follow', '--url', url)).toMatchObject({ code: 1 });
    expect((await ask('status', '--url', site.httpUrl.replace('http', 'https'))).stderr).toMatch(
      /^headroom: .*TLS: wrong version number\n$/,
    );
  });

  it.each([
    [['status', '--key', ''], 'HEADROOM_KEY'],
    [['status', '--url', 'quay'], 'https://headroom.example'],
    [['status', ''], 'must not be empty'],
    [['cluster', '', '--delete'], 'must not be empty'],
    [['sessions', '--location', ''], 'must not be empty'],
    [['limit', 'quay-1', '-4'], 'number in kW'],
    [['limit', 'quay-1', 'much'], 'number in kW'],
    [['schedule', 'quay-1', '--limit', '5'], '--limit and --to'],
    [['schedule', 'quay-1', '--priority', '5'], '--limit and --to'],
    [['schedule', 'quay-1', '--cancel', '5', '--limit', '5'], 'cannot be used with'],
    [['schedule', 'quay-1', '--limit', '5', '--to', 'noon'], 'instant'],
    [['schedule', 'quay-1', '--limit', '5', '--to', TO, '--idempotency-key', 'k'], '--from'],
    [['schedule', 'quay-1', '--cancel', '5', '--idempotency-key', 'k'], 'cannot be used with'],
    [['limit', 'quay-1', '--idempotency-key', 'k'], '--idempotency-key needs a new limit'],
    [['limit', 'quay-1', '5', '--idempotency-key', ''], '--idempotency-key'],
    [['limit', 'quay-1', '5', '--idempotency-key', 'é'], 'printable ASCII'],
    [['limit', 'quay-1', '5', '--idempotency-key', 'k'.repeat(256)], '1 to 255'],
    [['cluster', '--create', 'A'], '--location'],
    [['cluster', 'c', '--create', 'A', '--location', 'quay-1'], 'no clusterId'],
    [['cluster', '--location', 'quay-1'], '--location needs --create'],
    [['cluster', 'c', '--limit', '5', '--idempotency-key', 'k'], '--idempotency-key needs --create'],
    [['cluster', '--delete'], 'clusterId'],
    [['cluster', 'c', '--delete', '--limit', '5'], 'cannot be used with'],
    [['cluster', 'c', '--if-match', '*'], '--if-match needs the clusterId with'],
    [['cluster', 'c', '--delete', '--if-match', 'a b'], 'headroom cluster CLUSTER'],
  ])('with 2, and nothing sent, after %j', async (words, message) => {
    const { code, stdout, stderr } = await ask(...words);
    expect({ code, stdout, stderr }).toEqual({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining(message),
    });
  });
});
