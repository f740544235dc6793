// Implementation of `headroom demo`: the service, a tenant with sites, and virtual chargers, live with one command.

import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectAsync } from 'mqtt';
import type { z } from 'zod';
import { counted } from '../machines/values/counted.js';
import {
  countReasons,
  type Fleet,
  type FleetConnector,
  type FleetMember,
  formatReasons,
  startFleet,
} from '../sim/charger/fleet.js';
import { OcppCharger } from '../sim/charger/ocpp-charger.js';
import { CROWDED } from '../sim/charger/traffic.js';
import type { Building } from '../sim/scenario/scenario.js';
import { buildingWAt } from '../sim/world/building.js';
import { systemClock } from '../src/clock.js';
import { type Config, databaseUrlOf, isGiven } from '../src/config.js';
import { clusterDetailSchema, clusterListSchema, clusterSchema } from '../src/features/clusters/contract.js';
import { OcppGateway } from '../src/gateway/ocpp/ocpp-gateway.js';
import { createLogger } from '../src/log.js';
import { createAdministration } from '../src/outbound/knex/administration.js';
import { OperatorError } from '../src/ports/operator-error.js';
import { provisionFile } from '../src/provisioning/provision-file.js';
import type { ProvisioningFile } from '../src/provisioning/provisioning-schema.js';
import { Service } from '../src/service.js';
import { toInstant } from '../src/wire/instants.js';
import { siteTopicOf } from '../src/wire/topics.js';
import { DEMO_FILE } from './demo-file.js';
import { membersOfFile } from './fleet-plan.js';
import { isPortFree } from './ports.js';
import { printLine, printNote } from './print.js';
import { readProvisioningFile } from './provision.js';
import { configOf, type SettingsFlags } from './settings-flags.js';
import { stopWithGrace } from './stop-with-grace.js';

// The OCPP charger of the demo, which connects through a gateway as a real one would.

/** This charger has one connector; the virtual OCPP charger supports no more. */
const SPEAKS_OCPP = 'q1-d';
const OCPP_SEED = 4;

function speaksOcpp({ address }: FleetMember): boolean {
  return address.controllerUuid === SPEAKS_OCPP;
}

interface DemoGateway {
  readonly ocppUrl: string;
  stop(): Promise<void>;
}

/** A gateway on a free port, and `member` connected to it. */
async function startDemoGateway(options: {
  readonly file: ProvisioningFile;
  readonly mqttUrl: string;
  readonly heartbeatS: number;
  readonly member: FleetMember;
}): Promise<DemoGateway> {
  const { file, mqttUrl, heartbeatS, member } = options;
  const gateway = new OcppGateway({
    file,
    mqttUrl,
    heartbeatS,
    host: '127.0.0.1',
    port: 0,
    metricsPort: undefined,
    mqttCa: undefined,
    tls: undefined,
    dataDir: undefined,
    idTags: undefined,
    newBoot: randomUUID,
    random: () => 0,
    clock: systemClock,
    log: createLogger({ level: 'error' }),
  });
  const { ocppUrl } = await gateway.start();
  const [connector] = member.connectors;
  const charger =
    connector === undefined
      ? undefined
      : new OcppCharger({
          url: ocppUrl,
          controllerUuid: member.address.controllerUuid,
          password: member.password ?? '',
          connector,
          seed: OCPP_SEED,
          traffic: CROWDED,
          clock: systemClock,
        });
  charger?.start();
  return {
    ocppUrl,
    async stop() {
      await charger?.stop();
      await gateway.stop();
    },
  };
}

// The building of the demo: its load behind the connection of a location, reported by a meter over MQTT as a real one
// would.
const READ_EVERY_MS = 2_000;
const BUILDING_SEED = 4;
const MINUTE_MS = 60_000;

/** Shops, lifts, and a kitchen with peaks of several minutes. */
function buildingAt(locationId: string): Building {
  const always = { fromMs: 0, untilMs: Number.MAX_SAFE_INTEGER };
  return {
    tenantUuid: '',
    locationId,
    connectionKw: 0,
    maxBuildingKw: 0,
    leastReserveKw: 0,
    base: [{ fromMs: 0, kw: 18 }],
    lift: { kw: 7, everyMs: 2 * MINUTE_MS, lastsMs: 25_000 },
    peaks: [{ kw: 12, everyMs: 10 * MINUTE_MS, lastsMs: 4 * MINUTE_MS, ...always }],
    pv: undefined,
    pvRaisesHeadroom: false,
    meterEveryMs: READ_EVERY_MS,
    meterFaults: [],
  };
}

/**
 * Reports the meter of the first location with a meter; without one, it does nothing. @returns a function that stops
 * it.
 */
async function startDemoMeter(
  file: ProvisioningFile,
  mqttUrl: string,
  fleet: Pick<Fleet, 'connectors'>,
): Promise<() => Promise<void>> {
  const [tenant] = file.tenants;
  const location = tenant?.locations.find(({ siteMeter }) => siteMeter !== undefined);
  if (tenant === undefined || location?.siteMeter === undefined) return async () => {};
  const { tenantUuid } = tenant;
  const { locationId, siteMeter } = location;
  const building = buildingAt(locationId);
  const topic = siteTopicOf({ kind: 'siteMeter', tenantUuid, locationId });
  const client = await connectAsync(mqttUrl, {
    clientId: siteMeter.meterUuid,
    username: `${tenantUuid}/${siteMeter.meterUuid}`,
    password: siteMeter.mqttPassword ?? '',
    protocolVersion: 4,
    reconnectOnConnackError: true,
  });
  client.on('error', () => {});
  let hb = 0;
  let cancel = () => {};
  const read = () => {
    const now = systemClock.nowMs();
    let powerW = buildingWAt(building, BUILDING_SEED, now);
    for (const connector of fleet.connectors())
      if (connector.locationId === locationId) powerW += Math.round(connector.powerW);
    client.publish(topic, JSON.stringify({ v: 1, hb: ++hb, at: new Date(now).toISOString(), powerW }));
    cancel = systemClock.after(READ_EVERY_MS, read);
  };
  read();
  return async () => {
    cancel();
    await client.endAsync(true);
  };
}

// The demo's tenant through the API: a cluster over all locations, and the power of each.
const CLUSTER_NAME = 'Harbour front';
const CLUSTER_LIMIT_KW = 100;

interface DemoSite {
  readonly clusterId: string;
  /**
   * A line for each location: power and limit in kW, and the reasons of its connectors' limits. The last line is the
   * total.
   */
  liveLines(connectors: readonly FleetConnector[]): Promise<readonly string[]>;
}

/** Finds or creates the demo's cluster over REST. */
async function openDemoSite(options: {
  readonly httpUrl: string;
  readonly apiKey: string;
  readonly locationIds: readonly string[];
}): Promise<DemoSite> {
  async function call<S extends z.ZodType>(schema: S, path: string, body?: object): Promise<z.output<S>> {
    const response = await fetch(`${options.httpUrl}/v1${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { 'x-api-key': options.apiKey, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (!response.ok) throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
    return schema.parse(await response.json());
  }

  const { clusters } = await call(clusterListSchema, '/clusters');
  const { clusterId } =
    clusters.find(({ name }) => name === CLUSTER_NAME) ??
    (await call(clusterSchema, '/clusters', {
      name: CLUSTER_NAME,
      locationIds: options.locationIds,
      limitKw: CLUSTER_LIMIT_KW,
    }));
  return {
    clusterId,
    async liveLines(connectors) {
      const { liveStatus } = await call(clusterDetailSchema, `/clusters/${clusterId}`);
      const { locations, actualTotalKw, clusterLimitKw } = liveStatus;
      const lines = locations.map(({ locationId, actualKw, effectiveLimitKw }) => {
        const reasons = countReasons(connectors.filter((connector) => connector.locationId === locationId));
        return `${formatDraw(locationId, actualKw, effectiveLimitKw)}   ${formatReasons(reasons)}`;
      });
      return [...lines, formatDraw('together', actualTotalKw, clusterLimitKw)];
    },
  };
}

function formatDraw(name: string, actualKw: number, limitKw: number | null): string {
  const limit = limitKw === null ? '' : ` of ${limitKw.toFixed(1).padStart(5)}`;
  return `${name.padEnd(16)}${actualKw.toFixed(1).padStart(6)}${limit} kW`;
}

// The text that the demo prints: addresses, and three commands to try.
const STARTS_IN_MS = 20_000;
const LASTS_MS = 60_000;

/** Bold if the output is a terminal that supports it; otherwise plain. */
function bold(text: string): string {
  return process.stdout.isTTY && process.stdout.hasColors() ? `\u001b[1m${text}\u001b[22m` : text;
}

/** The text, with a schedule that begins 20 s after `nowMs` and ends a minute later. */
function demoGuide(options: {
  readonly httpUrl: string;
  readonly mqttUrl: string;
  readonly ocppUrl: string;
  readonly apiKey: string;
  readonly locationId: string;
  readonly clusterId: string;
  readonly sizes: string;
  readonly nowMs: number;
}): string {
  const { httpUrl, mqttUrl, ocppUrl, apiKey, locationId, clusterId, sizes, nowMs } = options;
  const startTime = toInstant(nowMs + STARTS_IN_MS);
  const endTime = toInstant(nowMs + STARTS_IN_MS + LASTS_MS);
  const schedule = JSON.stringify({ startTime, endTime, limitKw: 22, priority: 5 });
  const key = `-H 'x-api-key: ${apiKey}'`;
  const clock = (instant: string) => instant.slice(11, 19);
  return `
${bold('Headroom is running')}, with ${sizes}. Ctrl-C stops everything.

  Dashboard  ${httpUrl}/
  API key    ${apiKey}   (signs in there)
  API docs   ${httpUrl}/docs
  Chargers   ${mqttUrl}, and ${ocppUrl} for OCPP (q1-d)

${bold(`Limit ${locationId} to 22 kW`)} from ${clock(startTime)} to ${clock(endTime)} UTC:

curl -sS ${httpUrl}/v1/locations/${locationId}/schedules ${key} -H 'content-type: application/json' -d '${schedule}'

${bold('Read its limits')}, again and again: SCHEDULED, ACTIVE, EXPIRED, and the effective limit with them:

curl -sS ${httpUrl}/v1/locations/${locationId}/limits ${key}

${bold('Read the power of the cars')} right now, per location and together, in kW:

curl -sS ${httpUrl}/v1/clusters/${clusterId} ${key}
`;
}

const SEED = 4;
const LIVE_LINES_EVERY_MS = 2000;

type Undo = (step: () => Promise<void> | void) => void;

async function freePort(what: string, host: string, port: number): Promise<number> {
  if (port === 0 || (await isPortFree(host, port))) return port;
  printNote(`Port ${port} is in use: ${what} takes a free one instead.`);
  return 0;
}

/** The settings, with defaults for a demo: a temporary directory and a quiet log. */
async function demoConfig(flags: SettingsFlags, undo: Undo): Promise<Config> {
  const config = configOf(flags);
  const { httpHost, mqttHost } = config;
  return {
    ...config,
    tlsCert: undefined,
    tlsKey: undefined,
    tlsClientCa: undefined,
    standby: false,
    sharded: false,
    nodeUrl: undefined,
    dataDir: isGiven('dataDir', flags) ? config.dataDir : temporaryDirectory(undo),
    logLevel: isGiven('logLevel', flags) ? config.logLevel : 'error',
    httpPort: await freePort('the REST server', httpHost, config.httpPort),
    mqttPort: await freePort('the broker', mqttHost, config.mqttPort),
  };
}

function temporaryDirectory(undo: Undo): string {
  const directory = mkdtempSync(join(tmpdir(), 'headroom-demo-'));
  undo(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

async function provision(config: Config, file: ProvisioningFile): Promise<void> {
  const administration = await createAdministration({ databaseUrl: databaseUrlOf(config) });
  const outcomes = provisionFile(administration, file, { dryRun: false, atMs: systemClock.nowMs() });
  for await (const _ of outcomes);
  await administration.close();
}

/** In a terminal, updates these lines in place below the guide. */
function showLiveLines(site: DemoSite, fleet: Fleet): void {
  let shown = 0;
  const show = () => {
    const lines = site.liveLines(fleet.connectors()).catch(() => []);
    lines.then((texts) => {
      if (shown > 0 && texts.length > 0) process.stdout.write(`\u001b[${shown}A`);
      for (const text of texts)
        process.stdout.write(`\u001b[2K${text.slice(0, process.stdout.columns - 1)}\n`);
      shown = texts.length > 0 ? texts.length : shown;
      systemClock.after(LIVE_LINES_EVERY_MS, show);
    });
  };
  if (process.stdout.isTTY) show();
}

/** @returns the URL for OCPP chargers */
async function joinByOcpp(
  { heartbeatS }: Config,
  file: ProvisioningFile,
  mqttUrl: string,
  undo: Undo,
): Promise<string> {
  const member = membersOfFile(file, {}).find(speaksOcpp);
  if (member === undefined) throw new OperatorError(`${DEMO_FILE} has no charger that speaks OCPP`);
  const gateway = await startDemoGateway({ file, mqttUrl, heartbeatS, member });
  undo(() => gateway.stop());
  return gateway.ocppUrl;
}

async function startDemo(flags: SettingsFlags, undo: Undo): Promise<void> {
  const config = await demoConfig(flags, undo);
  const file = readProvisioningFile(DEMO_FILE);
  await provision(config, file);
  const service = new Service(config);
  undo(() => service.stop());
  const { httpUrl, mqttUrl } = await service.start();
  const members = membersOfFile(file, {});
  const fleet = startFleet({
    url: mqttUrl,
    members: members.filter((member) => !speaksOcpp(member)),
    seed: SEED,
    traffic: CROWDED,
    clock: systemClock,
    traits: { meterPeriodMs: 1000 * config.heartbeatS, settleMs: 1000 * config.settleS },
  });
  undo(() => fleet.stop());
  undo(await startDemoMeter(file, mqttUrl, fleet));
  const ocppUrl = await joinByOcpp(config, file, mqttUrl, undo);
  const [tenant] = file.tenants;
  const apiKey = tenant?.apiKeys[0]?.key;
  const locationIds = tenant?.locations.map(({ locationId }) => locationId) ?? [];
  const [locationId] = locationIds;
  if (apiKey === undefined || locationId === undefined)
    throw new OperatorError(`${DEMO_FILE} names no key or location`);
  const site = await openDemoSite({ httpUrl, apiKey, locationIds });
  const sizes = `${counted(locationIds.length, 'location')}, ${counted(members.length, 'virtual charger')}, embedded database and broker`;
  const { clusterId } = site;
  printLine(
    demoGuide({
      httpUrl,
      mqttUrl,
      ocppUrl,
      apiKey,
      locationId,
      clusterId,
      sizes,
      nowMs: systemClock.nowMs(),
    }),
  );
  showLiveLines(site, fleet);
}

export async function demo(flags: SettingsFlags): Promise<void> {
  const steps: (() => Promise<void> | void)[] = [];
  const stop = async () => {
    // A failed step must not keep the other steps from running.
    for (const step of steps.splice(0).reverse()) {
      try {
        await step();
      } catch (error) {
        printNote(`While stopping: ${String(error)}`);
      }
    }
  };
  const grace = stopWithGrace(stop);
  try {
    await startDemo(flags, (step) => steps.push(step));
  } catch (error) {
    grace.uninstall();
    await stop();
    throw error;
  }
}
