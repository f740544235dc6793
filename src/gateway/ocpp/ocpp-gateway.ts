// The gateway: serves OCPP to the chargers of a provisioning file and joins each to the service by docs/mqtt.md.
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { SESSION_STATES } from '../../../machines/values/session-state.js';
import type { Clock } from '../../ports/clock.js';
import type { Log } from '../../ports/log.js';
import type { ProvisioningFile } from '../../provisioning/provisioning-schema.js';
import { createBearerCheck } from '../../secrets.js';
import { bridgesOf } from '../bridged-chargers.js';
import type { BridgeMonitor, BridgeParts } from '../charger-bridge.js';
import { keyOf, openGatewayMemory } from '../gateway-memory.js';
import { createGatewayMetrics, type GatewayMetrics } from '../gateway-metrics.js';
import type { GatewayLogin } from '../service-logins.js';
import { ChargerDoor, type Guest } from './charger-door.js';
import type { IdTagRule } from './id-tags.js';
import { type OcppBridge, OcppState, openOcppMemory, speaking } from './ocpp-charger.js';
import type { Call } from './ocpp-dialect.js';
import { OcppServer } from './ocpp-server.js';

/** Number of chargers that a line of the log lists; the operator can find the others with them. */
const NAMED_AT_ONCE = 10;

export interface GatewayOptions {
  readonly file: ProvisioningFile;
  readonly host: string;
  /** 0 picks a free port. */
  readonly port: number;
  /** Port of `/metrics`; undefined: no metrics server. */
  readonly metricsPort: number | undefined;
  /** Address of `/metrics`; default 127.0.0.1. */
  readonly metricsHost?: string | undefined;
  /** Bearer token for `/metrics`; undefined: none is needed. */
  readonly metricsToken?: string | undefined;
  readonly mqttUrl: string;
  /** PEM. */
  readonly mqttCa: string | undefined;
  /** PEM; with `ca` each charger must present a certificate. */
  readonly tls: { readonly cert: string; readonly key: string; readonly ca?: string } | undefined;
  readonly heartbeatS: number;
  /** Folder of the files that outlast a restart; undefined: nothing outlasts one. */
  readonly dataDir: string | undefined;
  /** URL of the CSMS behind the gateway; each charger's identity is appended. */
  readonly csmsUrl?: string | undefined;
  /** Undefined: every id tag may charge, or with a CSMS only the tags that the CSMS allows. */
  readonly idTags: IdTagRule | undefined;
  readonly newBoot: () => string;
  readonly random: () => number;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics?: GatewayMetrics;
  /** Follows the chargers, for `headroom gateway check`. */
  readonly monitor?: BridgeMonitor | undefined;
}

export class OcppGateway {
  readonly metrics: GatewayMetrics;
  readonly #options: GatewayOptions;
  readonly #bridgeParts: BridgeParts<OcppState>;
  #bridges: readonly OcppBridge[] = [];
  readonly #door: ChargerDoor;
  readonly #server: OcppServer;
  #metricsServer: Server | undefined;

  constructor(options: GatewayOptions) {
    const { file, heartbeatS, clock, log } = options;
    this.#options = options;
    this.metrics = options.metrics ?? createGatewayMetrics({ processMetrics: false });
    const { metrics } = this;
    const heartbeatMs = 1000 * heartbeatS;
    const memory = openGatewayMemory(options.dataDir, log);
    const ocppMemory = openOcppMemory(options.dataDir, log);
    const stateOf: BridgeParts<OcppState>['stateOf'] = (address) => new OcppState(address, ocppMemory);
    this.#bridgeParts = { ...options, heartbeatMs, metrics, memory, stateOf };
    this.#door = new ChargerDoor({ ...options, csmsUrl: options.csmsUrl, metrics });
    const { idTags = { kind: 'all' } } = options;
    const dialectOf = ({ protocol, bridge }: Guest, call: Call) =>
      speaking(protocol, bridge, call, { clock, log, idTags });
    this.#server = new OcppServer({
      door: this.#door,
      dialectOf,
      proxy: options.csmsUrl === undefined ? undefined : { asksIdTags: options.idTags !== undefined },
      tls: options.tls,
      clock,
      log,
      metrics,
    });
    this.#apply(file);
  }

  /**
   * Applies a changed file: new chargers may connect, removed and changed ones are disconnected. The connection, login
   * and lease of any other charger continue.
   * @throws KeptFileError without any change
   */
  provision(file: ProvisioningFile): void {
    const earlier = this.#bridges;
    this.#apply(file);
    this.#server.evict();
    this.#door.endUnusedLogins();
    this.#options.log.info(changesOf(earlier, this.#bridges), 'the changed provisioning file is in force');
  }

  /** @throws KeptFileError without any change */
  #apply(file: ProvisioningFile): void {
    const earlier = this.#bridges;
    const bridges = bridgesOf(file, this.#bridgeParts, earlier);
    this.#bridges = bridges;
    const kept = new Set(bridges);
    for (const bridge of earlier) if (!kept.has(bridge)) bridge.retire();
    this.#door.provision(bridges, loginsOf(file));
    this.metrics.provisioned.set(bridges.length);
    const shared = sharedNamesOf(bridges);
    if (shared.length > 0)
      this.#options.log.warn(
        { count: shared.length, controllers: shared.slice(0, NAMED_AT_ONCE) },
        'several tenants have a charger with this controllerUuid: its path must name the tenant',
      );
  }

  get bridges(): readonly OcppBridge[] {
    return this.#bridges;
  }

  async start(): Promise<{ readonly ocppUrl: string; readonly metricsUrl: string | undefined }> {
    const { host, port, tls, metricsPort } = this.#options;
    const ocppPort = await this.#server.listen(port, host);
    const ocppUrl = `${tls === undefined ? 'ws' : 'wss'}://${hostInUrl(host)}:${ocppPort}/ocpp`;
    const metricsUrl = metricsPort === undefined ? undefined : await this.#serveMetrics(metricsPort);
    return { ocppUrl, metricsUrl };
  }

  async stop(): Promise<void> {
    await this.#server.close();
    await this.#door.close();
    await new Promise<void>((resolve) => {
      if (this.#metricsServer === undefined) resolve();
      else this.#metricsServer.close(() => resolve());
    });
  }

  #countConnectors(): void {
    const open = this.#bridges.filter(({ isOpen }) => isOpen);
    const proven = open.reduce((sum, { provenCount }) => sum + provenCount, 0);
    const all = open.reduce((sum, { connectors }) => sum + connectors.length, 0);
    this.metrics.connectors.set({ lease: 'heartbeat' }, proven);
    this.metrics.connectors.set({ lease: 'none' }, all - proven);
    const counts = new Map(SESSION_STATES.map((state) => [state, 0]));
    for (const { session } of this.#bridges)
      for (const { state } of session.connectors()) counts.set(state, (counts.get(state) ?? 0) + 1);
    for (const [state, count] of counts) this.metrics.connectorStates.set({ state }, count);
  }

  async #serveMetrics(port: number): Promise<string> {
    const { registry } = this.metrics;
    const { metricsHost = '127.0.0.1' } = this.#options;
    const isAllowed = createBearerCheck(this.#options.metricsToken);
    const server = createServer((request, response) => {
      if (request.method !== 'GET' || request.url !== '/metrics') {
        response.writeHead(404).end();
        return;
      }
      if (!isAllowed(request.headers.authorization)) {
        response.writeHead(401, { 'www-authenticate': 'Bearer realm="headroom metrics"' }).end();
        return;
      }
      this.#countConnectors();
      void registry.metrics().then((text) => {
        response.writeHead(200, { 'content-type': registry.contentType }).end(text);
      });
    });
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, metricsHost, resolve);
    });
    this.#metricsServer = server;
    return `http://${hostInUrl(metricsHost)}:${(server.address() as AddressInfo).port}/metrics`;
  }
}

function hostInUrl(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}

/** Each controllerUuid that several tenants have. */
function sharedNamesOf(bridges: readonly OcppBridge[]): readonly string[] {
  const seen = new Set<string>();
  const shared = new Set<string>();
  for (const { address } of bridges) {
    if (seen.has(address.controllerUuid)) shared.add(address.controllerUuid);
    seen.add(address.controllerUuid);
  }
  return [...shared];
}

/** For the log: counts, and some of the chargers. */
function changesOf(earlier: readonly OcppBridge[], bridges: readonly OcppBridge[]) {
  const before = new Map(earlier.map((bridge) => [keyOf(bridge.address), bridge]));
  const now = new Map(bridges.map((bridge) => [keyOf(bridge.address), bridge]));
  const added = [...now.keys()].filter((key) => !before.has(key));
  const removed = [...before.keys()].filter((key) => !now.has(key));
  const changed = [...now].flatMap(([key, bridge]) =>
    before.has(key) && before.get(key) !== bridge ? [key] : [],
  );
  const chargers = [...added, ...removed, ...changed].slice(0, NAMED_AT_ONCE);
  return { added: added.length, removed: removed.length, changed: changed.length, chargers };
}

function loginsOf({ tenants }: ProvisioningFile): readonly GatewayLogin[] {
  return tenants.flatMap(({ tenantUuid, gateways }) =>
    gateways.flatMap(({ gatewayId, mqttPassword, controllers }) =>
      mqttPassword === undefined
        ? []
        : [{ tenantUuid, gatewayId, password: mqttPassword, controllers: new Set<string>(controllers) }],
    ),
  );
}
