// A running service and a gateway to it, both real, with leases of seconds, and chargers that connect to the gateway.
import { randomUUID } from 'node:crypto';
import { RPCClient } from 'ocpp-rpc';
import type { ConnectorId, ControllerUuid } from '../../machines/values/ids.js';
import { ampereOfDcW } from '../../sim/charger/direct-current.js';
import { OcppCharger, type OcppChargerOptions } from '../../sim/charger/ocpp-charger.js';
import { HUNGRY } from '../../sim/charger/traffic.js';
import { systemClock } from '../../src/clock.js';
import { type GatewayOptions, OcppGateway } from '../../src/gateway/ocpp/ocpp-gateway.js';
import { parseProvisioning } from '../../src/provisioning/parse-provisioning.js';
import type { ProvisioningFile } from '../../src/provisioning/provisioning-schema.js';
import { hashSecret } from '../../src/secrets.js';
import {
  CHARGER_PASSWORD,
  HARBOUR,
  type RunningService,
  runService,
  silentLog,
  site,
  tenantWith,
} from '../service/running-service.js';

export const CHARGER = 'quay-a';
export const GATEWAY_PASSWORD = 'a gateway knows this one';
export const LEASE_S = 6;
const TIMING = { HEADROOM_HEARTBEAT_S: '1', HEADROOM_LEASE_TTL_S: String(LEASE_S), HEADROOM_SETTLE_S: '1' };

export const ONE = {
  connectorId: '1' as ConnectorId,
  phases: 3,
  voltageV: 230,
  maxCurrentA: 32,
  failsafeA: 6,
} as const;

/** 20 kW at the car, at 500 V at most; 2 kW without a lease. */
export const DC_RATING = { maxPowerKw: 20, minPowerKw: 2, efficiency: 0.9 } as const;
export const DC_FIELDS =
  '{ connectorId: "1", powerType: DC, maxPowerKw: 20, minPowerKw: 2, failsafeKw: 2, maxVoltageV: 500 }';

const DC_ONE = { ...ONE, dc: DC_RATING, maxCurrentA: 0, failsafeA: 0 };
/** The same for a virtual charger. */
export const DC_CONNECTOR = {
  ...DC_ONE,
  maxCurrentA: ampereOfDcW(20_000, DC_ONE),
  failsafeA: ampereOfDcW(2_000, DC_ONE),
};

/** `voltageV` of all connectors; `gatewayId` has a login for all chargers. */
export function fileOf(
  connectorIds: readonly string[],
  chargers: readonly string[] = [CHARGER],
  { voltageV = 230, gatewayId = 'bench', isDc = false } = {},
): ProvisioningFile {
  const connectors = connectorIds.map((connectorId) =>
    isDc ? DC_FIELDS : `{ connectorId: "${connectorId}", phases: 3, voltageV: ${voltageV}, maxCurrentA: 32 }`,
  );
  return parseProvisioning(
    `
tenants:
  - tenantUuid: ${HARBOUR}
    name: A tenant
    locations:
      - locationId: quay
        name: The quay
        permanentLimitKw: 11
        chargers:
${chargers.map((controllerUuid) => `          - { controllerUuid: ${controllerUuid}, connectors: [${connectors.join(', ')}] }`).join('\n')}
    gateways:
      - { gatewayId: ${gatewayId}, mqttPassword: ${GATEWAY_PASSWORD}, controllers: [${chargers.join(', ')}] }
`,
    'sites.yaml',
  );
}

export interface OcppSite {
  readonly service: RunningService;
  readonly gateway: OcppGateway;
  readonly ocppUrl: string;
  readonly metricsUrl: string | undefined;
  /** A charger with a car that takes all available power; it is stopped with the site. */
  charger(options?: Partial<OcppChargerOptions>): OcppCharger;
  /** A bare connection as the charger. */
  client(options?: Partial<ConstructorParameters<typeof RPCClient>[0]>): RPCClient;
  /** The first connector of the charger. */
  live(controllerUuid?: string): Promise<Readonly<Record<string, unknown>>>;
  /** The gateway's counter with that name. */
  count(name: string, labels?: Readonly<Record<string, string>>): Promise<number>;
  /** Starts another gateway after the earlier one has stopped, with the same address and data directory. */
  nextGateway(): Promise<OcppGateway>;
  stop(): Promise<void>;
}

/** A location of 11 kW whose chargers have one connector or the first two, and one password. */
export async function runOcppSite(
  options: Partial<GatewayOptions> = {},
  connectorCount: 1 | 2 = 1,
  controllerUuids: readonly string[] = [CHARGER],
  { isDc = false } = {},
): Promise<OcppSite> {
  const quay = site('quay', { permanentLimitKw: 11 });
  const file = fileOf(['1', '2'].slice(0, connectorCount), controllerUuids, { isDc });
  const chargers = controllerUuids.flatMap((controllerUuid) =>
    quay.chargers.map((charger) => ({
      ...charger,
      controllerUuid: controllerUuid as ControllerUuid,
      connectors: isDc ? connectorsOf(file) : charger.connectors.slice(0, connectorCount),
    })),
  );
  const gateways = [
    {
      gatewayId: 'bench',
      mqttSecretHash: hashSecret(GATEWAY_PASSWORD),
      controllers: chargers.map(({ controllerUuid }) => controllerUuid),
    },
  ];
  const tenant = { ...tenantWith(HARBOUR, [{ ...quay, chargers }]), gateways };
  const service = await runService([tenant], {}, TIMING);
  const gatewayOptions: GatewayOptions = {
    file,
    host: '127.0.0.1',
    port: 0,
    metricsPort: undefined,
    mqttUrl: service.mqttUrl,
    mqttCa: undefined,
    tls: undefined,
    heartbeatS: 1,
    dataDir: undefined,
    idTags: undefined,
    newBoot: randomUUID,
    random: () => 0,
    clock: systemClock,
    log: silentLog,
    ...options,
  };
  const gateway = new OcppGateway(gatewayOptions);
  const { ocppUrl, metricsUrl } = await gateway.start();
  const cleanUps: (() => Promise<unknown>)[] = [];
  return {
    service,
    gateway,
    ocppUrl,
    metricsUrl,
    charger(more = {}) {
      const charger = new OcppCharger({
        url: ocppUrl,
        controllerUuid: CHARGER,
        password: CHARGER_PASSWORD,
        connector: ONE,
        seed: 1,
        traffic: HUNGRY,
        clock: systemClock,
        ...more,
      });
      charger.start();
      cleanUps.push(() => charger.stop());
      return charger;
    },
    client(more = {}) {
      const client = new RPCClient({ ...CLIENT, endpoint: ocppUrl, ...more });
      cleanUps.push(() => client.close({ force: true }));
      return client;
    },
    async live(controllerUuid = CHARGER) {
      const { body } = await service.call('GET', '/locations/quay/live');
      const connectors = body.connectors as Readonly<Record<string, unknown>>[];
      return connectors.find((connector) => connector.controllerUuid === controllerUuid) ?? {};
    },
    async count(name, labels = {}) {
      const metric = await gateway.metrics.registry.getSingleMetric(name)?.get();
      const matching = (metric?.values ?? []).filter((value) =>
        Object.entries(labels).every(([label, text]) => Reflect.get(value.labels, label) === text),
      );
      return matching.reduce((sum, { value }) => sum + value, 0);
    },
    async nextGateway() {
      const next = new OcppGateway({ ...gatewayOptions, port: Number(new URL(ocppUrl).port) });
      await next.start();
      cleanUps.push(() => next.stop());
      return next;
    },
    async stop() {
      for (const cleanUp of cleanUps) await cleanUp().catch(() => {});
      await gateway.stop();
      await service.stop();
    },
  };
}

function connectorsOf({ tenants }: ProvisioningFile) {
  const [charger] = tenants[0]?.locations[0]?.chargers ?? [];
  return (charger?.connectors ?? []).map(({ rotation: _, output: _output, ...connector }) => connector);
}

/** A bare connection of the charger, without the endpoint. */
export const CLIENT = {
  identity: CHARGER,
  password: CHARGER_PASSWORD,
  protocols: ['ocpp1.6'],
  strictMode: false,
  reconnect: false,
  callTimeoutMs: 10_000,
  pingIntervalMs: 30_000,
  deferPingsOnActivity: false,
  respondWithDetailedErrors: false,
  callConcurrency: 1,
  strictModeValidators: [],
  maxBadMessages: 1_000,
  wsOpts: {},
  headers: {},
  maxReconnects: 0,
  backoff: { initialDelay: 100, maxDelay: 200, factor: 2, randomisationFactor: 0 },
};
