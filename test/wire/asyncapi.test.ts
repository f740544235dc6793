// The AsyncAPI document is valid by the schema of its version, matches the topics, and is served like OpenAPI.
import specs from '@asyncapi/specs';
import { Ajv, type SchemaObject } from 'ajv';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ConnectorId } from '../../machines/values/ids.js';
import { READER_TRAFFIC } from '../../src/features/home-assistant/contract.js';
import { LOCATION_TRAFFIC, SITE_MESSAGES } from '../../src/features/site-messages.js';
import { CHARGER_TRAFFIC, createAsyncApiDocument } from '../../src/wire/asyncapi.js';
import { buildTopic, directionOf, readTopicOf, siteTopicOf } from '../../src/wire/topics.js';
import { createRig, type Rig } from '../inbound/http/http-rig.js';
import { ADDRESS } from '../sim/charger-rig.js';
import { asyncApiSchema, channelAt, unnamedFields, validatorsOf } from './asyncapi-document.js';

const SITE_TRAFFIC = Object.values(SITE_MESSAGES);
const text = JSON.stringify(createAsyncApiDocument(LOCATION_TRAFFIC, '1.2.3'));
const document = asyncApiSchema.parse(JSON.parse(text));
const validators = validatorsOf(document);

/** The part of the document that a reference such as `#/channels/state` names; undefined without one. */
function partAt(whole: unknown, reference: string): unknown {
  const names = reference.replace(/^#\//, '').split('/');
  return names.reduce<unknown>((part, name) => (part as Record<string, unknown> | undefined)?.[name], whole);
}

describe('the AsyncAPI document', () => {
  // More tools read 3.0.0 than 3.1.0, and 3.1.0 adds nothing that this document needs.
  const isAsyncApi = new Ajv({ strict: false, validateFormats: false }).compile(
    specs.schemasWithoutId['3.0.0'] as SchemaObject,
  );

  it('is valid AsyncAPI 3.0.0, and each of its references leads to a part of it', () => {
    const parsed: unknown = JSON.parse(text);
    expect(isAsyncApi(parsed) ? [] : isAsyncApi.errors).toEqual([]);
    const references = [...text.matchAll(/"\$ref":"([^"]*)"/g)].map(([, reference = '']) => reference);
    expect(references.length).toBeGreaterThan(20);
    expect(references.filter((reference) => partAt(parsed, reference) === undefined)).toEqual([]);
  });

  it('is found invalid if a channel or a reference is broken', () => {
    const whole = JSON.parse(text);
    expect(isAsyncApi({ ...whole, channels: { state: { address: 5 } } })).toBe(false);
    expect(partAt(whole, '#/channels/none')).toBeUndefined();
  });

  it('has a channel for every topic, with the parameters of the topic', () => {
    const connectorId = '1' as ConnectorId;
    for (const { kind } of CHARGER_TRAFFIC) {
      const topic =
        kind === 'state' || kind === 'sync'
          ? buildTopic({ ...ADDRESS, kind })
          : buildTopic({ ...ADDRESS, kind, connectorId });
      expect(channelAt(document, topic)).toBe(kind);
    }
    for (const { kind } of SITE_TRAFFIC)
      expect(channelAt(document, siteTopicOf({ ...ADDRESS, kind }))).toBe(kind);
    for (const { kind } of READER_TRAFFIC) {
      const topic =
        kind === 'connectorState' || kind === 'connectorDiscovery'
          ? readTopicOf(ADDRESS, { ...ADDRESS, connectorId, kind })
          : readTopicOf(ADDRESS, { kind });
      expect(channelAt(document, topic)).toBe(kind);
    }
    expect(siteTopicOf({ ...ADDRESS, kind: 'siteMeter' })).toMatch(/\/site\/meter$/);
    expect(channelAt(document, 'ems/v1/t/l/c/other')).toBeUndefined();
    expect(Object.keys(document.channels)).toEqual([
      'state',
      'meter',
      'limit',
      'ack',
      'sync',
      'siteMeter',
      'operator',
      ...READER_TRAFFIC.map(({ kind }) => kind),
    ]);
  });

  it('names every operation from the point of view of the client', () => {
    const actions = Object.entries(document.operations).map(([name, { action, channel }]) => {
      expect(name.toLowerCase()).toBe(`${action}${channel.$ref.replace('#/channels/', '')}`.toLowerCase());
      return [channel.$ref, action];
    });
    const expected = [...CHARGER_TRAFFIC, ...LOCATION_TRAFFIC].map(({ kind }) => [
      `#/channels/${kind}`,
      directionOf(kind) === 'toService' ? 'send' : 'receive',
    ]);
    expect(actions).toEqual(expected);
    expect(document.operations.receiveLimit?.reply?.channel.$ref).toBe('#/channels/ack');
  });

  it('has examples that its schemas and the service accept, and that leave no field out', () => {
    for (const { kind, schema, examples } of [...CHARGER_TRAFFIC, ...LOCATION_TRAFFIC]) {
      expect(document.components.messages[kind]?.examples).toEqual(examples);
      expect(examples.length).toBeGreaterThan(0);
      const shown = new Set<string>();
      for (const { payload } of examples) {
        expect(schema.safeParse(payload).error?.issues ?? []).toEqual([]);
        expect(validators[kind]?.safeParse(payload).error?.issues ?? []).toEqual([]);
        expect(unnamedFields(document, kind, payload)).toEqual([]);
        for (const field of Object.keys(payload as object)) shown.add(field);
      }
      expect([...shown].sort()).toEqual(
        Object.keys(document.components.schemas[kind]?.properties ?? {}).sort(),
      );
    }
  });

  it('describes every field, and forbids no additional ones', () => {
    for (const [name, { properties, additionalProperties }] of Object.entries(document.components.schemas)) {
      expect([name, additionalProperties]).toEqual([name, undefined]);
      for (const [field, { description }] of Object.entries(properties)) {
        expect([name, field, typeof description]).toEqual([name, field, 'string']);
      }
    }
  });
});

describe('/v1/asyncapi.json', () => {
  let rig: Rig;

  beforeAll(async () => {
    rig = await createRig();
  });
  afterAll(() => rig.stop());

  it('is served without a credential, with the headers of the OpenAPI document', async () => {
    const answer = await rig.call('GET', '/v1/asyncapi.json');
    const openapi = await rig.call('GET', '/v1/openapi.json');
    expect(answer.status).toBe(200);
    const served = await answer.text();
    expect(served).toBe(
      JSON.stringify(createAsyncApiDocument(LOCATION_TRAFFIC, JSON.parse(served).info.version)),
    );
    const headersOf = ({ headers }: Response) =>
      [...headers].filter(([name]) => !['content-length', 'date', 'x-request-id'].includes(name));
    expect(headersOf(answer)).toEqual(headersOf(openapi));
    expect(answer.headers.get('x-request-id')).not.toBeNull();
  });

  it.each(['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])(
    'refuses %s and lists the allowed methods',
    async (method) => {
      const answer = await rig.call(method, '/v1/asyncapi.json');
      expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
    },
  );

  it.each([
    '/v1/asyncapi.json/',
    '/v1/AsyncAPI.json',
    '/v1/asyncapi',
    '/v1/asyncapi.json/..%2f..%2fetc',
    '/asyncapi.json',
  ])('is not served at %s', async (path) => {
    const answer = await rig.call('GET', path);
    expect([answer.status, await answer.json()]).toMatchObject([404, { error: { code: 'NOT_FOUND' } }]);
  });

  it('answers HEAD with the same length and no body', async () => {
    const length = (await rig.call('GET', '/v1/asyncapi.json')).headers.get('content-length');
    const head = await rig.call('HEAD', '/v1/asyncapi.json');
    expect([head.status, head.headers.get('content-length'), await head.text()]).toEqual([200, length, '']);
  });
});
