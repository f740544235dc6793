// The state of a location over MQTT, for readers, and the discovery messages by which Home Assistant finds it.
import { z } from 'zod';
import { ALARM_KINDS } from '../../../machines/ledger/grant.js';
import { LINKS } from '../../../machines/power/connector.machine.js';
import { CHARGING_STATUSES } from '../../../machines/values/charging-status.js';
import { GROUP_RULE, idSchema, secretSchema } from '../../provisioning/field-schemas.js';
import type { ReaderTraffic } from '../../wire/asyncapi.js';

/** In the provisioning file: the opt-in of a location, and the login of its reader. */
export const provisionedHomeAssistant = {
  homeAssistant: z.boolean('must be true or false').optional(),
  reader: z
    .strictObject({ readerUuid: idSchema<string>(), mqttPassword: secretSchema().optional() }, GROUP_RULE)
    .optional(),
};

/** A value that is as old as this counts as unknown; each is sent again thrice as often. */
export const EXPIRE_AFTER_S = 180;

const SENDER =
  'User name {tenantUuid}/{readerUuid} with the password of the reader; the client id is the readerUuid.';
const RETAINED = { sender: SENDER, qos: 0, retain: true } as const;

const versionSchema = z.literal(1).describe('Version of the message format.');

export const availabilitySchema = z.object({
  v: versionSchema,
  service: z.enum(['online', 'offline']).describe('`offline`: the service has stopped, or stops.'),
});
export type Availability = z.output<typeof availabilitySchema>;

export const locationStateSchema = z.object({
  v: versionSchema,
  effectiveLimitKw: z.number().describe("Limit by the location's own profiles and permanent limit, kW."),
  gridLimitKw: z.number().describe('Limit in force, kW.'),
  actualKw: z.number().describe('Draw of all connectors, kW.'),
  openAlarms: z.number().int().describe('Number of open alarms.'),
  alarmKinds: z.array(z.enum(ALARM_KINDS)).describe('Their kinds, each once.'),
});
export type LocationState = z.output<typeof locationStateSchema>;

export const connectorStateSchema = z.object({
  v: versionSchema,
  actualKw: z.number().describe('Draw, kW; of a silent connector an estimate.'),
  limitKw: z.number().nullable().describe('Limit, kW; null before the first.'),
  chargingStatus: z
    .enum(CHARGING_STATUSES)
    .nullable()
    .describe('Status in the words of OCPP 1.6; null before the first.'),
  link: z.enum(LINKS).describe('Link of its charger to the service.'),
});
export type ConnectorState = z.output<typeof connectorStateSchema>;

const templateSchema = z.string();

/** A sensor; the fields and their values are Home Assistant's. */
const componentSchema = z.object({
  p: z.literal('sensor'),
  name: z.string(),
  unique_id: z.string(),
  value_template: templateSchema,
  expire_after: z.number().int(),
  device_class: z.enum(['power', 'enum']).optional(),
  unit_of_measurement: z.literal('kW').optional(),
  state_class: z.literal('measurement').optional(),
  suggested_display_precision: z.number().int().optional(),
  options: z.array(z.string()).optional(),
  entity_category: z.literal('diagnostic').optional(),
  json_attributes_topic: z.string().optional(),
  json_attributes_template: templateSchema.optional(),
});
export type Component = z.output<typeof componentSchema>;

/** Unknown fields at the top level make Home Assistant refuse a device. So none is added here, not even a base topic. */
export const discoverySchema = z.object({
  dev: z
    .object({
      ids: z.array(z.string()).min(1),
      name: z.string(),
      mf: z.string(),
      mdl: z.string(),
      sw: z.string(),
      via_device: z.string().optional(),
    })
    .describe('The device: the location, or a connector of it.'),
  o: z.object({ name: z.string(), sw: z.string() }).describe('The origin: this software with its version.'),
  cmps: z.record(z.string(), componentSchema).describe('Its entities, by the fields of the state.'),
  state_topic: z.string().describe('Topic of its state.'),
  availability_topic: z.string().describe('Topic of the availability.'),
  availability_template: templateSchema.describe('Template of the availability.'),
});
export type Discovery = z.output<typeof discoverySchema>;

const TENANT = '0b6cf0c4-6d0f-4e0e-9f0a-5f6c3b1d2a10';
const NODE = `headroom__${TENANT}__quay-1`;
const AVAILABLE = {
  availability_topic: `ems/v1/${TENANT}/quay-1/site/live/availability`,
  availability_template: '{{ value_json.service }}',
};

const locationExample: Discovery = {
  dev: { ids: [NODE], name: 'Quay 1', mf: 'Headroom', mdl: 'Location', sw: '1.0.0' },
  o: { name: 'Headroom', sw: '1.0.0' },
  cmps: {
    actualKw: {
      p: 'sensor',
      name: 'Draw',
      unique_id: `${NODE}__actualKw`,
      value_template: '{{ value_json.actualKw }}',
      expire_after: EXPIRE_AFTER_S,
      device_class: 'power',
      unit_of_measurement: 'kW',
      state_class: 'measurement',
      suggested_display_precision: 1,
    },
  },
  state_topic: `ems/v1/${TENANT}/quay-1/site/live/location`,
  ...AVAILABLE,
};

const connectorExample: Discovery = {
  dev: {
    ids: [`${NODE}__q1-a__1`],
    name: 'Quay 1 q1-a/1',
    mf: 'Headroom',
    mdl: 'Connector',
    sw: '1.0.0',
    via_device: NODE,
  },
  o: { name: 'Headroom', sw: '1.0.0' },
  cmps: {
    chargingStatus: {
      p: 'sensor',
      name: 'Status',
      unique_id: `${NODE}__q1-a__1__chargingStatus`,
      value_template: '{{ value_json.chargingStatus }}',
      expire_after: EXPIRE_AFTER_S,
      device_class: 'enum',
      options: [...CHARGING_STATUSES],
    },
  },
  state_topic: `ems/v1/${TENANT}/quay-1/site/live/c/q1-a/1`,
  ...AVAILABLE,
};

const available: ReaderTraffic<typeof availabilitySchema> = {
  kind: 'availability',
  title: 'The service runs, or has stopped',
  summary: 'Retained. After a crash it stays online, but no state follows.',
  ...RETAINED,
  schema: availabilitySchema,
  examples: [{ name: 'online', summary: 'The service runs.', payload: { v: 1, service: 'online' } }],
};

const location: ReaderTraffic<typeof locationStateSchema> = {
  kind: 'locationState',
  title: 'State of a location',
  summary: 'Retained. Sent on a change, at most once a second, and every minute.',
  ...RETAINED,
  schema: locationStateSchema,
  examples: [
    {
      name: 'charging',
      summary: 'The cars draw 21.4 kW of 30 kW, and a charger is offline.',
      payload: {
        v: 1,
        effectiveLimitKw: 50,
        gridLimitKw: 30,
        actualKw: 21.4,
        openAlarms: 1,
        alarmKinds: ['OFFLINE'],
      },
    },
  ],
};

const connector: ReaderTraffic<typeof connectorStateSchema> = {
  kind: 'connectorState',
  title: 'State of a connector',
  summary: 'Retained. Sent on a change, at most once a second, and every minute; empty after its removal.',
  ...RETAINED,
  schema: connectorStateSchema,
  examples: [
    {
      name: 'charging',
      summary: 'A car draws 10.7 kW of 11 kW.',
      payload: { v: 1, actualKw: 10.7, limitKw: 11, chargingStatus: 'Charging', link: 'online' },
    },
  ],
};

const locationDiscovery: ReaderTraffic<typeof discoverySchema> = {
  kind: 'locationDiscovery',
  title: 'Discovery of a location by Home Assistant',
  summary:
    'Retained. Its fields are those of the device discovery of Home Assistant; empty after the opt-in ends. Ids in its topic have _2E for ".", _3A for ":" and _5F for "_".',
  ...RETAINED,
  schema: discoverySchema,
  examples: [{ name: 'location', summary: 'A location with its draw.', payload: locationExample }],
};

const connectorDiscovery: ReaderTraffic<typeof discoverySchema> = {
  ...locationDiscovery,
  kind: 'connectorDiscovery',
  title: 'Discovery of a connector by Home Assistant',
  examples: [{ name: 'connector', summary: 'A connector with its status.', payload: connectorExample }],
};

/** All that a reader receives, states first. */
export const READER_TRAFFIC: readonly ReaderTraffic[] = [
  available,
  location,
  connector,
  locationDiscovery,
  connectorDiscovery,
];
