// Authorization of id tags by a list or a web service, and the result if that does not answer.
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { IdTagFile, idTagsOf } from '../../src/gateway/ocpp/id-tags.js';
import { temporaryDirectory, writeFile } from '../cli/headroom.js';
import { silentLog } from '../service/running-service.js';

const QUAY_A = { tenantUuid: 'harbour', controllerUuid: 'quay-a' };

let server: Server | undefined;
const asked: unknown[] = [];

afterEach(() => {
  server?.closeAllConnections();
  server?.close();
  asked.length = 0;
});

/** A web service that answers with `body`, or never if that is undefined. */
async function hook(status: number, body: string | undefined) {
  server = createServer((request, response) => {
    let text = '';
    request.on('data', (data) => {
      text += data;
    });
    request.on('end', () => {
      asked.push(JSON.parse(text));
      if (body !== undefined) response.writeHead(status, { 'content-type': 'application/json' }).end(body);
    });
  });
  await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/tags`;
  return idTagsOf({ kind: 'webhook', url }, QUAY_A, silentLog);
}

describe('A web service for id tags', () => {
  it('receives the charger and the tag, and its answer decides', async () => {
    const ask = await hook(200, '{"status":"Blocked","more":1}');
    expect(await ask('04A2')).toBe('Blocked');
    expect(asked).toEqual([{ ...QUAY_A, idTag: '04A2' }]);
  });

  it.each([
    ['another status', 200, '{"status":"Perhaps"}'],
    ['no status', 200, '[]'],
    ['no JSON', 200, 'Accepted'],
    ['an error', 500, '{"status":"Accepted"}'],
  ])('authorizes no tag if it answers with %s', async (_, status, body) => {
    expect(await (await hook(status, body))('04A2')).toBe('Invalid');
  });

  it('authorizes no tag if it does not answer or is unreachable', async () => {
    expect(await (await hook(200, undefined))('04A2')).toBe('Invalid');
    const nobody = idTagsOf({ kind: 'webhook', url: 'http://127.0.0.1:1/' }, QUAY_A, silentLog);
    expect(await nobody('04A2')).toBe('Invalid');
  });
});

describe('A file of id tags', () => {
  it('authorizes its tags regardless of upper and lower case (OCPP 1.6, CiString)', async () => {
    const file = writeFile(temporaryDirectory(), 'tags', '\uFEFFGOOD1\r\n\n  04a2 \n');
    const ask = idTagsOf({ kind: 'list', idTags: new IdTagFile(file) }, QUAY_A, silentLog);
    expect(await Promise.all(['good1', 'Good1', '04A2'].map(ask))).toEqual(Array(3).fill('Accepted'));
    expect(await Promise.all(['good', '', 'good1 04a2'].map(ask))).toEqual(Array(3).fill('Invalid'));
  });
});
