// Malformed bodies, strange paths and wrong methods: each gets its documented error, which names the problem.
import { request } from 'node:http';
import { connect } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { errorEnvelopeSchema } from '../../../src/wire/error-envelope.js';
import { TENANT } from './fake-application.js';
import { API_KEY, createRig, type Rig } from './http-rig.js';
import { SAMPLES, WINDOW } from './sample-requests.js';

const KEY = { 'x-api-key': API_KEY };
const SCHEDULES = '/v1/locations/quay-1/schedules';
let rig: Rig;

beforeAll(async () => {
  rig = await createRig();
});
afterAll(() => rig.stop());
beforeEach(() => {
  rig.asked.length = 0;
});

async function refusal(method: string, path: string, body?: unknown, headers: Record<string, string> = {}) {
  const answer = await rig.call(method, path, { headers: { ...KEY, ...headers }, body });
  const { error } = errorEnvelopeSchema.parse(await answer.json());
  expect(error.requestId).toBe(answer.headers.get('x-request-id'));
  expect(rig.asked).toEqual([]);
  return { status: answer.status, code: error.code, message: error.message, headers: answer.headers };
}

/** Sends a path exactly as given, which fetch does not. */
function rawGet(path: string, method = 'GET'): Promise<{ status: number | undefined; text: string }> {
  return new Promise((resolve, reject) => {
    const sent = request(rig.url, { path, method, headers: KEY }, async (answer) => {
      let text = '';
      for await (const chunk of answer) text += chunk;
      resolve({ status: answer.statusCode, text });
    });
    sent.on('error', reject).end();
  });
}

/** Sends bytes and returns all data until the connection is closed. */
function rawBytes(bytes: string, url = rig.url): Promise<string> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () => socket.write(bytes));
    let text = '';
    socket.on('data', (chunk) => {
      text += chunk;
    });
    socket.on('close', () => resolve(text));
    socket.on('error', reject);
  });
}

describe('a limit profile request (section 2.1)', () => {
  it.each([
    ['startTime', { startTime: undefined }],
    ['startTime', { startTime: '2026-06-01 17:00:00' }],
    ['startTime', { startTime: '2026-06-01T17:00:00+02:00' }],
    ['startTime', { startTime: '2026-02-30T17:00:00Z' }],
    ['startTime', { startTime: '2026-05-31T24:00:00Z' }],
    ['startTime', { startTime: 1780333200000 }],
    ['endTime', { endTime: undefined }],
    ['endTime', { endTime: 'tomorrow' }],
    ['endTime', { endTime: null }],
    ['limitKw', { limitKw: undefined }],
    ['limitKw', { limitKw: 0 }],
    ['limitKw', { limitKw: -1 }],
    ['limitKw', { limitKw: '11' }],
    ['limitKw', { limitKw: null }],
    ['priority', { priority: 11 }],
    ['priority', { priority: -1 }],
    ['priority', { priority: 1.5 }],
    ['priority', { priority: '3' }],
    ['priority', { priority: null }],
  ])('names %s when it is given as %o', async (field, change) => {
    const { status, code, message } = await refusal('POST', SCHEDULES, { ...WINDOW, ...change });
    expect([status, code]).toEqual([400, 'INVALID_REQUEST_BODY']);
    expect(message).toMatch(new RegExp(`^${field}: `));
  });

  it('refuses a number that JSON cannot hold', async () => {
    const body = JSON.stringify(WINDOW).replace('22', '1e999');
    const { status, message } = await refusal('POST', SCHEDULES, body);
    expect(status).toBe(400);
    expect(message).toMatch(/^limitKw: /);
  });

  it('takes priority 0 where none is given, and UTC written as +00:00', async () => {
    const { priority: _, ...rest } = { ...WINDOW, startTime: '2026-06-01T17:00:00+00:00' };
    const answer = await rig.call('POST', SCHEDULES, { headers: KEY, body: rest });
    expect(answer.status).toBe(200);
    expect(rig.asked).toEqual([['scheduleLocation', TENANT, 'quay-1', { ...rest, priority: 0 }]]);
  });

  it('ignores unknown fields of any name', async () => {
    const body = `{"__proto__":{"limitKw":1},"constructor":1,"tenantUuid":"x",${JSON.stringify(WINDOW).slice(1)}`;
    const answer = await rig.call('POST', SCHEDULES, { headers: KEY, body });
    expect(answer.status).toBe(200);
    expect(rig.asked).toEqual([['scheduleLocation', TENANT, 'quay-1', WINDOW]]);
  });
});

describe.each(SAMPLES.filter(({ body }) => body !== undefined))('the body of endpoint $number', (sample) => {
  it.each([
    ['malformed JSON', '{"limitKw":'],
    ['an array', '[]'],
    ['a string', '"hello"'],
    ['null', 'null'],
    ['not JSON at all', 'limitKw=3'],
  ])('is refused with 400 when it is %s', async (_, body) => {
    const { status, code, message } = await refusal(sample.method, sample.path, body);
    expect([status, code]).toEqual([400, 'INVALID_REQUEST_BODY']);
    expect(message).toMatch(/^body: /);
  });

  it('names the missing field when it is empty', async () => {
    // Every field of a PATCH may be left out.
    if (sample.method === 'PATCH') return;
    const required = Object.keys(sample.body ?? {}).filter((field) => field !== 'priority');
    for (const body of [undefined, '', '{}']) {
      const { status, message } = await refusal(sample.method, sample.path, body);
      expect(status).toBe(400);
      for (const field of required) expect(message).toContain(`${field}: required`);
    }
  });

  it('is refused with 415 without the type of JSON', async () => {
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'nonsense']) {
      const { status, code } = await refusal(sample.method, sample.path, sample.body, {
        'content-type': type,
      });
      expect([status, code]).toEqual([415, 'UNSUPPORTED_MEDIA_TYPE']);
    }
  });

  it('is refused with 413 when it is larger than 100 kB', async () => {
    const body = { ...sample.body, padding: 'x'.repeat(100_001) };
    const { status, code, message } = await refusal(sample.method, sample.path, body);
    expect([status, code]).toEqual([413, 'PAYLOAD_TOO_LARGE']);
    expect(message).toBe('body: must have at most 100000 bytes, unpacked');
  });
});

describe('the body of a request', () => {
  it('is measured unpacked, so that a small one cannot hide a large one', async () => {
    const answer = await fetch(`${rig.url}${SCHEDULES}`, {
      method: 'POST',
      headers: { ...KEY, 'content-type': 'application/json', 'content-encoding': 'gzip' },
      body: gzipSync(JSON.stringify({ ...WINDOW, padding: 'x'.repeat(1_000_000) })),
    });
    expect(answer.status).toBe(413);
    expect(await answer.text()).toContain('at most 100000 bytes');
  });

  it('is refused with 415 in an encoding or character set that is not read', async () => {
    for (const headers of [
      { 'content-encoding': 'zip' },
      { 'content-type': 'application/json; charset=latin1' },
    ]) {
      const { status, code } = await refusal('POST', SCHEDULES, WINDOW, headers as Record<string, string>);
      expect([status, code]).toEqual([415, 'UNSUPPORTED_MEDIA_TYPE']);
    }
  });

  it.each(['gzip', 'deflate', 'br'])(
    'is refused with 400 when it is not the %s it claims',
    async (coding) => {
      const { status, code, message } = await refusal('POST', SCHEDULES, WINDOW, {
        'content-encoding': coding,
      });
      expect([status, code]).toEqual([400, 'INVALID_REQUEST_BODY']);
      expect(message).toMatch(/^Content-Encoding: /);
    },
  );

  it.each(['application/json', 'application/merge-patch+json'])(
    'is refused if a text of it is not in UTF-8, and not stored with replaced characters, as %s',
    async (type) => {
      const answer = await fetch(`${rig.url}/v1/clusters`, {
        method: 'POST',
        headers: { ...KEY, 'content-type': type },
        body: Buffer.from(JSON.stringify({ name: 'Überseehafen', locationIds: ['a'] }), 'latin1'),
      });
      expect(errorEnvelopeSchema.parse(await answer.json()).error).toMatchObject({
        code: 'INVALID_REQUEST_BODY',
        message: 'body: must be encoded in UTF-8',
      });
      expect(rig.asked).toEqual([]);
    },
  );

  it.each([
    'application/json',
    'application/json;charset=UTF-8',
    'Application/JSON; charset="utf-8"',
    'application/json; version=1',
    'application/vnd.site+json',
  ])('is JSON in UTF-8 with type %s, also packed, in chunks and after a byte order mark', async (type) => {
    const text = JSON.stringify({ ...WINDOW, limitKw: 7 });
    for (const [body, headers] of [
      [text, {}],
      [`\ufeff${text}`, {}],
      [gzipSync(text), { 'content-encoding': 'gzip' }],
      [new Blob([text]).stream(), {}],
    ] as const) {
      rig.asked.length = 0;
      // Node's types of fetch lack `duplex`, without which it sends no stream.
      const init = {
        method: 'POST',
        headers: { ...KEY, 'content-type': type, ...headers },
        body,
        duplex: 'half',
      };
      expect((await fetch(`${rig.url}${SCHEDULES}`, init)).status).toBe(200);
      expect(rig.asked).toMatchObject([['scheduleLocation', TENANT, 'quay-1', { limitKw: 7 }]]);
    }
  });

  it('may be nested without end and does no harm', async () => {
    const { status } = await refusal('POST', SCHEDULES, '['.repeat(90_000));
    expect(status).toBe(400);
  });

  it.each([
    ['name', { name: '', locationIds: ['a'] }],
    ['name', { name: 'x'.repeat(201), locationIds: ['a'] }],
    ['name', { name: 'nul \0', locationIds: ['a'] }],
    ['name', { name: 'half a pair \ud83d', locationIds: ['a'] }],
    ['locationIds', { name: 'x', locationIds: [] }],
    ['locationIds', { name: 'x', locationIds: 'a' }],
    ['locationIds.1', { name: 'x', locationIds: ['a', 7] }],
    ['locationIds', { name: 'x', locationIds: Array.from({ length: 10_001 }, (_, i) => `l${i}`) }],
    ['limitKw', { name: 'x', locationIds: ['a'], limitKw: 0 }],
    ['limitKw', { name: 'x', locationIds: ['a'], limitKw: '5' }],
  ])('names %s when a cluster is created wrongly', async (field, body) => {
    const { status, message } = await refusal('POST', '/v1/clusters', body);
    expect(status).toBe(400);
    expect(message).toMatch(new RegExp(`^${field}: `));
  });

  it('of a PATCH may clear the cap with null and leave everything else out', async () => {
    await rig.call('PATCH', '/v1/clusters/c-1', { headers: KEY, body: { limitKw: null } });
    expect(rig.asked.map(([, , , body]) => body)).toEqual([{ limitKw: null }]);
  });
});

describe('a path (decisions on HTTP)', () => {
  it('hands ids on as they were written, decoded once, and never fails on them', async () => {
    for (const [written, id] of [
      ['a%2Fb', 'a/b'],
      ['%2e%2e', '..'],
      ['a+b', 'a+b'],
      ['a%23', 'a#'],
      ['%00', '\0'],
      ['__proto__', '__proto__'],
      ['constructor', 'constructor'],
      ['%E0%A4%A', '%E0%A4%A'],
      ['%', '%'],
      ['%zz', '%zz'],
      ['%FF', '%FF'],
      ['%252F', '%2F'],
      ['x'.repeat(300), 'x'.repeat(300)],
    ] as const) {
      rig.asked.length = 0;
      const { status, text } = await rawGet(`/v1/locations/${written}/limits`);
      expect([written, status, JSON.parse(text).error.code]).toEqual([written, 404, 'LOCATION_NOT_FOUND']);
      expect(rig.asked).toEqual([['getLocationLimits', TENANT, id]]);
    }
  });

  it('with broken encoding still asks for a credential first', async () => {
    expect((await fetch(`${rig.url}/v1/locations/%zz/limits`)).status).toBe(401);
  });

  it('takes a query that is broken as no reason to fail', async () => {
    expect((await rawGet('/v1/locations/quay-1/limits?%zz=%')).status).toBe(200);
  });

  it.each([
    '/index.html',
    '/assets',
    '/assets/../index.html',
    '/v1',
    '/v2/clusters',
    '/v1/cluster',
    '/v1/Clusters',
    '/v1/clusters/',
    '/v1/locations//limits',
    '/v1//clusters',
    '/v1/%63lusters',
    '/v1\\clusters',
    '/v1/clusters;a=b',
    '/v1/locations/a/b/limits',
    '/v1/%zz',
    '/v1/../v1/clusters',
    '/__proto__',
    '//evil.example/v1/clusters',
  ])('that is unknown answers 404 NOT_FOUND: %s', async (path) => {
    const { status, text } = await rawGet(path);
    expect([status, JSON.parse(text).error.code]).toEqual([404, 'NOT_FOUND']);
  });

  it('with a slash at its end is not found, and the answer names the slash', async () => {
    const { message } = await refusal('GET', '/v1/clusters/');
    expect(message).toBe(
      'There is nothing at /v1/clusters/: leave out the last slash, or see /v1/openapi.json.',
    );
  });

  it('ends before a fragment', async () => {
    expect((await rawGet('/v1/locations/quay-1/limits#part?at=never')).status).toBe(400);
    expect((await rawGet('/v1/locations/quay-1/limits#part')).status).toBe(200);
  });

  it('may come inside a whole URL, as proxies send it', async () => {
    expect((await rawGet('http://elsewhere.example/v1/locations/quay-1/limits')).status).toBe(200);
  });

  it('that cannot be read as a URL at all answers in the envelope', async () => {
    for (const path of ['http://[/', '*', 'http://']) {
      const { status, text } = await rawGet(path);
      expect([path, status, JSON.parse(text).error.code]).toEqual([path, 404, 'NOT_FOUND']);
    }
  });
});

describe('a method (decisions on HTTP)', () => {
  it.each([
    ['DELETE', '/v1/clusters', 'POST, GET, HEAD'],
    ['POST', '/v1/clusters/c-1', 'GET, PATCH, DELETE, HEAD'],
    ['GET', '/v1/clusters/c-1/locations/quay-1', 'DELETE'],
    ['PUT', '/v1/locations/quay-1/limits', 'GET, HEAD'],
    ['GET', '/v1/locations/quay-1/limit', 'PUT'],
    ['GET', '/v1/oauth/token', 'POST'],
    ['POST', '/v1/health', 'GET, HEAD'],
    ['OPTIONS', '/v1/clusters', 'POST, GET, HEAD'],
  ])('%s %s answers 405 and allows %s', async (method, path, allow) => {
    const { status, code, headers } = await refusal(method, path);
    expect([status, code, headers.get('allow')]).toEqual([405, 'METHOD_NOT_ALLOWED', allow]);
  });

  it('HEAD answers as GET does, without the body', async () => {
    const { status, text } = await rawGet('/v1/locations/quay-1/limits', 'HEAD');
    expect([status, text]).toEqual([200, '']);
  });
});

describe('anything but an HTTP request', () => {
  it.each([
    [400, 'INVALID_REQUEST_BODY', 'hello\r\n\r\n'],
    [431, 'PAYLOAD_TOO_LARGE', `GET / HTTP/1.1\r\nhost: x\r\nx: ${'y'.repeat(20_000)}\r\n\r\n`],
  ])('is answered %i in the envelope, and its connection closed', async (status, code, bytes) => {
    const [head = '', body = ''] = (await rawBytes(bytes)).split('\r\n\r\n');
    expect(head).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    const { error } = errorEnvelopeSchema.parse(JSON.parse(body));
    expect(error.code).toBe(code);
    if (status === 431) expect(error.message).toBe('headers: must have at most 16384 bytes, with the path');
  });
});

describe('the Host header', () => {
  it.each([
    ['HTTP/1.1', ''],
    ['HTTP/1.1', 'host: a\r\nhost: b\r\n'],
    ['HTTP/1.1', 'Host: a\r\nHOST: a\r\n'],
    ['HTTP/1.0', 'host: a\r\nhost: b\r\n'],
  ])('of %s is sent once, or the answer is 400 in the envelope: "%s"', async (version, hosts) => {
    const [head = '', body = ''] = (await rawBytes(`GET /health ${version}\r\n${hosts}\r\n`)).split(
      '\r\n\r\n',
    );
    expect(head).toMatch(/^HTTP\/1.1 400 /);
    expect(head).toMatch(/connection: close/i);
    const { error } = errorEnvelopeSchema.parse(JSON.parse(body));
    expect([error.code, error.message.slice(0, 5)]).toEqual(['INVALID_REQUEST_BODY', 'Host:']);
    expect(head).toContain(error.requestId);
  });

  it('may be left out in HTTP/1.0, and be empty', async () => {
    expect(await rawBytes('GET /health HTTP/1.0\r\n\r\n')).toMatch(/^HTTP\/1.1 200 /);
    expect(await rawBytes('GET /health HTTP/1.1\r\nhost:\r\nconnection: close\r\n\r\n')).toMatch(
      /^HTTP\/1.1 200 /,
    );
  });
});

describe('a Transfer-Encoding that a proxy may read in another way', () => {
  it.each([
    'transfer-encoding: chunked\r\ntransfer-encoding: chunked',
    'Transfer-Encoding: chunked\r\nTRANSFER-ENCODING: identity',
    'transfer-encoding: gzip\r\ntransfer-encoding: chunked',
    'transfer-encoding:\r\ntransfer-encoding: chunked',
    'transfer-encoding: chunked, chunked',
    'transfer-encoding: gzip, chunked',
    'transfer-encoding: identity',
    'transfer-encoding: chunked\r\ncontent-length: 5',
    'content-length: 5\r\ntransfer-encoding: chunked',
  ])('is answered 400, and later bytes are not read: %j', async (headers) => {
    const hidden = 'GET /health HTTP/1.1\r\nhost: x\r\n\r\n';
    const text = await rawBytes(
      `POST /v1/clusters HTTP/1.1\r\nhost: x\r\n${headers}\r\n\r\n0\r\n\r\n${hidden}`,
    );
    expect(text.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 400']);
    const [head = '', body = ''] = text.split('\r\n\r\n');
    expect(head).toMatch(/connection: close/i);
    expect(errorEnvelopeSchema.parse(JSON.parse(body)).error.code).toBe('INVALID_REQUEST_BODY');
  });

  it('may be chunked, in any case of letters', async () => {
    const head = 'GET /health HTTP/1.1\r\nhost: x\r\nconnection: close\r\ntransfer-encoding: Chunked\r\n\r\n';
    expect(await rawBytes(`${head}0\r\n\r\n`)).toMatch(/^HTTP\/1.1 200 /);
  });
});

describe('an unknown expectation', () => {
  it('is ignored', async () => {
    const text = await rawBytes(
      'GET /health HTTP/1.1\r\nhost: x\r\nexpect: a-gift\r\nconnection: close\r\n\r\n',
    );
    expect(text).toMatch(/^HTTP\/1.1 200 /);
  });
});

describe('a client that takes its time', () => {
  it.each([
    ['headers', 'GET / HTTP/1.1\r\n'],
    [
      'body',
      `POST ${SCHEDULES} HTTP/1.1\r\nhost: x\r\nx-api-key: ${API_KEY}\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{`,
    ],
  ])('over its %s is answered 408 in the envelope, and its connection closed', async (_, bytes) => {
    const impatient = await createRig({ settings: { httpHeaderTimeoutS: 0.2, httpRequestTimeoutS: 0.2 } });
    const text = await rawBytes(bytes, impatient.url);
    await impatient.stop();
    expect(text).toMatch(/^HTTP\/1.1 408 /);
    expect(text).toContain('"INVALID_REQUEST_BODY"');
  });
});

describe('an answer', () => {
  it('that created a cluster has its address', async () => {
    const body = { name: 'Harbour', locationIds: ['quay-1'] };
    const answer = await rig.call('POST', '/v1/clusters', { headers: KEY, body });
    expect([answer.status, answer.headers.get('location')]).toEqual([201, '/v1/clusters/c-1']);
  });

  it('carries a requestId of its own, and is not kept by anyone', async () => {
    const answers = await Promise.all([1, 2].map(() => rig.call('GET', '/v1/clusters', { headers: KEY })));
    const ids = answers.map(({ headers }) => headers.get('x-request-id'));
    expect(new Set(ids).size).toBe(2);
    expect(answers[0]?.headers.get('cache-control')).toBe('no-store');
    expect(answers[0]?.headers.get('x-content-type-options')).toBe('nosniff');
    expect(answers[0]?.headers.has('x-powered-by')).toBe(false);
  });
});
