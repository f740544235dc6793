// Builds the AsyncAPI 3 document of the MQTT side from the schemas and topics in use. Its point of view is a client's.
import { z } from 'zod';
import type { ConnectorId, ControllerUuid, LocationId, TenantUuid } from '../../machines/values/ids.js';
import { CHARGER_TRAFFIC, type ChargerTraffic } from './charger-traffic.js';
import { operatorMessageSchema } from './grid-operator.js';
import { siteReadingSchema } from './site-meter.js';
import { buildTopic, directionOf, type SiteKind, siteTopicOf, type TopicKind } from './topics.js';

// The two messages about a whole location, from its meter and from the grid operator: transport of each, with examples.

/** One kind of message, sent to the service, which sends no answer. */
interface SiteTraffic<S extends z.ZodType = z.ZodType> {
  readonly kind: SiteKind;
  readonly title: string;
  readonly summary: string;
  /** The permitted sender and its login. */
  readonly sender: string;
  readonly schema: S;
  readonly qos: 0 | 1;
  readonly retain: false;
  readonly examples: readonly {
    readonly name: string;
    readonly summary: string;
    readonly payload: z.input<S>;
  }[];
}

const siteMeter: SiteTraffic<typeof siteReadingSchema> = {
  kind: 'siteMeter',
  title: 'Reading of the meter of a location',
  summary:
    'Sent at least once in each provisioned cadenceS. A reading that is not newer than the last one, or off by more than a minute, is ignored.',
  sender:
    'User name {tenantUuid}/{meterUuid} with the password of the meter; the client id is the meterUuid.',
  schema: siteReadingSchema,
  qos: 0,
  retain: false,
  examples: [
    {
      name: 'phases',
      summary: 'The building and the chargers import 23.4 kW, unevenly.',
      payload: {
        v: 1,
        hb: 17,
        at: '2026-06-01T12:00:00Z',
        powerW: 23_400,
        currentA: [31.2, 28.4, 40.1],
        energyWh: 18_204_500,
      },
    },
    {
      name: 'fedBack',
      summary: '4.1 kW are fed back; a simple meter sends no more fields.',
      payload: { at: '2026-06-01T12:00:01Z', powerW: -4100 },
    },
  ],
};

const operator: SiteTraffic<typeof operatorMessageSchema> = {
  kind: 'operator',
  title: 'Order or heartbeat of the grid operator',
  summary:
    'Limits a location, ends the limit, or shows that the operator is alive. An order that is not newer than the last one is ignored.',
  sender:
    'User name {tenantUuid}/{operatorUuid} with the password of the operator; the client id is the operatorUuid.',
  schema: operatorMessageSchema,
  qos: 1,
  retain: false,
  examples: [
    {
      name: 'limit',
      summary: '8.4 kW for an hour from sentAt on.',
      payload: {
        source: 'DSO control box 17',
        isActive: true,
        limitKw: 8.4,
        durationS: 3600,
        sentAt: '2026-06-01T12:00:00Z',
      },
    },
    {
      name: 'free',
      summary: 'The limit is taken back.',
      payload: { source: 'DSO control box 17', isActive: false, sentAt: '2026-06-01T12:30:00Z' },
    },
    {
      name: 'heartbeat',
      summary: 'The operator is alive; no limit changes.',
      payload: { source: 'DSO control box 17', sentAt: '2026-06-01T12:31:00Z' },
    },
  ],
};

export const SITE_TRAFFIC: readonly SiteTraffic[] = [siteMeter, operator];

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
    description: `The operator of the charger. ${LEVEL}`,
    examples: ['0b6cf0c4-6d0f-4e0e-9f0a-5f6c3b1d2a10'],
  },
  locationId: { description: `The location of the charger. ${LEVEL}`, examples: ['quay-1'] },
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
      host: { default: '127.0.0.1', description: 'Address of the broker.' },
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
