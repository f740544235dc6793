// Implementation of `headroom demo`: the service, a tenant with sites, and virtual chargers, live with one command.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { counted } from '../machines/values/counted.js';
import { type Fleet, startFleet } from '../sim/charger/fleet.js';
import { CROWDED } from '../sim/charger/traffic.js';
import { systemClock } from '../src/clock.js';
import { type Config, databaseUrlOf, isGiven } from '../src/config.js';
import { createAdministration } from '../src/outbound/knex/administration.js';
import { OperatorError } from '../src/ports/operator-error.js';
import { provisionFile } from '../src/provisioning/provision-file.js';
import type { ProvisioningFile } from '../src/provisioning/provisioning-schema.js';
import { Service } from '../src/service.js';
import { startDemoMeter } from './demo-building.js';
import { DEMO_FILE } from './demo-file.js';
import { demoGuide } from './demo-guide.js';
import { speaksOcpp, startDemoGateway } from './demo-ocpp.js';
import { type DemoSite, openDemoSite } from './demo-site.js';
import { membersOfFile } from './fleet-plan.js';
import { isPortFree } from './ports.js';
import { printLine, printNote } from './print.js';
import { readProvisioningFile } from './provision.js';
import { configOf, type SettingsFlags } from './settings-flags.js';
import { stopWithGrace } from './stop-with-grace.js';

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
