// Faults of the service: the caller gets a code and a requestId, and the log gets the rest.
import { once } from 'node:events';
import { request } from 'node:http';
import { connect } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { StoreUnavailableError } from '../../../src/ports/store.js';
import { generateSecret } from '../../../src/secrets.js';
import { errorEnvelopeSchema } from '../../../src/wire/error-envelope.js';
import { eventually } from '../../eventually.js';
import { API_KEY, bearer, CLIENT, createRig, type Rig, type RigOptions } from './http-rig.js';
import { WINDOW } from './sample-requests.js';

const KEY = { 'x-api-key': API_KEY };
const LIMITS = '/v1/locations/quay-1/limits';
const SCHEDULES = '/v1/locations/quay-1/schedules';

let rig: Rig;
afterEach(() => rig.stop());

function fails(error: Error): NonNullable<RigOptions['answers']> {
  return {
    getLocationLimits: () => {
      throw error;
    },
    scheduleLocation: () => Promise.reject(error),
  };
}

/** An application that answers a deletion only on demand. */
function heldDeletion() {
  let wasAsked = () => {};
  let answer = () => {};
  const asked = new Promise<void>((resolve) => {
    wasAsked = resolve;
  });
  const answers: NonNullable<RigOptions['answers']> = {
    deleteCluster: ({ path: { clusterId } }) =>
      new Promise((resolve) => {
        answer = () => resolve({ deleted: true, clusterId });
        wasAsked();
      }),
  };
  return { answers, asked, answerNow: () => answer() };
}

function logged(requestId: unknown): Record<string, unknown>[] {
  return rig.logLines.map((line) => JSON.parse(line)).filter((line) => line.requestId === requestId);
}

describe('a defect', () => {
  it.each([
    ['GET', LIMITS],
    ['POST', SCHEDULES],
  ])(
    'behind %s %s answers 500 without details; the log has the stack under the same requestId',
    async (method, path) => {
      rig = await createRig({ answers: fails(new TypeError('secret of the house')) });
      const answer = await rig.call(method, path, {
        headers: KEY,
        body: method === 'POST' ? WINDOW : undefined,
      });
      const text = await answer.text();
      const { error } = JSON.parse(text);
      expect([answer.status, error.code]).toEqual([500, 'INTERNAL_ERROR']);
      expect(text).not.toMatch(/secret of the house|TypeError|\.ts|at /);
      expect(logged(error.requestId)).toContainEqual(
        expect.objectContaining({
          level: 'error',
          err: expect.objectContaining({
            message: 'secret of the house',
            stack: expect.stringContaining('faults.test'),
          }),
        }),
      );
    },
  );

  it('leaves the service running', async () => {
    rig = await createRig({ answers: fails(new Error('once')) });
    await rig.call('GET', LIMITS, { headers: KEY });
    expect((await rig.call('GET', '/v1/clusters', { headers: KEY })).status).toBe(200);
  });
});

describe('a store that cannot write', () => {
  it('answers 503 with Retry-After, and only the log has the reason', async () => {
    rig = await createRig({ answers: fails(new StoreUnavailableError('disk full at /var/lib')) });
    const answer = await rig.call('POST', SCHEDULES, { headers: KEY, body: WINDOW });
    const { error } = errorEnvelopeSchema.parse(await answer.json());
    expect([answer.status, error.code, answer.headers.get('retry-after')]).toEqual([
      503,
      'SERVICE_UNAVAILABLE',
      '1',
    ]);
    expect(error.message).not.toContain('disk');
    expect(JSON.stringify(logged(error.requestId))).toContain('disk full');
  });
});

describe('the log', () => {
  it('has one line a request with method, path and outcome', async () => {
    rig = await createRig();
    const answer = await rig.call('GET', `${LIMITS}?a=hidden`, { headers: KEY });
    const requestId = answer.headers.get('x-request-id');
    await eventually(() =>
      expect(logged(requestId)).toEqual([
        {
          level: 'info',
          time: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
          msg: 'request',
          requestId,
          tenantUuid: '0b6cf0c4-6d0f-4e0e-9f0a-5f6c3b1d2a10',
          method: 'GET',
          path: LIMITS,
          status: 200,
          ms: expect.any(Number),
        },
      ]),
    );
  });

  it('never shows a secret, in any part of a request', async () => {
    rig = await createRig({ answers: fails(new Error('defect')) });
    const token = bearer(rig).authorization ?? '';
    const secrets = [
      API_KEY,
      API_KEY.slice(-20),
      token.slice(7),
      CLIENT.secret,
      encodeURIComponent(CLIENT.secret),
    ];
    await rig.call('GET', LIMITS, { headers: KEY });
    await rig.call('GET', LIMITS, { headers: { authorization: token } });
    await rig.call('GET', LIMITS, { headers: { authorization: `${token}x` } });
    await rig.call('GET', `/v1/clusters?api_key=${API_KEY}`, { headers: KEY });
    await rig.call('POST', SCHEDULES, { headers: KEY, body: `{"key":"${API_KEY}",` });
    for (const body of [
      `{"client_secret":"${CLIENT.secret}"`,
      { client_id: CLIENT.id, client_secret: CLIENT.secret },
    ]) {
      await rig.call('POST', '/v1/oauth/token', { body });
    }
    await eventually(() =>
      expect(rig.logLines.filter((line) => line.includes('"msg":"request"'))).toHaveLength(7),
    );
    for (const secret of secrets) expect(rig.logLines.join('')).not.toContain(secret);
  });
});

describe('a path in the log', () => {
  const JWT = `eyJhbGciOiJFUzI1NiJ9.${'a-b_c'.repeat(20)}.${'d-e_f'.repeat(15)}`;
  const GENERATED = generateSecret();

  it.each([
    ['an API key', `/v1/${API_KEY}`, '/v1/hr_harbour1_[redacted]'],
    ['an API key with something behind it', `/v1/${API_KEY}/limits`, '/v1/hr_harbour1_[redacted]/limits'],
    ['an encoded API key', `/v1/${API_KEY.replaceAll('_', '%5F')}`, '/v1/hr_harbour1_[redacted]'],
    ['an API key that is cut off', `/${'x/'.repeat(90)}${API_KEY}`, `/${'x/'.repeat(90)}hr_harbour1_[redact`],
    ['a token', `/v1/locations/${JWT}/limits`, '/v1/locations/[redacted]/limits'],
    ['a token that is cut off', `/${'x/'.repeat(95)}${JWT}`, `/${'x/'.repeat(95)}[redacted`],
    ['a client secret', `/v1/clusters/${GENERATED}`, '/v1/clusters/[redacted]'],
    ['a key in a query', `/v1/clusters?key=${API_KEY}`, '/v1/clusters'],
    ['no secret', '/v1/chargers/0b6cf0c4-6d0f-4e0e-9f0a-5f6c3b1d2a10', undefined],
    ['no secret, though it is long', `/v1/locations/${'a-longer.name:'.repeat(9)}`, undefined],
  ])('shows nothing of %s', async (_, path, shown) => {
    rig = await createRig();
    const requestId = (await rig.call('GET', path)).headers.get('x-request-id');
    await eventually(() => expect(logged(requestId)).toMatchObject([{ path: shown ?? path }]));
  });
});

describe('the figures', () => {
  it('name routes by their pattern, never by their content', async () => {
    rig = await createRig();
    await rig.call('GET', LIMITS, { headers: KEY });
    await rig.call('GET', '/nowhere-in-particular');
    await eventually(async () => {
      const text = await (await rig.call('GET', '/metrics')).text();
      expect(text).toContain(
        'headroom_http_request_seconds_count{route="/v1/locations/{locationId}/limits",status="200"} 1',
      );
      expect(text).toContain('headroom_http_request_seconds_count{route="unmatched",status="404"} 1');
      expect(text).not.toMatch(/quay-1|nowhere|0b6cf0c4/);
    });
  });
});

describe('a client that leaves before its answer', () => {
  it('is noticed and harms nobody', async () => {
    const { answers, asked, answerNow } = heldDeletion();
    rig = await createRig({ answers });
    const sent = request(`${rig.url}/v1/clusters/c-1`, { method: 'DELETE', headers: KEY });
    sent.on('error', () => undefined);
    sent.end();
    await asked;
    sent.destroy();
    await eventually(() => expect(rig.logLines.join('')).toContain('"status":499'));
    answerNow();
    expect((await rig.call('GET', LIMITS, { headers: KEY })).status).toBe(200);
  });
});
describe('stopping', () => {
  it('finishes accepted requests, takes no new ones, and closes idle connections', async () => {
    const { answers, asked, answerNow } = heldDeletion();
    rig = await createRig({ answers });
    const { hostname, port } = new URL(rig.url);
    const idle = connect(Number(port), hostname);
    await once(idle, 'connect');
    idle.write(`GET /health HTTP/1.1\r\nhost: x\r\n\r\n`);
    await once(idle, 'data');
    const idleClosed = once(idle, 'close');

    const inFlight = rig.call('DELETE', '/v1/clusters/c-1', { headers: KEY });
    await asked;
    const stopped = rig.server.stop();
    await idleClosed;
    await expect(rig.call('GET', '/health')).rejects.toThrow();

    answerNow();
    const answer = await inFlight;
    expect([answer.status, answer.headers.get('connection')]).toEqual([200, 'close']);
    expect(await answer.json()).toEqual({ deleted: true, clusterId: 'c-1' });
    await stopped;
  });

  it('answers 503 to a request that still arrives on an open connection', async () => {
    const { answers, asked, answerNow } = heldDeletion();
    rig = await createRig({ answers });
    const { hostname, port } = new URL(rig.url);
    const slow = rig.call('DELETE', '/v1/clusters/c-1', { headers: KEY });
    await asked;
    const socket = connect(Number(port), hostname);
    await once(socket, 'connect');
    // A half-sent request is not idle: it may be finished, and is refused.
    socket.write('GET /v1/clusters HTTP/1.1\r\nhost: x\r\n');
    await rig.call('GET', '/health');
    const stopped = rig.server.stop();
    let text = '';
    socket.on('data', (chunk) => {
      text += chunk;
    });
    socket.write('\r\n');
    await once(socket, 'close');
    expect(text).toMatch(/^HTTP\/1.1 503 /);
    expect(text).toMatch(/retry-after: 5/);
    expect(text).toMatch(/connection: close/i);
    expect(text).toContain('SERVICE_UNAVAILABLE');
    answerNow();
    expect((await slow).status).toBe(200);
    await stopped;
  });

  it('does not wait longer than ten seconds for an answer', async () => {
    const { answers, asked } = heldDeletion();
    rig = await createRig({ answers });
    const lost = rig.call('DELETE', '/v1/clusters/c-1', { headers: KEY });
    await asked;
    const stopped = rig.server.stop();
    rig.time.tick(10_000);
    await stopped;
    await expect(lost).rejects.toThrow();
  });
});
