// Input that is no HTTP: answered in the envelope, in its turn, with a log line under the requestId of the answer.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { tokenErrorSchema } from '../../../src/features/tokens/contract.js';
import { requestText, statusesOf } from '../../../tools/bench/http-bytes.js';
import { eventually } from '../../eventually.js';
import { API_KEY, createRig, type Rig } from './http-rig.js';
import { rawClient } from './raw-client.js';

const KEY = { 'x-api-key': API_KEY };
const HEALTH = requestText('GET', '/health');
const HALF_A_TOKEN_REQUEST =
  'POST /v1/oauth/token HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{';
const CHUNKED =
  'POST /v1/clusters HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n';

let rig: Rig;
beforeEach(async () => {
  rig = await createRig();
});
afterEach(stop);

/** Skips the time in which connections may end cleanly. */
function stop(): Promise<void> {
  const stopped = rig.stop();
  rig.time.tick(10_000);
  return stopped;
}

/** The server's answer to these bytes, with its last response parsed. */
async function answerTo(bytes: string, url = rig.url) {
  const client = await rawClient(url);
  client.send(bytes);
  const text = await client.over;
  const [head = '', body = ''] = text.slice(text.lastIndexOf('HTTP/1.1 ')).split('\r\n\r\n');
  const requestId = /x-request-id: (\S+)/i.exec(head)?.[1];
  return { text, head, body, requestId, statuses: statusesOf(text) };
}

function logged(requestId: string | undefined): readonly unknown[] {
  const lines = rig.logLines.map((line) =>
    z.object({ requestId: z.string().optional() }).loose().parse(JSON.parse(line)),
  );
  return lines.filter((line) => requestId !== undefined && line.requestId === requestId);
}

async function patientRig(): Promise<void> {
  await stop();
  rig = await createRig({ settings: { httpHeaderTimeoutS: 0.2, httpRequestTimeoutS: 0.2 } });
}

describe('anything but an HTTP request', () => {
  it.each([
    [400, 'malformed', 'hello\r\n\r\n'],
    [400, 'malformed', 'GET / HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n'],
    [
      400,
      'malformed',
      'GET / HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n',
    ],
    [431, 'headers', `GET / HTTP/1.1\r\nhost: x\r\nx: ${'y'.repeat(20_000)}\r\n\r\n`],
    [431, 'headers', `GET /${'y'.repeat(20_000)} HTTP/1.1\r\nhost: x\r\n\r\n`],
  ])('is answered %i and logged under its requestId: %s', async (status, reason, bytes) => {
    const { body, requestId, statuses } = await answerTo(bytes);
    expect(statuses).toEqual([status]);
    const { error, error_description: description } = tokenErrorSchema.parse(JSON.parse(body));
    expect([error.requestId, description]).toEqual([requestId, error.message]);
    expect(logged(requestId)).toEqual([
      expect.objectContaining({
        level: 'info',
        msg: 'unreadable request',
        address: '127.0.0.1',
        status,
        error: expect.stringMatching(/^HPE_/),
      }),
    ]);
    expect((await rig.metrics.httpRefusals.get()).values).toEqual([{ labels: { reason }, value: 1 }]);
  });

  it('never shows its content in the log', async () => {
    await answerTo(`GET /v1/${API_KEY} HTTP/9.9\r\nhost: x\r\nx-api-key: ${API_KEY}\r\n\r\n`);
    await answerTo(`POST / HTTP/1.1\r\nx-api-key: ${API_KEY}${'y'.repeat(20_000)}\r\n\r\n`);
    expect(rig.logLines).toHaveLength(2);
    expect(rig.logLines.join('')).not.toContain(API_KEY.slice(-20));
  });

  it('waits for the answers to earlier requests', async () => {
    const { statuses } = await answerTo(`${HEALTH}${HEALTH}hello\r\n\r\n`);
    expect(statuses).toEqual([200, 200, 400]);
  });

  it('gets one answer, however much of it follows', async () => {
    const client = await rawClient(rig.url);
    client.send('hello\r\n\r\n');
    const text = await client.over;
    client.send(`more\r\n\r\n${HEALTH}`);
    expect((await rig.call('GET', '/health')).status).toBe(200);
    expect([client.text(), statusesOf(text)]).toEqual([text, [400]]);
    rig.time.tick(1_000);
    await eventually(async () =>
      expect((await rig.metrics.httpConnections.get()).values[0]?.value).toBeLessThanOrEqual(1),
    );
  });
});

describe('a request that breaks off', () => {
  it('in its headers is answered 408 and logged', async () => {
    await patientRig();
    const { statuses, requestId } = await answerTo('GET / HTTP/1.1\r\n');
    expect(statuses).toEqual([408]);
    expect(logged(requestId)).toMatchObject([{ status: 408, error: 'ERR_HTTP_REQUEST_TIMEOUT' }]);
  });

  it('in its body is answered 408 once, as the request it is in the log', async () => {
    await patientRig();
    const { statuses, requestId, body, head } = await answerTo(HALF_A_TOKEN_REQUEST);
    expect([statuses, head]).toEqual([[408], expect.stringMatching(/connection: close/i)]);
    expect(tokenErrorSchema.parse(JSON.parse(body)).error_description).toContain('in time');
    await eventually(() =>
      expect(logged(requestId)).toMatchObject([
        { msg: 'request', method: 'POST', path: '/v1/oauth/token', status: 408 },
      ]),
    );
  });

  it('in its body is answered 408, however long its client is silent', async () => {
    await stop();
    rig = await createRig({ silentAtMostMs: 50, settings: { httpRequestTimeoutS: 0.5 } });
    expect((await answerTo(HALF_A_TOKEN_REQUEST)).statuses).toEqual([408]);
  });

  it('in a chunk of its body is answered 400 once, and nothing is done', async () => {
    const { statuses, requestId } = await answerTo(
      `${CHUNKED}x-api-key: ${API_KEY}\r\n\r\n5\r\n{"na"\r\nno chunk\r\n`,
    );
    expect([statuses, rig.asked]).toEqual([[400], []]);
    await eventually(() => expect(logged(requestId)).toMatchObject([{ path: '/v1/clusters', status: 400 }]));
  });

  it('after others were answered has its answer last', async () => {
    await patientRig();
    expect((await answerTo(HEALTH + HALF_A_TOKEN_REQUEST)).statuses).toEqual([200, 408]);
  });

  it('behind one that is still answered is never begun', async () => {
    await stop();
    let answerNow: (() => void) | undefined;
    rig = await createRig({
      answers: {
        deleteCluster: ({ path: { clusterId } }) =>
          new Promise((resolve) => {
            answerNow = () => resolve({ deleted: true, clusterId });
          }),
      },
    });
    const client = await rawClient(rig.url);
    client.send(`${requestText('DELETE', '/v1/clusters/c-1', KEY)}${CHUNKED}\r\nno chunk\r\n`);
    await eventually(() => expect(answerNow).toBeDefined());
    answerNow?.();
    expect(statusesOf(await client.over)).toEqual([200, 400]);
    expect(rig.logLines.filter((line) => line.includes('"msg":"request"'))).toHaveLength(1);
  });

  it('after its answer gets no second one', async () => {
    await patientRig();
    // Without a credential, the server answers before the body arrives.
    const body = 'content-type: application/json\r\ncontent-length: 9\r\n\r\n{';
    expect((await answerTo(`POST /v1/clusters HTTP/1.1\r\nhost: x\r\n${body}`)).statuses).toEqual([401]);
  });
});
