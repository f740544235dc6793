// Prometheus metrics of the service. No label names a tenant, a location or a charger: their number is unbounded.
import { Counter, collectDefaultMetrics, Gauge, Histogram, type LabelValues, Registry } from 'prom-client';

export type Metrics = ReturnType<typeof createMetrics>;

/** Functions that update metrics which are measured only at a scrape. Enforcement and a front set them. */
export interface Measures {
  links(): void;
  throttles(): void;
  fuses(): void;
  openAlarms(): void;
  power(): void;
  siteMeters(): void;
  operatorLimits(): void;
  peakShaving(): void;
  front(): void;
}

/** Counts for one set of labels. */
export interface Tally {
  inc(): void;
}

/**
 * A counter for events of every message: a look-up of its labels costs more than most of the
 * counted work. Tallies are added up at a scrape.
 */
class TalliedCounter<L extends string> extends Counter<L> {
  readonly #tallies: { readonly labels: LabelValues<L>; count: number }[] = [];

  /** Call it once, and keep the result. */
  tally(labels: LabelValues<L>): Tally {
    const tally = { labels, count: 0 };
    this.#tallies.push(tally);
    return {
      inc() {
        tally.count++;
      },
    };
  }

  override async get() {
    for (const tally of this.#tallies) {
      if (tally.count > 0) this.inc(tally.labels, tally.count);
      tally.count = 0;
    }
    return super.get();
  }
}

/** Each service has its own registry, so that several services can run in one process. */
export function createMetrics(options: { readonly processMetrics: boolean } = { processMetrics: false }) {
  const registry = new Registry();
  const registers = [registry];
  if (options.processMetrics) collectDefaultMetrics({ register: registry });
  const measures: Measures = {
    links() {},
    throttles() {},
    fuses() {},
    openAlarms() {},
    power() {},
    siteMeters() {},
    operatorLimits() {},
    peakShaving() {},
    front() {},
  };
  return {
    registry,
    measures,
    ...httpMetrics(registers),
    ...commitMetrics(registers),
    ...actorMetrics(registers),
    ...mqttMetrics(registers, measures),
    ...overloadMetrics(registers),
    ...siteMetrics(registers, measures),
    ...outsideMetrics(registers, measures),
    ...logMetrics(registers),
  };
}

export type LogMetrics = ReturnType<typeof logMetrics>;

export function logMetrics(registers: Registry[]) {
  return {
    logLinesDropped: new Counter({
      name: 'headroom_log_lines_dropped_total',
      help: 'Log lines that were dropped because they could not be written.',
      registers,
    }),
    logLinesLeftOut: new Counter({
      name: 'headroom_log_lines_left_out_total',
      help: 'Log lines that were left out because lines of their kind came too fast.',
      registers,
    }),
  };
}

/** Requests and connections over HTTP, refused credentials of every kind, and certificates. */
function httpMetrics(registers: Registry[]) {
  return {
    httpRequestSeconds: new Histogram({
      name: 'headroom_http_request_seconds',
      help: 'Time to answer, by route and status.',
      labelNames: ['route', 'status'],
      buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5],
      registers,
    }),
    httpConnections: new Gauge({
      name: 'headroom_http_connections',
      help: 'Open HTTP connections.',
      registers,
    }),
    httpRefusals: new Counter({
      name: 'headroom_http_refusals_total',
      help: 'HTTP connections that were refused, or closed because of their client, by reason.',
      labelNames: ['reason'],
      registers,
    }),
    forwardedRequests: new Counter({
      name: 'headroom_forwarded_requests_total',
      help: 'Requests that a node forwarded to another, by outcome (answered, lost, vacant).',
      labelNames: ['outcome'],
      registers,
    }),
    nodeActive: new Gauge({
      name: 'headroom_node_active',
      help: '1 while this node runs, 0 while it stands by.',
      registers,
    }),
    shardsHeld: new Gauge({
      name: 'headroom_shards_held',
      help: 'Shards of the tenants that this node owns, where several nodes share them.',
      registers,
    }),
    shardFailures: new Counter({
      name: 'headroom_shard_failures_total',
      help: 'Failed starts of shards that this node had claimed.',
      registers,
    }),
    authFailures: new Counter({
      name: 'headroom_auth_failures_total',
      help: 'Refused credentials, by way in (http, token, mqtt).',
      labelNames: ['via'],
      registers,
    }),
    tlsCertificateExpires: new Gauge({
      name: 'headroom_tls_certificate_expires_timestamp_seconds',
      help: 'End of the certificates, seconds since 1970, by certificate (server, client_ca); the earliest of a chain.',
      labelNames: ['certificate'],
      registers,
    }),
  };
}

function commitMetrics(registers: Registry[]) {
  return {
    commitSeconds: new Histogram({
      name: 'headroom_commit_seconds',
      help: 'Time of one durable commit.',
      buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1],
      registers,
    }),
    commitChanges: new Histogram({
      name: 'headroom_commit_changes',
      help: 'Changes that shared one commit.',
      buckets: [1, 2, 5, 10, 20, 50, 100, 200, 500],
      registers,
    }),
  };
}

/** Boundaries and jumps of the clock, and rebuilt actors. */
function actorMetrics(registers: Registry[]) {
  return {
    boundaryLagSeconds: new Histogram({
      name: 'headroom_boundary_lag_seconds',
      help: 'Delay of window boundaries after their instants.',
      buckets: [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 60],
      registers,
    }),
    actorsRebuilt: new Counter({
      name: 'headroom_actors_rebuilt_total',
      help: 'Actor systems built again from rows after a defect.',
      registers,
    }),
    clockJumps: new Counter({
      name: 'headroom_clock_jumps_total',
      help: 'Jumps of the wall clock that were noticed, by direction.',
      labelNames: ['direction'],
      registers,
    }),
  };
}

/** Work that the service omits while its processor is short. */
function overloadMetrics(registers: Registry[]) {
  return {
    overload: new Gauge({
      name: 'headroom_overload',
      help: 'Shortage of processor time, 1 or 0, by state: raises of limits wait (raisesWait), requests that only read are refused (readsRefused).',
      labelNames: ['state'],
      registers,
    }),
    shed: new Counter({
      name: 'headroom_shed_total',
      help: 'Work refused because processor time was short, by kind (raise, read).',
      labelNames: ['what'],
      registers,
    }),
  };
}

/** Messages and connections of chargers. */
function mqttMetrics(registers: Registry[], measures: Measures) {
  const of = (name: string, help: string) => ({ name, help, registers });
  return {
    mqttMessages: new TalliedCounter({
      name: 'headroom_mqtt_messages_total',
      help: 'Messages from chargers, by kind (state, meter, ack) and result (accepted, malformed, unknown, stale, limited).',
      labelNames: ['kind', 'result'],
      registers,
    }),
    mqttRefusals: new Counter({
      name: 'headroom_mqtt_refusals_total',
      help: 'Packets and connections refused by the embedded broker, by reason.',
      labelNames: ['reason'],
      registers,
    }),
    busConnected: new Gauge(
      of(
        'headroom_bus_connected',
        'Connections to NATS: one of a front, one for each part of the tenants that a node runs.',
      ),
    ),
    busLinks: new Gauge(of('headroom_bus_links', 'Configured connections to NATS, made or not.')),
    frontOpen: new Gauge({
      ...of('headroom_front_open', '1 while this front admits chargers, 0 otherwise and on a node.'),
      collect: () => measures.front(),
    }),
    busDropped: new Counter(
      of('headroom_bus_dropped_total', 'Messages not sent over NATS, because it was unreachable or full.'),
    ),
    mqttConnections: new Gauge(
      of('headroom_mqtt_connections', 'Open MQTT connections of the embedded broker.'),
    ),
  };
}

/** Grants, alarms, power and connectors of all sites. */
function siteMetrics(registers: Registry[], measures: Measures) {
  return {
    grants: new TalliedCounter({
      name: 'headroom_grants_total',
      help: 'Limits sent to chargers, by reason.',
      labelNames: ['reason'],
      registers,
    }),
    ledgerViolations: new Counter({
      name: 'headroom_decision_failures_total',
      help: 'Failed decisions, none of which was sent; a limit that would have broken the ledger counts.',
      registers,
    }),
    alarms: new Counter({
      name: 'headroom_alarms_total',
      help: 'Alarms that began, by kind.',
      labelNames: ['kind'],
      registers,
    }),
    webhookDeliveries: new Counter({
      name: 'headroom_webhook_deliveries_total',
      help: 'Events of webhooks, by result: delivered, failed (they are sent again), dead.',
      labelNames: ['result'],
      registers,
    }),
    openAlarms: new Gauge({
      name: 'headroom_open_alarms',
      help: 'Open alarms, by kind.',
      labelNames: ['kind'],
      registers,
      collect: () => measures.openAlarms(),
    }),
    power: new Gauge({
      name: 'headroom_power_watts',
      help: 'Power of all locations, by source: measured, or estimated because connectors are silent.',
      labelNames: ['source'],
      registers,
      collect: () => measures.power(),
    }),
    connectors: new Gauge({
      name: 'headroom_connectors',
      help: 'Connectors by link (online, stale, offline).',
      labelNames: ['link'],
      registers,
      collect: () => measures.links(),
    }),
    throttledConnectors: new Gauge({
      name: 'headroom_connectors_throttle',
      help: 'Connectors by throttle (free, limited, minimum, paused).',
      labelNames: ['throttle'],
      registers,
      collect: () => measures.throttles(),
    }),
    fusePhases: new Gauge({
      name: 'headroom_fuse_phases',
      help: 'Phases of connections and feeders by state: full if one keeps a connector from more, or free.',
      labelNames: ['state'],
      registers,
      collect: () => measures.fuses(),
    }),
  };
}

/** Other sources of limits: site meters, grid operators and tariffs. */
function outsideMetrics(registers: Registry[], measures: Measures) {
  return {
    siteMeters: new Gauge({
      name: 'headroom_site_meters',
      help: 'Site meters by state: fresh, fading, stale or distrusted; in the last two the building counts as its maximum.',
      labelNames: ['state'],
      registers,
      collect: () => measures.siteMeters(),
    }),
    operatorLimits: new Gauge({
      name: 'headroom_operator_limits',
      help: 'Locations with a grid operator by the state of its limit, in the words of EEBUS LPC.',
      labelNames: ['state'],
      registers,
      collect: () => measures.operatorLimits(),
    }),
    peakShaving: new Gauge({
      name: 'headroom_peak_shaving_locations',
      help: 'Locations whose average import is limited: bound (it sets the limit in force now) or free.',
      labelNames: ['state'],
      registers,
      collect: () => measures.peakShaving(),
    }),
  };
}
