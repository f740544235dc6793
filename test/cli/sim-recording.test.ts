// `headroom serve --record` and `headroom sim replay`: the decisions of a site that was killed and started again, made
// once more.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { eventually } from '../eventually.js';
import { appendLines, linesIn } from '../sim/log/recording-lines.js';
import { run, serve, start, temporaryDirectory, writeFile } from './headroom.js';
import { API_KEY, siteYaml, TENANT } from './site.js';

const BRISK = { HEADROOM_HEARTBEAT_S: '1', HEADROOM_LEASE_TTL_S: '4', HEADROOM_SETTLE_S: '1' };

function limitsIn(recording: string): number {
  return readFileSync(recording, 'utf8').split('{"kind":"limit"').length - 1;
}

async function limitsTold(recording: string, atLeast: number): Promise<void> {
  await eventually(() => expect(limitsIn(recording)).toBeGreaterThanOrEqual(atLeast));
}

function chargers(mqttUrl: string, file: string) {
  return start(['charger', 'run', '--url', mqttUrl, '--file', file, '--meter-period', '1', '--lively']);
}

describe('headroom serve --record', () => {
  it('writes a recording with the same decisions in a replay, after a lost charger and a restart', async () => {
    const directory = temporaryDirectory();
    const recording = join(directory, 'site.recording');
    const file = writeFile(directory, 'site.yaml', siteYaml());
    const dataDir = join(directory, 'data');
    await run(['provision', file], { HEADROOM_DATA_DIR: dataDir });

    const first = await serve(dataDir, BRISK, ['--record', recording]);
    const lost = chargers(first.mqttUrl, file);
    await limitsTold(recording, 3);
    const body = JSON.stringify({ limitKw: 7 });
    const headers = { 'x-api-key': API_KEY, 'content-type': 'application/json' };
    const answer = await fetch(`${first.httpUrl}/v1/locations/quay-1/limit`, {
      method: 'PUT',
      headers,
      body,
    });
    expect(answer.status).toBe(200);
    await limitsTold(recording, 5);
    await lost.stop('SIGKILL');
    await eventually(() => expect(readFileSync(recording, 'utf8')).toContain('\\"online\\":false'));
    await first.stop('SIGKILL');
    const before = limitsIn(recording);

    const second = await serve(dataDir, BRISK, ['--record', recording]);
    const back = chargers(second.mqttUrl, file);
    await limitsTold(recording, before + 3);
    await back.stop();
    expect(await second.stop()).toMatchObject({ code: 0 });

    const { code, stdout, stderr } = await run(['sim', 'replay', recording]);
    // A killed service may leave half a block.
    expect(stderr).toMatch(/^(incomplete at line \d+; read up to there\n)?$/);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^a service that was started 2 times, from .* to .*: \d+ events\n/);
    expect(stdout).toContain(`\n${limitsIn(recording)} limits agree, 0 differ\n`);

    const text = readFileSync(recording, 'utf8');
    for (const secret of [
      API_KEY,
      '0123456789abcdefghij',
      'charger-secret-q1',
      'backend-secret',
      'gateway-secret',
    ])
      expect(text).not.toContain(secret);
    const call = linesIn(recording).find((line) => line.includes('"call":"setPermanentLimit"')) ?? '{}';
    const path = { locationId: 'quay-1' };
    expect(JSON.parse(call)).toMatchObject({ tenantUuid: TENANT, path, body: { limitKw: 7 } });

    const lines = [...linesIn(recording)];
    const limit = lines.findIndex((line) => line.startsWith('{"kind":"limit"'));
    const at = lines.slice(0, limit).findLast((line) => line.includes('"at":')) ?? '';
    const instant = new Date(JSON.parse(at).at).toISOString();
    const shown = await run(['sim', 'replay', recording, '--at', instant, '--connector', 'q1-a/1']);
    expect(shown.code).toBe(0);
    expect(shown.stdout).toMatch(/\nquay-1: \d+\.\d\d of 50\.00 kW \(permanentLimit\), .* kW reserved\n/);
    expect(shown.stdout).toMatch(/\nq1-a\/1 +\w+ +\d+\.\d\d +\d+(\.\d)? A +\w+ +\d s +online/);
    const json = await run(['sim', 'replay', recording, '--at', instant, '--json']);
    expect(JSON.parse(json.stdout)).toMatchObject({ differing: 0, locations: [{ locationId: 'quay-1' }] });

    lines[limit] = (lines[limit] ?? '').replace(/"limitA":[\d.]+/, '"limitA":31.9');
    const changed = join(directory, 'changed.recording');
    await appendLines(changed, lines);
    const found = await run(['sim', 'replay', changed]);
    expect(found.code).toBe(1);
    expect(found.stdout).toContain(`\n${limitsIn(recording) - 1} limits agree, 1 differs\n`);
    expect(found.stderr).toContain(`first difference: ${instant} q1-a/1 of quay-1 received 31.9 A`);
    for (const [flags, words] of [
      [['--at', '2020-01-01T00:00:00Z'], '--at lies before the recording, which begins at'],
      [['--connector', 'q1-a/1'], 'give its instant with --at'],
      [['--at', instant, '--connector', 'q1-a/9'], 'there is no connector q1-a/9'],
    ] as const) {
      const refused = await run(['sim', 'replay', recording, ...flags]);
      expect(refused.code).toBe(2);
      expect(refused.stderr).toContain(words);
    }
  });

  it('does not start if the file has other contents, and leaves it unchanged', async () => {
    const directory = temporaryDirectory();
    const letters = writeFile(directory, 'letters.txt', 'Dear all');
    const refused = await run(['serve', '--record', letters], {
      HEADROOM_DATA_DIR: join(directory, 'data'),
      HEADROOM_HTTP_PORT: '0',
      HEADROOM_MQTT_PORT: '0',
    });
    expect(refused.code).toBe(2);
    expect(refused.stderr).toBe(`headroom: ${letters} is there already, and holds something else\n`);
    expect(readFileSync(letters, 'utf8')).toBe('Dear all');
    expect((await run(['serve', '--help'])).stdout).toContain('--record <file>');
  });
});
