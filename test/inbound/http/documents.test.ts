// Descriptions of the service: OpenAPI that real answers match, its page without foreign files, health for probes.
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { ERROR_CODES } from '../../../machines/values/errors.js';
import { ENDPOINTS } from '../../../src/features/endpoints.js';
import { HTTP_STATUS } from '../../../src/wire/error-envelope.js';
import { API_KEY, CLIENT, createRig, type Rig, WELL } from './http-rig.js';
import { EVERY_SAMPLE, EXTENSION_SAMPLES, SAMPLES } from './sample-requests.js';

/** Headers that an answer may lack. */
const SOMETIMES = ['Warning', 'Link', 'Idempotent-Replayed'];

const METHODS = ['get', 'post', 'put', 'patch', 'delete'] as const;

const operationSchema = z.object({
  operationId: z.string(),
  summary: z.string(),
  security: z.array(z.record(z.string(), z.array(z.string()))),
  parameters: z
    .array(
      z.discriminatedUnion('in', [
        z.object({ name: z.string(), in: z.literal('path'), required: z.literal(true) }),
        z.object({ name: z.string(), in: z.literal('query'), required: z.literal(false).optional() }),
        z.object({ name: z.string(), in: z.literal('header'), required: z.literal(false).optional() }),
      ]),
    )
    .optional(),
  'x-headroom-extension': z.literal(true).optional(),
  requestBody: z
    .object({
      required: z.literal(true),
      content: z.record(z.string(), z.object({ schema: z.object({ $ref: z.string() }) })),
    })
    .optional(),
  responses: z.record(
    z.string().regex(/^[1-5]\d\d$/),
    z.object({
      description: z.string(),
      headers: z.record(z.string(), z.unknown()),
      content: z.partialRecord(
        z.enum(['application/json', 'text/csv', 'text/event-stream']),
        z.object({ schema: z.object({ $ref: z.string() }) }),
      ),
    }),
  ),
});
const documentSchema = z.object({
  openapi: z.literal('3.1.0'),
  info: z.object({ title: z.string(), version: z.string() }),
  paths: z.record(z.string().startsWith('/v1/'), z.partialRecord(z.enum(METHODS), operationSchema)),
  components: z.object({
    schemas: z.record(z.string(), z.record(z.string(), z.unknown())),
    securitySchemes: z.object({
      apiKey: z.object({ type: z.literal('apiKey'), in: z.literal('header'), name: z.literal('x-api-key') }),
      oauth2: z.object({
        type: z.literal('oauth2'),
        flows: z.object({
          clientCredentials: z.object({ tokenUrl: z.string(), scopes: z.record(z.string(), z.string()) }),
        }),
      }),
    }),
  }),
});

const refSchema = z.object({ $ref: z.string() });
const unionSchema = z.object({
  oneOf: z.array(refSchema),
  discriminator: z.object({ propertyName: z.string(), mapping: z.record(z.string(), z.string()) }),
});
const memberSchema = z.object({
  properties: z.object({ event: z.object({ const: z.string() }), data: z.looseObject({}) }),
});

let rig: Rig;
let text: string;
let document: z.output<typeof documentSchema>;

beforeAll(async () => {
  rig = await createRig();
  text = await (await rig.call('GET', '/v1/openapi.json')).text();
  document = documentSchema.parse(JSON.parse(text));
});
afterAll(() => rig.stop());

function operationOf(method: string, path: string): z.output<typeof operationSchema> {
  const operation = document.paths[path]?.[method.toLowerCase() as (typeof METHODS)[number]];
  if (operation === undefined) throw new Error(`${method} ${path} is not documented`);
  return operation;
}

/** A zod schema from a schema of the document, strict about fields that it does not name. */
function schemaOf(ref: string): z.ZodType {
  const definitions = JSON.parse(
    JSON.stringify(document.components.schemas).replaceAll('#/components/schemas/', '#/$defs/'),
  );
  return z.fromJSONSchema({
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    $defs: definitions,
    $ref: ref.replace('#/components/schemas/', '#/$defs/'),
  });
}

async function expectDocumented(answer: Response, method: string, path: string): Promise<void> {
  const response = operationOf(method, path).responses[answer.status];
  if (response === undefined) throw new Error(`${answer.status} of ${method} ${path} is not documented`);
  const ref = response.content['application/json']?.schema.$ref ?? 'none';
  const result = schemaOf(ref).safeParse(await answer.json());
  expect(result.error?.issues ?? []).toEqual([]);
  const always = Object.keys(response.headers).filter((header) => !SOMETIMES.includes(header));
  for (const header of always) expect(answer.headers.has(header)).toBe(true);
}

describe('/v1/openapi.json', () => {
  const described = (isExtension: boolean) =>
    Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods)
        .filter(([, operation]) => (operation?.['x-headroom-extension'] ?? false) === isExtension)
        .map(([method]) => `${method.toUpperCase()} ${path}`),
    );

  it('describes the 15 endpoints of section 4, each once', () => {
    const expected = [
      ...SAMPLES.map(({ method, pattern }) => `${method} ${pattern}`),
      'GET /v1/health',
      'POST /v1/oauth/token',
    ];
    expect(described(false).sort()).toEqual(expected.sort());
    expect(described(false)).toHaveLength(15);
  });

  it('marks everything else as an extension, and names no operation twice', () => {
    const expected = EXTENSION_SAMPLES.map(({ method, pattern }) => `${method} ${pattern}`);
    expect(described(true).sort()).toEqual([...expected, 'GET /v1/stream'].sort());
    const ids = Object.values(document.paths).flatMap((methods) =>
      Object.values(methods).map((operation) => operation?.operationId),
    );
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('has the events of the stream, and their form', () => {
    const { content } = operationOf('GET', '/v1/stream').responses['200'] ?? {};
    expect(Object.keys(content ?? {})).toEqual(['text/event-stream']);
    expect(content?.['text/event-stream']?.schema.$ref).toBe('#/components/schemas/StreamEvent');
    const { oneOf, discriminator } = unionSchema.parse(document.components.schemas.StreamEvent);
    const refs = oneOf.map(({ $ref }) => $ref);
    expect([discriminator.propertyName, Object.values(discriminator.mapping)]).toEqual(['event', refs]);
    // Each name selects one shape, and no other shape accepts its events.
    const events = Object.entries(discriminator.mapping).map(([event, ref]) => {
      const { properties } = memberSchema.parse(document.components.schemas[ref.split('/').at(-1) ?? '']);
      expect(properties.event.const).toBe(event);
      return event;
    });
    const listed = readFileSync('docs/rest-extensions.md', 'utf8').split('| event | when |')[1] ?? '';
    const rows = listed.split('\n\n')[0]?.match(/^\| (`\w+`(, )?)+/gm) ?? [];
    expect(rows.flatMap((row) => row.match(/\w+/g) ?? []).sort()).toEqual([...events].sort());
  });

  it.each(EVERY_SAMPLE)(
    'names scope, parameters and body of endpoint $number',
    ({ method, pattern, scope, body }) => {
      const operation = operationOf(method, pattern);
      expect(operation.security).toEqual([{ apiKey: [scope] }, { oauth2: [scope] }]);
      const parameters = [...pattern.matchAll(/\{(\w+)\}/g)].map((match) => match[1]);
      const inPath = operation.parameters?.filter((parameter) => parameter.in === 'path') ?? [];
      expect(inPath.map(({ name }) => name)).toEqual(parameters);
      expect(Object.keys(operation.requestBody?.content ?? {})).toEqual(body ? ['application/json'] : []);
    },
  );

  it('names every scope and where tokens come from', () => {
    const { tokenUrl, scopes } = document.components.securitySchemes.oauth2.flows.clientCredentials;
    expect(tokenUrl).toBe('/v1/oauth/token');
    expect(Object.keys(scopes).sort()).toEqual([...new Set(EVERY_SAMPLE.map(({ scope }) => scope))].sort());
  });

  it('points only to schemas it has, and keeps instants short', () => {
    for (const [, name] of text.matchAll(/"#\/components\/schemas\/([^"]+)"/g)) {
      expect(document.components.schemas).toHaveProperty(name ?? '');
    }
    expect(text).toContain('"format":"date-time"');
    const patterns = [...text.matchAll(/"pattern":"([^"]+)"/g)].map((match) => match[1] ?? '');
    // The pattern of an instant is long, and occurs once.
    expect(patterns.filter((pattern) => pattern.length > 80)).toHaveLength(1);
  });

  it('has every code that the service may answer', () => {
    for (const code of ERROR_CODES) {
      // These two codes answer unknown paths and methods, which are no part of the document.
      if (['NOT_FOUND', 'METHOD_NOT_ALLOWED'].includes(code)) continue;
      const told = ENDPOINTS.some(({ method, path }) =>
        operationOf(method, path).responses[HTTP_STATUS[code]]?.description.split(', ').includes(code),
      );
      expect([code, told]).toEqual([code, true]);
    }
  });

  it.each(EVERY_SAMPLE)(
    'agrees with the answers of endpoint $number',
    async ({ method, path, pattern, body, status }) => {
      const headers = { 'x-api-key': API_KEY };
      const good = await rig.call(method, path, { headers, body });
      expect(good.status).toBe(status);
      await expectDocumented(good, method, pattern);
      await expectDocumented(await rig.call(method, path, { body }), method, pattern);
      if (path !== pattern && !path.endsWith('/limits/')) {
        const unknown = path.replace('q1-a', 'nobody').replace('quay-1', 'nowhere').replace('c-1', 'nothing');
        await expectDocumented(await rig.call(method, unknown, { headers, body }), method, pattern);
      }
      if (body !== undefined) {
        await expectDocumented(await rig.call(method, path, { headers, body: '{' }), method, pattern);
        const wrongType = { ...headers, 'content-type': 'text/plain' };
        await expectDocumented(
          await rig.call(method, path, { headers: wrongType, body: 'x' }),
          method,
          pattern,
        );
      }
    },
  );

  it('agrees with the answers of the token endpoint', async () => {
    const credential = { client_id: CLIENT.id, client_secret: CLIENT.secret };
    for (const body of [
      { ...credential, grant_type: 'client_credentials' },
      { ...credential, grant_type: 'password' },
      { ...credential, grant_type: 'client_credentials', scope: 'everything' },
      {},
    ]) {
      await expectDocumented(await rig.call('POST', '/v1/oauth/token', { body }), 'POST', '/v1/oauth/token');
    }
  });

  it('would not be true of something else', () => {
    const ref = operationOf('GET', '/v1/locations/{locationId}/limits').responses['200'];
    const schema = schemaOf(ref?.content['application/json']?.schema.$ref ?? '');
    expect(schema.safeParse({ locationId: 'quay-1' }).success).toBe(false);
  });
});

describe('/docs', () => {
  it('is a page whose every file comes from here and runs without inline scripts', async () => {
    const moved = await rig.call('GET', '/docs');
    expect([moved.status, moved.headers.get('location')]).toEqual([301, '/docs/']);
    const page = await rig.call('GET', '/docs/');
    const html = await page.text();
    expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    const policy = page.headers.get('content-security-policy') ?? '';
    expect(policy).toContain("script-src 'self';");
    expect(policy).not.toContain('upgrade-insecure-requests');
    expect(html).not.toMatch(/<script(?![^>]*\ssrc=)[^>]*>/);
    const files = [...html.matchAll(/<(?:link|script)[^>]*(?:src|href)=["']([^"'#]+)["']/g)]
      .map((match) => match[1] ?? '')
      .filter((file) => file !== 'data:,');
    expect(files).toHaveLength(4);
    for (const file of files) {
      expect(file).toMatch(/^\.\//);
      const { status, headers } = await rig.call('GET', `/docs/${file.slice(2)}`);
      expect([file, status]).toEqual([file, 200]);
      expect(headers.get('content-type')).not.toContain('text/html');
    }
  });

  it('shows this service and asks nobody else', async () => {
    const html = await (await rig.call('GET', '/docs/')).text();
    expect(html).toContain('data-url="/v1/openapi.json"');
    const script = await (await rig.call('GET', '/docs/show.js')).text();
    expect(script).toMatch(/validatorUrl: ?null/);
    expect(script).not.toMatch(/https?:\/\//);
  });

  it('comes packed if the client accepts that and plain otherwise, and 304 if it has not changed', async () => {
    const path = '/docs/swagger-ui-bundle.js';
    const [packed, plain] = await Promise.all(
      ['gzip', 'identity'].map((accepted) =>
        rig.call('GET', path, { headers: { 'accept-encoding': accepted } }),
      ),
    );
    expect([packed?.headers.get('content-encoding'), plain?.headers.get('content-encoding')]).toEqual([
      'gzip',
      null,
    ]);
    expect(await packed?.text()).toBe(await plain?.text());
    const etag = plain?.headers.get('etag') ?? '';
    const again = await rig.call('GET', path, {
      headers: { 'if-none-match': etag, 'cache-control': 'no-store' },
    });
    expect([etag === '', again.status]).toEqual([false, 304]);
  });

  it.each(['nothing.js', 'LICENSE', '..%2Fpackage.json', '%2e%2e%2fpackage.json', 'constructor'])(
    'has no other part: %s',
    async (name) => {
      const answer = await rig.call('GET', `/docs/${name}`);
      expect([answer.status, await answer.text()]).toEqual([404, expect.stringContaining('NOT_FOUND')]);
    },
  );
});

describe('GET /health', () => {
  it('answers without a credential, under /v1 and at the root', async () => {
    for (const path of ['/v1/health', '/health']) {
      const answer = await rig.call('GET', path);
      expect([answer.status, await answer.clone().json()]).toEqual([200, WELL]);
      await expectDocumented(answer, 'GET', '/v1/health');
    }
  });

  it('answers 503 with the same fields when something fails', async () => {
    const degraded = {
      ...WELL,
      status: 'degraded' as const,
      checks: { ...WELL.checks, database: 'failing' as const },
    };
    const ill = await createRig({ health: () => degraded });
    const answer = await ill.call('GET', '/v1/health');
    expect([answer.status, await answer.json()]).toEqual([503, degraded]);
    await ill.stop();
  });
});
