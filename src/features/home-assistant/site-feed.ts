// Sends the state of each location that opted in to its readers, and the discovery of it by Home Assistant. It looks at
// the actors once a second, so a meter value costs nothing more.

import { linkOf } from '../../../machines/power/connector.js';
import { LINKS } from '../../../machines/power/connector.machine.js';
import { countedWOf } from '../../../machines/power/measured-draw.js';
import { CHARGING_STATUSES } from '../../../machines/values/charging-status.js';
import type { LocationId, TenantUuid } from '../../../machines/values/ids.js';
import { wattsOfTenths } from '../../../machines/values/units.js';
import { type ConnectorEntity, drawnKwOf, type LocationEntity, type Tenant } from '../../actors/directory.js';
import type { Cancel, Clock } from '../../ports/clock.js';
import {
  discoveryNodeOf,
  discoveryObjectOf,
  type ReadTopic,
  readPrefixesOf,
  readTopicOf,
} from '../../wire/topics.js';
import {
  type Availability,
  type Component,
  type ConnectorState,
  type Discovery,
  EXPIRE_AFTER_S,
  type LocationState,
} from './contract.js';

/** By topic; an empty payload clears it. */
type Messages = Map<string, string>;

interface Sent {
  readonly payload: string;
  /** Monotonic. */
  readonly atMs: number;
}

interface Site {
  tenant: Tenant;
  readonly locationId: LocationId;
  /** Place in the second: sites take turns. */
  readonly turn: number;
  discovery: Messages;
  /** Its rows may have changed: some topics may be gone. */
  isChanged: boolean;
  readonly sent: Map<string, Sent>;
}

const TURNS = 10;
const TURN_MS = 100;
const REFRESH_EVERY_MS = (EXPIRE_AFTER_S * 1000) / 3;
const ONLINE = JSON.stringify({ v: 1, service: 'online' } satisfies Availability);
const OFFLINE = JSON.stringify({ v: 1, service: 'offline' } satisfies Availability);

export class SiteFeed {
  readonly #clock: Clock;
  readonly #version: string;
  readonly #canSend: () => boolean;
  readonly #send: (topic: string, payload: string) => void;
  /** By the begin of the topics of its states. */
  readonly #sites = new Map<string, Site>();
  #turn = 0;
  #nextTurn = 0;
  #cancel: Cancel | undefined;
  #isStopped = false;

  constructor(options: {
    readonly clock: Clock;
    readonly version: string;
    /** The broker is there, and this service may send. */
    readonly canSend: () => boolean;
    /** Retains the message for readers that come later, or clears the topic. */
    readonly send: (topic: string, payload: string) => void;
  }) {
    this.#clock = options.clock;
    this.#version = options.version;
    this.#canSend = options.canSend;
    this.#send = options.send;
  }

  /** Call it with a new tenant, and after each change of its rows. */
  follow(tenant: Tenant): void {
    if (this.#isStopped) return;
    const { tenantUuid } = tenant;
    for (const location of tenant.locations.values()) {
      const prefix = keyOf(tenantUuid, location.record.locationId);
      const site = this.#sites.get(prefix);
      if (site === undefined && location.record.homeAssistant === undefined) continue;
      const followed = site ?? this.#add(prefix, tenant, location.record.locationId);
      followed.tenant = tenant;
      followed.discovery = discoveryOf(location, this.#version);
      followed.isChanged = true;
    }
    if (this.#sites.size > 0) this.#cancel ??= this.#clock.after(TURN_MS, () => this.#takeTurn());
  }

  /** Sends everything of the location again, within a second. @param prefix begin of the topics of its states */
  resend(prefix: string): void {
    this.#sites.get(prefix)?.sent.clear();
  }

  /** The service ends, and with it all states. @param isHandedOver another service sends them from now on */
  stop(isHandedOver: boolean): void {
    if (this.#isStopped) return;
    this.#isStopped = true;
    this.#cancel?.();
    if (isHandedOver || !this.#canSend()) return;
    for (const { tenant, locationId, sent } of this.#sites.values()) {
      const topic = readTopicOf({ ...tenant, locationId }, { kind: 'availability' });
      if (sent.has(topic)) this.#send(topic, OFFLINE);
    }
  }

  #add(prefix: string, tenant: Tenant, locationId: LocationId): Site {
    const turn = this.#nextTurn++ % TURNS;
    const site: Site = { tenant, locationId, turn, discovery: new Map(), isChanged: true, sent: new Map() };
    this.#sites.set(prefix, site);
    return site;
  }

  #takeTurn(): void {
    this.#turn = (this.#turn + 1) % TURNS;
    const due = this.#canSend() ? [...this.#sites].filter(([, { turn }]) => turn === this.#turn) : [];
    for (const [prefix, site] of due) {
      const location = site.tenant.locations.get(site.locationId);
      const isOn = location?.record.homeAssistant === true;
      if (isOn) this.#publish(site, statesOf(location));
      else this.#clear(prefix, site, location);
    }
    this.#cancel = this.#sites.size === 0 ? undefined : this.#clock.after(TURN_MS, () => this.#takeTurn());
  }

  #publish(site: Site, states: Messages): void {
    if (site.isChanged) {
      site.isChanged = false;
      for (const topic of site.sent.keys()) {
        if (states.has(topic) || site.discovery.has(topic)) continue;
        this.#send(topic, '');
        site.sent.delete(topic);
      }
    }
    const nowMs = this.#clock.monotonicMs();
    // A new device finds its state already there.
    for (const [topic, payload] of states) this.#sendNew(site, topic, payload, nowMs);
    for (const [topic, payload] of site.discovery) this.#sendNew(site, topic, payload, nowMs);
  }

  #sendNew({ sent }: Site, topic: string, payload: string, nowMs: number): void {
    const last = sent.get(topic);
    if (last?.payload === payload && nowMs - last.atMs < REFRESH_EVERY_MS) return;
    sent.set(topic, { payload, atMs: nowMs });
    this.#send(topic, payload);
  }

  /** The opt-in ended, perhaps before this service started: an external broker still retains its messages. */
  #clear(prefix: string, site: Site, location: LocationEntity | undefined): void {
    const topics = new Set(site.sent.keys());
    if (location !== undefined)
      for (const messages of [site.discovery, statesOf(location)])
        for (const topic of messages.keys()) topics.add(topic);
    for (const topic of topics) this.#send(topic, '');
    this.#sites.delete(prefix);
  }
}

function keyOf(tenantUuid: TenantUuid, locationId: LocationId): string {
  return readPrefixesOf({ tenantUuid, locationId })[0];
}

function topicOf({ tenant, record: { locationId } }: LocationEntity, topic: ReadTopic): string {
  return readTopicOf({ tenantUuid: tenant.tenantUuid, locationId }, topic);
}

function statesOf(location: LocationEntity): Messages {
  const messages: Messages = new Map([
    [topicOf(location, { kind: 'availability' }), ONLINE],
    [topicOf(location, { kind: 'locationState' }), JSON.stringify(stateOf(location))],
  ]);
  for (const connector of location.connectors.values()) {
    const topic = topicOf(location, { kind: 'connectorState', ...connector.address });
    messages.set(topic, JSON.stringify(connectorStateOf(connector)));
  }
  return messages;
}

function stateOf(location: LocationEntity): LocationState {
  const { limit } = location.actor.getSnapshot().context;
  const alarms = [...location.alarms.values()];
  return {
    v: 1,
    effectiveLimitKw: limit.effectiveLimitKw,
    gridLimitKw: limit.limitKw,
    actualKw: drawnKwOf(location).actualKw,
    openAlarms: alarms.length,
    alarmKinds: [...new Set(alarms.map(({ kind }) => kind))].sort(),
  };
}

function connectorStateOf({ control }: ConnectorEntity): ConnectorState {
  const { sentTenthsA } = control.granted;
  return {
    v: 1,
    actualKw: countedWOf(control) / 1000,
    limitKw:
      sentTenthsA === undefined
        ? null
        : wattsOfTenths(sentTenthsA, control.account.milliwattsPerTenth) / 1000,
    chargingStatus: control.telemetry.slot.status ?? null,
    link: linkOf(control),
  };
}

/** A device for the location, and one for each connector, so that each can be removed by itself. */
function discoveryOf(location: LocationEntity, sw: string): Messages {
  const { tenant, record } = location;
  const node = discoveryNodeOf({ tenantUuid: tenant.tenantUuid, locationId: record.locationId });
  const common = {
    o: { name: 'Headroom', sw },
    availability_topic: topicOf(location, { kind: 'availability' }),
    availability_template: '{{ value_json.service }}',
  };
  const locationTopic = topicOf(location, { kind: 'locationState' });
  const device: Discovery = {
    dev: { ids: [node], name: record.name, mf: 'Headroom', mdl: 'Location', sw },
    cmps: {
      effectiveLimitKw: powerSensor(node, 'effectiveLimitKw', 'Effective limit'),
      gridLimitKw: powerSensor(node, 'gridLimitKw', 'Limit in force'),
      actualKw: powerSensor(node, 'actualKw', 'Draw'),
      openAlarms: {
        ...sensor(node, 'openAlarms', 'Open alarms'),
        state_class: 'measurement',
        json_attributes_topic: locationTopic,
        json_attributes_template: "{{ {'alarmKinds': value_json.alarmKinds} | tojson }}",
      },
    },
    state_topic: locationTopic,
    ...common,
  };
  const messages: Messages = new Map([
    [topicOf(location, { kind: 'locationDiscovery' }), JSON.stringify(device)],
  ]);
  for (const { address } of location.connectors.values()) {
    const { controllerUuid, connectorId } = address;
    const id = `${node}__${discoveryObjectOf(address)}`;
    const ofConnector: Discovery = {
      dev: {
        ids: [id],
        name: `${record.name} ${controllerUuid}/${connectorId}`,
        mf: 'Headroom',
        mdl: 'Connector',
        sw,
        via_device: node,
      },
      cmps: {
        actualKw: powerSensor(id, 'actualKw', 'Draw'),
        limitKw: powerSensor(id, 'limitKw', 'Limit'),
        chargingStatus: enumSensor(id, 'chargingStatus', 'Status', CHARGING_STATUSES),
        link: { ...enumSensor(id, 'link', 'Link', LINKS), entity_category: 'diagnostic' },
      },
      state_topic: topicOf(location, { kind: 'connectorState', ...address }),
      ...common,
    };
    messages.set(topicOf(location, { kind: 'connectorDiscovery', ...address }), JSON.stringify(ofConnector));
  }
  return messages;
}

type Field = keyof LocationState | keyof ConnectorState;

function sensor(deviceId: string, field: Field, name: string): Component {
  return {
    p: 'sensor',
    name,
    unique_id: `${deviceId}__${field}`,
    value_template: `{{ value_json.${field} }}`,
    expire_after: EXPIRE_AFTER_S,
  };
}

function powerSensor(deviceId: string, field: Field, name: string): Component {
  return {
    ...sensor(deviceId, field, name),
    device_class: 'power',
    unit_of_measurement: 'kW',
    state_class: 'measurement',
    suggested_display_precision: 1,
  };
}

function enumSensor(deviceId: string, field: Field, name: string, options: readonly string[]): Component {
  return { ...sensor(deviceId, field, name), device_class: 'enum', options: [...options] };
}
