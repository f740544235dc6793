// Builds the AsyncAPI 3 document of the MQTT side from the schemas and topics in use. Its point of view is a client's.
import { z } from 'zod';
import type { ConnectorId, ControllerUuid, LocationId, TenantUuid } from '../../machines/values/ids.js';
import { CHARGER_TRAFFIC, type ChargerTraffic } from './charger-traffic.js';
import { SITE_TRAFFIC, type SiteTraffic } from './site-traffic.js';
import { buildTopic, directionOf, siteTopicOf, type TopicKind } from './topics.js';

type Traffic = ChargerTraffic | SiteTraffic;

/** Plain JSON. */
export type AsyncApiDocument = Readonly<Record<string, unknown>>;

const BINDING_VERSION = '0.2.0';
const KEEPALIVE_S = 30;

// AsyncAPI writes parameters in braces, which a topic does not escape.
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

const byPassword = (description: string) => ({ type: 'userPassword', description });
const SECURITY: Readonly<Record<string, object>> = {
  charger: byPassword(
    'User name {tenantUuid}/{controllerUuid} with the password of the charger; the client id is the controllerUuid. ' +
      'A gateway logs in as {tenantUuid}/{gatewayId} with the gatewayId as client id.',
  ),
  ...Object.fromEntries(SITE_TRAFFIC.map(({ kind, sender }) => [kind, byPassword(sender)])),
};

function addressOf(kind: TopicKind): string {
  if (kind === 'siteMeter' || kind === 'operator') return siteTopicOf({ ...ADDRESS, kind });
  return kind === 'state' || kind === 'sync'
    ? buildTopic({ ...ADDRESS, kind })
    : buildTopic({ ...ADDRESS, kind, connectorId: CONNECTOR_ID });
}

function capitalized(kind: TopicKind): string {
  return `${kind.charAt(0).toUpperCase()}${kind.slice(1)}`;
}

/** The login for messages of the kind: a name of `SECURITY`. */
const senderOf = (kind: TopicKind) => (kind === 'siteMeter' || kind === 'operator' ? kind : 'charger');

const operationNameOf = (kind: TopicKind) =>
  `${directionOf(kind) === 'toService' ? 'send' : 'receive'}${capitalized(kind)}`;

/** Schemas are inlined, so none has a name of its own. Draft 7 has no `example`. */
class Unnamed extends z.core.$ZodRegistry<z.core.GlobalMeta> {
  override get(schema: z.core.$ZodType): z.core.GlobalMeta {
    const { id: _id, example, ...meta } = z.globalRegistry.get(schema) ?? {};
    return { ...meta, ...(example !== undefined && { examples: [example] }) };
  }
}
const UNNAMED = new Unnamed();

/** Both sides ignore unknown fields, so the schema forbids none. */
function payloadSchemaOf(schema: z.ZodType): object {
  const { $schema: _dialect, ...payload } = z.toJSONSchema(schema, {
    target: 'draft-7',
    io: 'input',
    metadata: UNNAMED,
    override({ jsonSchema }) {
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
    },
  });
  return payload;
}

function channelOf({ kind, title }: Traffic) {
  const address = addressOf(kind);
  const names = [...address.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
  return {
    address,
    title,
    parameters: Object.fromEntries(names.map((name) => [name, { $ref: `#/components/parameters/${name}` }])),
    messages: { [kind]: { $ref: `#/components/messages/${kind}` } },
  };
}

function operationOf({ kind, title, summary, qos, retain }: Traffic) {
  return {
    action: directionOf(kind) === 'toService' ? 'send' : 'receive',
    channel: { $ref: `#/channels/${kind}` },
    title,
    summary,
    messages: [{ $ref: `#/channels/${kind}/messages/${kind}` }],
    security: [{ $ref: `#/components/securitySchemes/${senderOf(kind)}` }],
    bindings: { mqtt: { qos, retain, bindingVersion: BINDING_VERSION } },
    ...(kind === 'limit' && {
      reply: { channel: { $ref: '#/channels/ack' }, messages: [{ $ref: '#/channels/ack/messages/ack' }] },
    }),
  };
}

function messageOf({ kind, title, summary, examples }: Traffic) {
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
    security: Object.keys(SECURITY).map((name) => ({ $ref: `#/components/securitySchemes/${name}` })),
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
  const all: readonly Traffic[] = [...CHARGER_TRAFFIC, ...SITE_TRAFFIC];
  const each = <T>(build: (traffic: Traffic) => T, name: (kind: TopicKind) => string = String) =>
    Object.fromEntries(all.map((traffic) => [name(traffic.kind), build(traffic)]));
  return {
    asyncapi: '3.0.0',
    id: 'urn:headroom:chargers:v1',
    info: {
      title: 'Headroom over MQTT',
      version,
      description:
        "Messages over MQTT 3.1.1, JSON in UTF-8, as chargers, the meter of a location and the grid operator send and receive them. A charger subscribes to its exact topics before it sends state; a last will is a charger's alone.",
    },
    defaultContentType: 'application/json',
    servers: { broker: serverOf(lastWill) },
    channels: each(channelOf),
    operations: each(operationOf, operationNameOf),
    components: {
      messages: each(messageOf),
      schemas: each(({ schema }) => payloadSchemaOf(schema)),
      parameters: PARAMETERS,
      securitySchemes: SECURITY,
    },
  };
}
