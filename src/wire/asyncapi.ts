// The AsyncAPI 3 document of the MQTT side, from a charger's point of view: made from the schemas and topics in use.
import { z } from 'zod';
import type { ConnectorId, ControllerUuid, LocationId, TenantUuid } from '../../machines/values/ids.js';
import { CHARGER_TRAFFIC, type ChargerTraffic } from './charger-traffic.js';
import { buildTopic, directionOf, type Topic } from './topics.js';

type ChargerKind = Topic['kind'];

/** Plain JSON. */
export type AsyncApiDocument = Readonly<Record<string, unknown>>;

const BINDING_VERSION = '0.2.0';
const KEEPALIVE_S = 30;

// Written as AsyncAPI writes parameters: braces are no characters that a topic would escape.
const ADDRESS = {
  tenantUuid: '{tenantUuid}' as TenantUuid,
  locationId: '{locationId}' as LocationId,
  controllerUuid: '{controllerUuid}' as ControllerUuid,
};
const CONNECTOR_ID = '{connectorId}' as ConnectorId;

const LEVEL = 'Percent-encoded in the topic outside A-Za-z0-9_-: "." is %2E, ":" is %3A.';
const PARAMETERS: Readonly<Record<string, { readonly description: string; readonly examples: string[] }>> = {
  tenantUuid: {
    description: `The operator the charger belongs to. ${LEVEL}`,
    examples: ['0b6cf0c4-6d0f-4e0e-9f0a-5f6c3b1d2a10'],
  },
  locationId: { description: `The location it stands at. ${LEVEL}`, examples: ['quay-1'] },
  controllerUuid: { description: `The charger. ${LEVEL}`, examples: ['q1-a', 'q1%2Ea'] },
  connectorId: { description: `Its connector. ${LEVEL}`, examples: ['1'] },
};

const SECURITY = {
  type: 'userPassword',
  description:
    'User name {tenantUuid}/{controllerUuid} with the password of the charger; the client id is the controllerUuid. ' +
    'A gateway logs in as {tenantUuid}/{gatewayId} with the gatewayId as client id.',
};

function addressOf(kind: ChargerKind): string {
  return kind === 'state' || kind === 'sync'
    ? buildTopic({ ...ADDRESS, kind })
    : buildTopic({ ...ADDRESS, kind, connectorId: CONNECTOR_ID });
}

function capitalized(kind: ChargerKind): string {
  return `${kind.charAt(0).toUpperCase()}${kind.slice(1)}`;
}

const operationNameOf = (kind: ChargerKind) =>
  `${directionOf(kind) === 'toService' ? 'send' : 'receive'}${capitalized(kind)}`;

/** Fields that the schema does not name are ignored by both sides, so none is forbidden. */
function payloadSchemaOf(schema: z.ZodType): object {
  const { $schema: _dialect, ...payload } = z.toJSONSchema(schema, {
    target: 'draft-7',
    io: 'input',
    override({ jsonSchema }) {
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
    },
  });
  return payload;
}

function channelOf({ kind, title }: ChargerTraffic) {
  const address = addressOf(kind);
  const names = [...address.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
  return {
    address,
    title,
    parameters: Object.fromEntries(names.map((name) => [name, { $ref: `#/components/parameters/${name}` }])),
    messages: { [kind]: { $ref: `#/components/messages/${kind}` } },
  };
}

function operationOf({ kind, title, summary, qos, retain }: ChargerTraffic) {
  return {
    action: directionOf(kind) === 'toService' ? 'send' : 'receive',
    channel: { $ref: `#/channels/${kind}` },
    title,
    summary,
    messages: [{ $ref: `#/channels/${kind}/messages/${kind}` }],
    bindings: { mqtt: { qos, retain, bindingVersion: BINDING_VERSION } },
    ...(kind === 'limit' && {
      reply: { channel: { $ref: '#/channels/ack' }, messages: [{ $ref: '#/channels/ack/messages/ack' }] },
    }),
  };
}

function messageOf({ kind, title, summary, examples }: ChargerTraffic) {
  const payload = { $ref: `#/components/schemas/${kind}` };
  return { name: kind, title, summary, contentType: 'application/json', payload, examples };
}

function serverOf(lastWill: object) {
  return {
    host: '{host}:{port}',
    protocol: 'mqtt',
    protocolVersion: '3.1.1',
    title: 'The embedded broker, or one the operator runs',
    variables: {
      host: { default: '127.0.0.1', description: 'Where the broker listens.' },
      port: { default: '1883', description: 'Its port; the operator may offer TLS on another.' },
    },
    security: [{ $ref: '#/components/securitySchemes/charger' }],
    bindings: {
      mqtt: {
        clientId: ADDRESS.controllerUuid,
        cleanSession: true,
        keepAlive: KEEPALIVE_S,
        lastWill,
        bindingVersion: BINDING_VERSION,
      },
    },
  };
}

/** @param version of the software; the interface is version 1. */
export function createAsyncApiDocument(version: string): AsyncApiDocument {
  const lastWill = { topic: addressOf('state'), qos: 1, retain: true, message: '{"v":1,"online":false}' };
  const each = <T>(build: (traffic: ChargerTraffic) => T, name: (kind: ChargerKind) => string = String) =>
    Object.fromEntries(CHARGER_TRAFFIC.map((traffic) => [name(traffic.kind), build(traffic)]));
  return {
    asyncapi: '3.0.0',
    id: 'urn:headroom:chargers:v1',
    info: {
      title: 'Headroom, as a charger meets it',
      version,
      description:
        'What a charger sends and hears over MQTT 3.1.1, JSON in UTF-8. Subscribe to the exact topics before sending state.',
    },
    defaultContentType: 'application/json',
    servers: { broker: serverOf(lastWill) },
    channels: each(channelOf),
    operations: each(operationOf, operationNameOf),
    components: {
      messages: each(messageOf),
      schemas: each(({ schema }) => payloadSchemaOf(schema)),
      parameters: PARAMETERS,
      securitySchemes: { charger: SECURITY },
    },
  };
}
