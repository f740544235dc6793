// The schemas of /v1/openapi.json refuse exactly the bodies and instants that the service refuses.
import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { API_KEY, createRig, type Rig } from '../inbound/http/http-rig.js';
import { EVERY_SAMPLE, type SampleRequest, WINDOW } from '../inbound/http/sample-requests.js';

/**
 * One connection for each request. A busy machine may leave a shared one idle for seconds, and it may then end during a
 * request.
 */
const HEADERS = { 'x-api-key': API_KEY };

interface Document {
  readonly paths: Record<string, Record<string, { requestBody?: unknown }>>;
}

const documentSchema = z.object({
  paths: z.record(
    z.string(),
    z.record(
      z.string(),
      z.object({
        requestBody: z
          .object({ content: z.record(z.string(), z.object({ schema: z.object({ $ref: z.string() }) })) })
          .optional(),
      }),
    ),
  ),
  components: z.object({
    schemas: z.record(z.string(), z.object({ examples: z.array(z.unknown()).optional() })),
  }),
});

let rig: Rig;
let ajv: Ajv2020;
beforeAll(async () => {
  rig = await createRig();
  const document = await (await rig.call('GET', '/v1/openapi.json')).json();
  ajv = new Ajv2020({ strict: false, formats: { 'date-time': true, uuid: true } });
  ajv.addSchema(document as Document, 'openapi');
});
afterAll(() => rig.stop());

/** A check of an endpoint's request body, as in a client generated from the document. */
function checkOf({ method, pattern }: SampleRequest): (body: unknown) => boolean {
  const path = pattern
    .replaceAll('~', '~0')
    .replaceAll('/', '~1')
    .replaceAll('{', '%7B')
    .replaceAll('}', '%7D');
  const place = `paths/${path}/${method.toLowerCase()}/requestBody/content/application~1json/schema`;
  return ajv.compile({ $ref: `openapi#/${place}` });
}

const oneOf = (...texts: readonly string[]) => fc.constantFrom(...texts);
/** Valid instants, and instants with one wrong part. */
const nearlyInstant = fc
  .tuple(
    oneOf(
      '0001',
      '1600',
      '1969',
      '1970',
      '1972',
      '1999',
      '2000',
      '2026',
      '2028',
      '2100',
      '2400',
      '9996',
      '9999',
      '10000',
    ),
    oneOf('-', '-', '-', '/', ''),
    oneOf('00', '01', '02', '02', '04', '12', '13', '1'),
    oneOf('00', '01', '28', '29', '29', '30', '31', '32', '5'),
    oneOf('T', 'T', 't', ' ', ''),
    oneOf('00', '17', '23', '24'),
    oneOf('00', '59', '60'),
    oneOf('00', '59', '59', '60', '61'),
    oneOf('', '', '.0', '.123456789012', '.', ',5'),
    oneOf('Z', 'Z', 'z', '+00:00', '-00:00', '+01:00', '+0000', '', 'Z '),
  )
  .map(([year, dash, month, day, t, hour, minute, second, fraction, zone]) =>
    [year, dash, month, dash, day, t, hour, ':', minute, ':', second, fraction, zone].join(''),
  );

const anything = fc.oneof(
  nearlyInstant,
  fc.string({ unit: 'binary', maxLength: 210 }),
  oneOf(
    '',
    '\0',
    '\ud800',
    'x'.repeat(128),
    'x'.repeat(129),
    '😀'.repeat(128),
    '😀'.repeat(200),
    '😀'.repeat(201),
    'ACTIVE',
  ),
  fc.constantFrom<unknown>(
    null,
    true,
    false,
    0,
    -0,
    1,
    10,
    11,
    1e-320,
    0.5,
    1e6,
    1_000_001,
    2 ** 53,
    1e300,
    -1,
    31_622_400,
  ),
  fc.constantFrom<unknown>([], ['quay-1'], [1], [1, 2, 3], [1, 2, 3, 4], Array(1001).fill('x'), {}, { a: 1 }),
);

describe('The pattern of an instant', () => {
  it.each([
    ['0001-01-01T00:00:00Z', false],
    ['2026-12-31T23:59:60Z', false],
    ['2016-12-31T23:59:60Z', false],
    ['1969-12-31T23:59:59.999Z', false],
    ['2026-06-01T24:00:00Z', false],
    ['2026-06-01T17:00:00+02:00', false],
    ['1970-01-01T00:00:00Z', true],
    ['2028-02-29t00:00:00.1234567890123z', true],
    ['9999-12-31T23:59:59.999+00:00', true],
  ])('matches %s: %s, in the document, in a body and in a query', async (instant, isGood) => {
    const sample = EVERY_SAMPLE.find(({ number }) => number === 2);
    if (sample === undefined) throw new Error('no sample');
    const body = { ...WINDOW, startTime: instant };
    expect(checkOf(sample)(body)).toBe(isGood);
    const headers = HEADERS;
    const sent = await rig.call('POST', sample.path, { headers, body });
    const asked = await rig.call('GET', `/v1/locations/quay-1/limits?at=${encodeURIComponent(instant)}`, {
      headers,
    });
    expect([sent.status, asked.status]).toEqual(isGood ? [200, 200] : [400, 400]);
  });
});

describe('Every request body', () => {
  it('has examples that its schema and the service accept', async () => {
    const document: unknown = await (await rig.call('GET', '/v1/openapi.json')).json();
    const { paths, components } = documentSchema.parse(document);
    const bodies = Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).flatMap(([method, { requestBody }]) =>
        requestBody === undefined ? [] : [{ path, method, requestBody }],
      ),
    );
    expect(bodies.length).toBeGreaterThanOrEqual(10);
    for (const { path, method, requestBody } of bodies)
      for (const { schema } of Object.values(requestBody.content)) {
        const { examples = [] } = components.schemas[schema.$ref.split('/').at(-1) ?? ''] ?? {};
        expect([method, path, examples.length > 0]).toEqual([method, path, true]);
        const isDocumented = ajv.compile({ $ref: `openapi${schema.$ref}` });
        const sample = EVERY_SAMPLE.find(
          (each) => each.pattern === path && each.method === method.toUpperCase(),
        );
        for (const body of examples) {
          expect([path, body, isDocumented(body)]).toEqual([path, body, true]);
          if (sample === undefined) continue;
          const answer = await rig.call(sample.method, sample.path, { headers: HEADERS, body });
          expect([path, body, answer.status]).toEqual([path, body, sample.status]);
        }
      }
  });
});

// The service checks the name of a credential after normalization, which JSON Schema cannot express.
const SCHEMA_IS_THE_RULE = EVERY_SAMPLE.filter(
  ({ body, path }) => body !== undefined && !path.startsWith('/v1/credentials/'),
);

describe.each(SCHEMA_IS_THE_RULE)('The body of $method $pattern', (sample) => {
  it('is refused by the service exactly if the document refuses it', async () => {
    const isDocumented = checkOf(sample);
    const good = sample.body ?? {};
    const fields = [
      ...new Set([
        ...Object.keys(good),
        'name',
        'limitKw',
        'isActive',
        'durationS',
        'hb',
        'currentA',
        'v',
        'energyWh',
        'status',
      ]),
    ];
    const change = fc.record({
      field: fc.constantFrom(...fields),
      value: anything,
      isDropped: fc.boolean(),
    });
    const bodies = fc.oneof(
      {
        weight: 9,
        arbitrary: fc.array(change, { minLength: 1, maxLength: 3 }).map((changes) => changed(good, changes)),
      },
      { weight: 1, arbitrary: anything },
    );
    expect(isDocumented(good)).toBe(true);
    await fc.assert(
      fc.asyncProperty(bodies, async (body) => {
        const headers = HEADERS;
        const { status } = await rig.call(sample.method, sample.path, {
          headers,
          body: JSON.stringify(body),
        });
        expect([JSON.stringify(body), status]).toEqual([
          JSON.stringify(body),
          isDocumented(JSON.parse(JSON.stringify(body))) ? sample.status : 400,
        ]);
      }),
      { numRuns: 60 },
    );
  });
});

function changed(
  good: object,
  changes: readonly { readonly field: string; readonly value: unknown; readonly isDropped: boolean }[],
): Record<string, unknown> {
  const body: Record<string, unknown> = { ...good };
  for (const { field, value, isDropped } of changes)
    if (isDropped) delete body[field];
    else body[field] = value;
  return body;
}
