// Builds and parses all MQTT topics of the contract.
import {
  asId,
  type ChargerAddress,
  type ConnectorId,
  type ConnectorRef,
  type ControllerUuid,
  type LocationId,
  type TenantUuid,
} from '../../machines/values/ids.js';

const ROOT = 'ems/v1';
/** In the place of a charger, for a topic of the whole location. */
const SITE = 'site';
/** Levels of the common prefix of a charger's topics. */
export const PREFIX_LEVELS = 5;

/** `state`, `meter` and `ack` come from the charger, `limit` and `sync` go to it. */
export type Topic = ChargerAddress & KindOfCharger;
type KindOfCharger =
  | { readonly kind: 'state' | 'sync' }
  | { readonly kind: 'meter' | 'ack' | 'limit'; readonly connectorId: ConnectorId };

/** A topic of a whole location, for other senders than its chargers. */
export interface SiteTopic {
  readonly kind: SiteKind;
  readonly tenantUuid: TenantUuid;
  readonly locationId: LocationId;
}

/** `operator` comes from the grid operator, `siteMeter` from the meter of the location. */
export type SiteKind = 'operator' | 'siteMeter';

/** A retained topic of a location, for its readers. */
export type ReadTopic =
  | { readonly kind: 'availability' | 'locationState' | 'locationDiscovery' }
  | ({ readonly kind: 'connectorState' | 'connectorDiscovery' } & ConnectorRef);

export type TopicKind = (Topic | SiteTopic | ReadTopic)['kind'];
export type Direction = 'toService' | 'toCharger' | 'toReader';

/** All messages to the service, of all tenants: the subscriptions at an external broker. */
export const TO_THE_SERVICE: readonly string[] = [
  `${ROOT}/+/+/${SITE}/operator`,
  `${ROOT}/+/+/${SITE}/meter`,
  `${ROOT}/+/+/+/state`,
  `${ROOT}/+/+/+/c/+/meter`,
  `${ROOT}/+/+/+/c/+/ack`,
];

/** The same of one tenant. */
export function toTheServiceOf(tenantUuid: TenantUuid): readonly string[] {
  return TO_THE_SERVICE.map((filter) => filter.replace('/+/', `/${encodeLevel(tenantUuid)}/`));
}

// An identifier may hold `.` and `:`; no other character needs escaping. Only the canonical spelling is
// parsed, so that one connector never has two topics.
const LEVEL = '((?:[A-Za-z0-9_-]|%2E|%3A)+)';
const TOPIC = new RegExp(
  `^${ROOT}/${LEVEL}/${LEVEL}/${LEVEL}/(?:(state|sync)|c/${LEVEL}/(meter|ack|limit))$`,
);

function encodeLevel(id: string): string {
  return id.replaceAll('.', '%2E').replaceAll(':', '%3A');
}

function decodeLevel(level: string): string {
  return level.includes('%') ? level.replaceAll('%2E', '.').replaceAll('%3A', ':') : level;
}

/** `ems/v1/{tenantUuid}/{locationId}/{controllerUuid}`, without a slash at the end. */
export function topicPrefixOf(charger: ChargerAddress): string {
  const { tenantUuid, locationId, controllerUuid } = charger;
  return `${ROOT}/${encodeLevel(tenantUuid)}/${encodeLevel(locationId)}/${encodeLevel(controllerUuid)}`;
}

/** `ems/v1/{tenantUuid}/{locationId}/site/operator`, or `…/site/meter`. */
export function siteTopicOf({ kind, tenantUuid, locationId }: SiteTopic): string {
  const last = kind === 'siteMeter' ? 'meter' : kind;
  return `${ROOT}/${encodeLevel(tenantUuid)}/${encodeLevel(locationId)}/${SITE}/${last}`;
}

export function buildTopic(topic: Topic): string {
  return topicUnder(topicPrefixOf(topic), topic);
}

/** As `buildTopic`, for callers that hold the result of `topicPrefixOf`. */
export function topicUnder(prefix: string, topic: KindOfCharger): string {
  return 'connectorId' in topic
    ? `${prefix}/c/${encodeLevel(topic.connectorId)}/${topic.kind}`
    : `${prefix}/${topic.kind}`;
}

/** The topic of `text`; undefined unless `buildTopic` would return exactly this text. */
export function parseTopic(text: string): Topic | undefined {
  const match = TOPIC.exec(text);
  if (match === null) return undefined;
  const [, tenant = '', location = '', controller = '', ofCharger, connector = '', ofConnector] = match;
  const tenantUuid = asId<TenantUuid>(decodeLevel(tenant));
  const locationId = asId<LocationId>(decodeLevel(location));
  const controllerUuid = asId<ControllerUuid>(decodeLevel(controller));
  if (tenantUuid === undefined || locationId === undefined || controllerUuid === undefined) return undefined;
  if (ofCharger === 'state' || ofCharger === 'sync') {
    return { kind: ofCharger, tenantUuid, locationId, controllerUuid };
  }
  const connectorId = asId<ConnectorId>(decodeLevel(connector));
  if (connectorId === undefined) return undefined;
  const kind = ofConnector === 'meter' || ofConnector === 'ack' ? ofConnector : 'limit';
  return { kind, tenantUuid, locationId, controllerUuid, connectorId };
}

const SITE_TOPIC = new RegExp(`^${ROOT}/${LEVEL}/${LEVEL}/${SITE}/(operator|meter)$`);

/** The topic of a whole location in `text`; undefined for other texts. */
export function parseSiteTopic(text: string): SiteTopic | undefined {
  const [, tenant = '', location = '', last] = SITE_TOPIC.exec(text) ?? [];
  const tenantUuid = asId<TenantUuid>(decodeLevel(tenant));
  const locationId = asId<LocationId>(decodeLevel(location));
  if (tenantUuid === undefined || locationId === undefined) return undefined;
  return { kind: last === 'meter' ? 'siteMeter' : 'operator', tenantUuid, locationId };
}

const CHARGER_TOPIC = new RegExp(`^(?:(state|sync)|c/${LEVEL}/(meter|ack|limit))$`);

/** The kind of `text`, if it is one of `prefixes` or a charger's topic under one of them. Cheaper than `parseTopic`. */
export function kindUnder(prefixes: ReadonlySet<string>, text: string): TopicKind | undefined {
  if (prefixes.has(text)) return parseSiteTopic(text)?.kind;
  let end = -1;
  for (let level = 0; level < PREFIX_LEVELS; level++) {
    end = text.indexOf('/', end + 1);
    if (end === -1) return undefined;
  }
  if (!prefixes.has(text.slice(0, end))) return undefined;
  const match = CHARGER_TOPIC.exec(text.slice(end + 1));
  return match === null ? undefined : ((match[1] ?? match[3]) as TopicKind);
}

/** `availability` and the states of a location are below `site/live`, apart from all topics of chargers. */
const LIVE = `${SITE}/live`;
const LIVE_LEVELS = 6;
/** Home Assistant's own default, with its levels for a device. */
export const DISCOVERY = 'homeassistant';
const DISCOVERY_LEVELS = 3;

type LocationAddress = Pick<SiteTopic, 'tenantUuid' | 'locationId'>;

/** Of Home Assistant's ids, which hold `A-Za-z0-9_-` alone: escaped parts, so that no two join to the same id. */
function discoveryId(...parts: readonly string[]): string {
  const escaped = parts.map((part) =>
    part.replace(/[_.:]/g, (sign) => `_${sign.charCodeAt(0).toString(16).toUpperCase()}`),
  );
  return escaped.join('__');
}

/** The common begin of all discovery ids of a location. */
export function discoveryNodeOf({ tenantUuid, locationId }: LocationAddress): string {
  return discoveryId('headroom', tenantUuid, locationId);
}

/** Unique among the discovery ids of a location. */
export function discoveryObjectOf({ controllerUuid, connectorId }: ConnectorRef): string {
  return discoveryId(controllerUuid, connectorId);
}

/** The two begins of all topics that a reader of the location may receive, without a slash at the end. */
export function readPrefixesOf(location: LocationAddress): readonly [live: string, discovery: string] {
  const { tenantUuid, locationId } = location;
  return [
    `${ROOT}/${encodeLevel(tenantUuid)}/${encodeLevel(locationId)}/${LIVE}`,
    `${DISCOVERY}/device/${discoveryNodeOf(location)}`,
  ];
}

export function readTopicOf(location: LocationAddress, topic: ReadTopic): string {
  const [live, discovery] = readPrefixesOf(location);
  switch (topic.kind) {
    case 'availability':
      return `${live}/availability`;
    case 'locationState':
      return `${live}/location`;
    case 'connectorState':
      return `${live}/c/${encodeLevel(topic.controllerUuid)}/${encodeLevel(topic.connectorId)}`;
    case 'locationDiscovery':
      return `${discovery}/location/config`;
    case 'connectorDiscovery':
      return `${discovery}/${discoveryObjectOf(topic)}/config`;
  }
}

/** The element of `readPrefixesOf` under which `text` is; undefined for a topic of chargers or of a whole location. */
export function readPrefixIn(text: string): string | undefined {
  const levels = text.split('/');
  if (levels[0] === DISCOVERY) return levels.slice(0, DISCOVERY_LEVELS).join('/');
  const isLive = levels.length > LIVE_LEVELS && levels.slice(LIVE_LEVELS - 2, LIVE_LEVELS).join('/') === LIVE;
  return isLive ? levels.slice(0, LIVE_LEVELS).join('/') : undefined;
}

const READ_KINDS: ReadonlySet<TopicKind> = new Set<ReadTopic['kind']>([
  'availability',
  'locationState',
  'connectorState',
  'locationDiscovery',
  'connectorDiscovery',
]);

export function directionOf(kind: TopicKind): Direction {
  if (READ_KINDS.has(kind)) return 'toReader';
  return kind === 'limit' || kind === 'sync' ? 'toCharger' : 'toService';
}
