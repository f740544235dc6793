// A service under attack on its REST side: it still answers, chargers connect, no memory is kept, and it stops in time.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { requestText } from '../../tools/bench/http-bytes.js';
import { openFilesOf, residentBytes } from '../../tools/bench/process-figures.js';
import { eventually } from '../eventually.js';
import { type RawClient, rawClient } from '../inbound/http/raw-client.js';
import { connectOnce } from '../mqtt-client.js';
import { needing } from '../needs.js';
import { run, serve, serveForFile, temporaryDirectory, writeFile } from './headroom.js';
import { siteYaml, TENANT } from './site.js';

const MANY = 300;

function residentMb(pid: number | undefined): number {
  return residentBytes(pid ?? 0) / 1024 / 1024;
}

async function clients(url: string, count: number, isReading = true): Promise<readonly RawClient[]> {
  const made: RawClient[] = [];
  for (let i = 0; i < count; i++) made.push(await rawClient(url, { isReading }));
  return made;
}

describe('A service under attack', needing(process.platform === 'linux' ? undefined : 'Linux'), () => {
  it('accepts chargers and clients, and stops, despite 300 silent connections and a limit of 256 open files', async () => {
    const directory = temporaryDirectory();
    const dataDir = join(directory, 'data');
    await run(['provision', writeFile(directory, 'site.yaml', siteYaml())], { HEADROOM_DATA_DIR: dataDir });
    const service = await serve(dataDir, {}, [], 256);
    const silent = await clients(service.httpUrl, MANY);
    expect((await fetch(`${service.httpUrl}/health`)).status).toBe(200);
    const charger = await connectOnce(service.mqttUrl, {
      clientId: 'q1-a',
      username: `${TENANT}/q1-a`,
      password: 'charger-secret-q1',
    });
    onTestFinished(() => charger.endAsync(true));
    expect((await fetch(`${service.httpUrl}/v1/openapi.json`)).status).toBe(200);
    expect(silent.filter(({ isOver }) => !isOver()).length).toBeLessThanOrEqual(64);
    expect(await service.stop()).toMatchObject({ code: 0 });
  });

  describe('with clients that disconnect', () => {
    let service: Awaited<ReturnType<typeof serveForFile>>;
    let dataDir: string;
    beforeAll(async () => {
      dataDir = mkdtempSync(join(tmpdir(), 'headroom-attacked-'));
      service = await serveForFile(dataDir);
    });
    afterAll(async () => {
      await service.stop();
      rmSync(dataDir, { recursive: true, force: true });
    });

    it.each(['/docs/swagger-ui-bundle.js', '/', '/v1/openapi.json', '/v1/asyncapi.json', '/metrics'])(
      'keeps no file open after 200 requests for %s at once',
      async (path) => {
        expect((await fetch(service.httpUrl + path)).status).toBe(200);
        const before = openFilesOf(service.process.pid ?? 0);
        for (const count of [17, 200]) {
          const client = await rawClient(service.httpUrl, { isReading: false });
          client.send(requestText('GET', path).repeat(count));
          expect((await fetch(`${service.httpUrl}/health`)).status).toBe(200);
          client.socket.destroy();
        }
        await eventually(() => expect(openFilesOf(service.process.pid ?? 0)).toBeLessThanOrEqual(before));
      },
    );
  });

  it('uses little memory for 56 connections that send 3,000 requests and never read', async () => {
    const service = await serve(temporaryDirectory());
    expect((await fetch(`${service.httpUrl}/health`)).status).toBe(200);
    const before = residentMb(service.process.pid);
    const crowd = await clients(service.httpUrl, 56, false);
    for (const { send } of crowd) send(requestText('GET', '/v1/openapi.json').repeat(3_000));
    await eventually(async () => expect((await fetch(`${service.httpUrl}/health`)).status).toBe(200));
    const text = await (await fetch(`${service.httpUrl}/metrics`)).text();
    expect(text).toContain('headroom_http_refusals_total{reason="pipelined"}');
    expect(residentMb(service.process.pid) - before).toBeLessThan(300);
    expect(await service.stop()).toMatchObject({ code: 0 });
  });

  it.each([
    ['nothing', ''],
    [
      'half a request',
      'POST /v1/oauth/token HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{',
    ],
  ])('stops with exit code 0 while a connection has sent %s', async (_, bytes) => {
    const service = await serve(temporaryDirectory());
    const client = await rawClient(service.httpUrl);
    if (bytes !== '') client.send(bytes);
    expect((await fetch(`${service.httpUrl}/health`)).status).toBe(200);
    expect(await service.stop()).toMatchObject({ code: 0, stderr: '' });
  });
});
