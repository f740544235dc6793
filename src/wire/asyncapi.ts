// Builds the AsyncAPI 3 document of the MQTT side from the schemas and topics in use. Its point of view is a client's.
import { z } from 'zod';
import type { ConnectorId, ControllerUuid, LocationId, TenantUuid } from '../../machines/values/ids.js';
import {
  type AckMessage,
  ackSchema,
  type LimitMessage,
  limitSchema,
  type MeterMessage,
  meterSchema,
  type StateMessage,
  type SyncMessage,
  stateSchema,
  syncSchema,
} from './mqtt.js';
import {
  buildTopic,
  directionOf,
  type ReadTopic,
  readTopicOf,
  type SiteKind,
  siteTopicOf,
  type Topic,
  type TopicKind,
} from './topics.js';

// The five messages between chargers and the service, for charger makers: transport of each, with examples.
interface ChargerTraffic<Message = unknown> {
  readonly kind: Topic['kind'];
  readonly title: string;
  readonly summary: string;
  readonly schema: z.ZodType<Message>;
  readonly qos: 0 | 1;
  readonly retain: boolean;
  readonly examples: readonly {
    readonly name: string;
    readonly summary: string;
    readonly payload: Message;
  }[];
}

const SESSION = '2c0f5a1e-93f6-4b7e-8a53-6d1f0e3b7c42';
const BOOT = '8f4f3c1e-5a0d-4f0b-9a54-0b8f0f7c2a11';

const state: ChargerTraffic<StateMessage> = {
  kind: 'state',
  title: 'The charger is connected, or lost',
  summary: 'Sent after connecting and after sync. The last will on the same topic has online: false.',
  schema: stateSchema,
  qos: 1,
  retain: true,
  examples: [
    {
      name: 'there',
      summary: 'A charger with one connector that keeps the newest thenA over a restart.',
      payload: {
        v: 1,
        online: true,
        boot: BOOT,
        seqNo: 1,
        firmware: 'Acme 2.4',
        connectors: [
          { id: '1', phases: 3, minA: 6, maxA: 32, failsafeA: 6, lease: 'heartbeat', keepsThen: true },
        ],
      },
    },
    {
      name: 'dc',
      summary: 'A charger with one DC connector: all its powers are W at the car.',
      payload: {
        v: 1,
        online: true,
        boot: BOOT,
        connectors: [
          {
            ...({ id: '1', powerType: 'DC', minW: 5_000, maxW: 150_000, failsafeW: 0 } as const),
            ...({ lease: 'heartbeat', keepsThen: true } as const),
          },
        ],
      },
    },
    {
      name: 'endsWithSession',
      summary:
        'A charger that ends a limit by itself when the car leaves, so that others may use phases that its car does not.',
      payload: {
        v: 1,
        online: true,
        boot: BOOT,
        connectors: [
          {
            ...({ id: '1', phases: 3, minA: 6, maxA: 32, failsafeA: 0, lease: 'heartbeat' } as const),
            keepsThen: true,
            endsWithSession: true,
          },
        ],
      },
    },
    {
      name: 'switchesPhases',
      summary:
        'The same with a contactor for one phase and one for the others: a limit for one phase lets any car charge on one.',
      payload: {
        v: 1,
        online: true,
        boot: BOOT,
        connectors: [
          {
            ...({ id: '1', phases: 3, minA: 6, maxA: 32, failsafeA: 0, lease: 'heartbeat' } as const),
            keepsThen: true,
            endsWithSession: true,
            switchesPhases: true,
          },
        ],
      },
    },
    {
      name: 'behindGateway',
      summary: 'A charger behind an OCPP gateway, which has not verified its lease yet.',
      payload: {
        v: 1,
        online: true,
        boot: BOOT,
        connectors: [
          {
            ...({ id: '1', phases: 3, minA: 6, maxA: 32, failsafeA: 6, lease: 'none' } as const),
            keepsThen: true,
            ocppState: 'provingLease',
          },
        ],
      },
    },
    { name: 'lost', summary: 'The last will.', payload: { v: 1, online: false, boot: BOOT } },
  ],
};

const meter: ChargerTraffic<MeterMessage> = {
  kind: 'meter',
  title: 'Heartbeat with meter values',
  summary:
    'Sent every 10 s and after a change, for each connector. It requests a lease and repeats the newest ack.',
  schema: meterSchema,
  qos: 0,
  retain: false,
  examples: [
    {
      name: 'charging',
      summary: 'A car draws 10.8 A on three phases under a lease.',
      payload: {
        v: 1,
        boot: BOOT,
        hb: 17,
        at: '2026-06-01T12:00:10.000Z',
        status: 'Charging',
        powerW: 7452,
        currentA: [10.8, 10.8, 10.8],
        voltageV: [230, 230, 230],
        energyWh: 12_440,
        epoch: 4,
        seq: 9,
        limitA: 10.9,
        leaseLeftS: 52.4,
      },
    },
    {
      name: 'fallenBack',
      summary: 'Its lease has ended: it keeps to the thenA of the last limit.',
      payload: {
        v: 1,
        boot: BOOT,
        hb: 24,
        status: 'Charging',
        powerW: 4140,
        epoch: 0,
        seq: 0,
        limitA: 6,
      },
    },
    {
      name: 'dc',
      summary: 'A car takes 80 kW of a DC connector, which keeps to 84.6 kW.',
      payload: {
        v: 1,
        boot: BOOT,
        hb: 17,
        status: 'Charging',
        powerW: 80_000,
        socPercent: 63,
        chargingPreferences: { departureTime: '2026-06-01T17:00:00.000Z', energyNeedKwh: 40 },
        epoch: 4,
        seq: 9,
        limitW: 84_642,
        leaseLeftS: 52.4,
      },
    },
    {
      name: 'onePhase',
      summary: 'A car that uses one phase of three, named by its session.',
      payload: {
        v: 1,
        boot: BOOT,
        hb: 31,
        status: 'Charging',
        session: SESSION,
        idTag: '04A2B1C2',
        powerW: 3680,
        currentA: [16, 0, 0],
        voltageV: [230, 230, 230],
        epoch: 4,
        seq: 12,
        limitA: 16,
        leaseLeftS: 58.1,
      },
    },
    {
      name: 'endOpen',
      summary: 'It counts leases by a clock that is about to be set: its limits may last longer.',
      payload: {
        v: 1,
        boot: BOOT,
        hb: 32,
        status: 'Charging',
        powerW: 7452,
        epoch: 4,
        seq: 9,
        limitA: 10.9,
        isEndOpen: true,
      },
    },
    { name: 'simple', summary: 'The fields of a simple charger.', payload: { powerW: 7400 } },
  ],
};

const limit: ChargerTraffic<LimitMessage> = {
  kind: 'limit',
  title: 'Limit with a lease',
  summary: 'Sent in answer to heartbeats, and at once when the limit falls. Answered with ack.',
  schema: limitSchema,
  qos: 1,
  retain: false,
  examples: [
    {
      name: 'fairShare',
      summary: '10.9 A for 60 s from when heartbeat 17 was sent, then 6 A.',
      payload: {
        v: 1,
        epoch: 4,
        seq: 9,
        boot: BOOT,
        ref: 17,
        ttlS: 60,
        limitA: 10.9,
        limitW: 7521,
        thenA: 6,
        reason: 'fairShare',
      },
    },
    {
      name: 'dc',
      summary: '84.6 kW at the car of a DC connector, then nothing: 145 A of each phase at most, at 94 %.',
      payload: {
        v: 1,
        epoch: 4,
        seq: 9,
        boot: BOOT,
        ref: 17,
        ttlS: 60,
        limitA: 145,
        limitW: 84_642,
        thenA: 0,
        thenW: 0,
        reason: 'fairShare',
      },
    },
    {
      name: 'onePhase',
      summary: '27.1 A on the first phase alone, and for this car alone.',
      payload: {
        v: 1,
        epoch: 4,
        seq: 13,
        boot: BOOT,
        ref: 31,
        ttlS: 60,
        limitA: 27.1,
        limitW: 6233,
        thenA: 6,
        session: SESSION,
        phases: 1,
        reason: 'fairShare',
      },
    },
    {
      name: 'pause',
      summary: 'No power now: the connector is paused until its turn.',
      payload: {
        v: 1,
        epoch: 4,
        seq: 10,
        boot: BOOT,
        ref: 18,
        ttlS: 60,
        limitA: 0,
        limitW: 0,
        thenA: 0,
        reason: 'paused',
      },
    },
  ],
};

const ack: ChargerTraffic<AckMessage> = {
  kind: 'ack',
  title: 'Outcome of a limit',
  summary: 'Sent once the hardware took a limit, or at once if the charger does not take it.',
  schema: ackSchema,
  qos: 1,
  retain: false,
  examples: [
    {
      name: 'applied',
      summary: 'The car has been offered 10.9 A.',
      payload: { v: 1, boot: BOOT, epoch: 4, seq: 9, result: 'APPLIED', appliedA: 10.9 },
    },
    {
      name: 'dc',
      summary: 'A DC connector keeps to 84.6 kW at the car.',
      payload: { v: 1, boot: BOOT, epoch: 4, seq: 9, result: 'APPLIED', appliedW: 84_642 },
    },
    {
      name: 'expired',
      summary: 'The limit came after its lease had ended; nothing changed.',
      payload: { v: 1, boot: BOOT, epoch: 4, seq: 8, result: 'EXPIRED', appliedA: 6 },
    },
  ],
};

const sync: ChargerTraffic<SyncMessage> = {
  kind: 'sync',
  title: 'Request to send everything now',
  summary: 'Sent after the service has started. Answered with state and a meter value of each connector.',
  schema: syncSchema,
  qos: 1,
  retain: false,
  examples: [{ name: 'started', summary: 'The service has started.', payload: { v: 1, epoch: 5 } }],
};

/** In the order in which a charger needs them. */
export const CHARGER_TRAFFIC: readonly ChargerTraffic[] = [state, meter, limit, ack, sync];

/** One kind of message about a whole location, sent to the service, which sends no answer. A feature describes it. */
export interface SiteTraffic<S extends z.ZodType = z.ZodType> {
  readonly kind: SiteKind;
  readonly title: string;
  readonly summary: string;
  /** The permitted login. */
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

/** One kind of message about a location, to its readers. A feature describes it. */
export interface ReaderTraffic<S extends z.ZodType = z.ZodType>
  extends Omit<SiteTraffic<S>, 'kind' | 'retain'> {
  readonly kind: ReadTopic['kind'];
  readonly retain: true;
}

type Traffic = ChargerTraffic | SiteTraffic | ReaderTraffic;

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
const CONNECTOR = { ...ADDRESS, connectorId: CONNECTOR_ID };

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
const CHARGER_SECURITY = byPassword(
  'User name {tenantUuid}/{controllerUuid} with the password of the charger; the client id is the controllerUuid. ' +
    'A gateway logs in as {tenantUuid}/{gatewayId} with the gatewayId as client id.',
);

function addressOf(kind: TopicKind): string {
  switch (kind) {
    case 'siteMeter':
    case 'operator':
      return siteTopicOf({ ...ADDRESS, kind });
    case 'state':
    case 'sync':
      return buildTopic({ ...ADDRESS, kind });
    case 'meter':
    case 'ack':
    case 'limit':
      return buildTopic({ ...CONNECTOR, kind });
    case 'connectorState':
    case 'connectorDiscovery':
      return readTopicOf(ADDRESS, { ...CONNECTOR, kind });
    default:
      return readTopicOf(ADDRESS, { kind });
  }
}

function capitalized(kind: TopicKind): string {
  return `${kind.charAt(0).toUpperCase()}${kind.slice(1)}`;
}

/** The login for messages of the kind: a name of `securitySchemes`. */
function loginFor(kind: TopicKind): string {
  if (kind === 'siteMeter' || kind === 'operator') return kind;
  return directionOf(kind) === 'toReader' ? 'reader' : 'charger';
}

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
    security: [{ $ref: `#/components/securitySchemes/${loginFor(kind)}` }],
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

function serverOf(lastWill: object, logins: readonly string[]) {
  return {
    host: '{host}:{port}',
    protocol: 'mqtt',
    protocolVersion: '3.1.1',
    title: 'The embedded broker, or one the operator runs',
    variables: {
      host: { default: '127.0.0.1', description: 'Address of the broker.' },
      port: { default: '1883', description: 'Its port; the operator may offer TLS on another.' },
    },
    security: logins.map((name) => ({ $ref: `#/components/securitySchemes/${name}` })),
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

/**
 * @param ofLocations messages about locations, beside those of their chargers
 * @param version of the software; the interface is version 1
 */
export function createAsyncApiDocument(
  ofLocations: readonly (SiteTraffic | ReaderTraffic)[],
  version: string,
): AsyncApiDocument {
  const lastWill = { topic: addressOf('state'), qos: 1, retain: true, message: '{"v":1,"online":false}' };
  const all: readonly Traffic[] = [...CHARGER_TRAFFIC, ...ofLocations];
  const securitySchemes = {
    charger: CHARGER_SECURITY,
    ...Object.fromEntries(ofLocations.map(({ kind, sender }) => [loginFor(kind), byPassword(sender)])),
  };
  const each = <T>(build: (traffic: Traffic) => T, name: (kind: TopicKind) => string = String) =>
    Object.fromEntries(all.map((traffic) => [name(traffic.kind), build(traffic)]));
  return {
    asyncapi: '3.0.0',
    id: 'urn:headroom:chargers:v1',
    info: {
      title: 'Headroom over MQTT',
      version,
      description:
        "Messages over MQTT 3.1.1, JSON in UTF-8, as chargers, the meter of a location, the grid operator and readers send and receive them. A charger subscribes to its exact topics before it sends state; a last will is a charger's alone.",
    },
    defaultContentType: 'application/json',
    servers: { broker: serverOf(lastWill, Object.keys(securitySchemes)) },
    channels: each(channelOf),
    operations: each(operationOf, operationNameOf),
    components: {
      messages: each(messageOf),
      schemas: each(({ schema }) => payloadSchemaOf(schema)),
      parameters: PARAMETERS,
      securitySchemes,
    },
  };
}
