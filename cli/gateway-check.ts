// `headroom gateway check FILE CHARGER`: acceptance test of one charger. Each requirement of a lease gives a finding,
// and each problem a remedy.
import { randomUUID } from 'node:crypto';
import { Command, InvalidArgumentError } from 'commander';
import { systemClock } from '../src/clock.js';
import { OcppGateway } from '../src/gateway/ocpp-gateway.js';
import { createLogger } from '../src/log.js';
import { OperatorError } from '../src/ports/operator-error.js';
import type { ProvisioningFile } from '../src/provisioning/provisioning-schema.js';
import { FAILED } from './exit-codes.js';
import { ChargerAcceptance, type CheckFinding, type CheckStatus } from './gateway/charger-acceptance.js';
import {
  addGatewayFlags,
  CHECK_SETTINGS,
  type ConnectionFlags,
  gatewayConfigOf,
  lockOf,
  randomShare,
  tlsOf,
} from './gateway-flags.js';
import { printJson, printLine, printNote } from './print.js';
import { readProvisioningFile } from './provision.js';

interface CheckFlags extends ConnectionFlags {
  readonly connector?: string;
  readonly wait: number;
  readonly json?: true;
}

const STATUS_WIDTH = 7;
const CHECK_WIDTH = 13;

function parseSeconds(text: string): number {
  const seconds = Number(text);
  if (text.trim() !== '' && Number.isInteger(seconds) && seconds >= 1 && seconds <= 3_600) return seconds;
  throw new InvalidArgumentError('It must be whole seconds, from 1 to 3600.');
}

/** The file with only this charger. @throws OperatorError */
function fileOfOne(file: ProvisioningFile, path: string, controllerUuid: string): ProvisioningFile {
  const tenants = file.tenants.map((tenant) => ({
    ...tenant,
    locations: tenant.locations.map((location) => ({
      ...location,
      chargers: location.chargers.filter((charger) => charger.controllerUuid === controllerUuid),
    })),
  }));
  const found = tenants.flatMap(({ locations }) => locations.flatMap(({ chargers }) => chargers));
  if (found.length === 0) throw new OperatorError(`${path} has no charger ${controllerUuid}`);
  if (found.length > 1)
    throw new OperatorError(
      `${path} has ${found.length} chargers ${controllerUuid}: use a file with one tenant`,
    );
  return { ...file, tenants };
}

function printFinding({ check, status, message, wayOut }: CheckFinding): void {
  const more = wayOut === undefined ? '' : `: ${wayOut}`;
  printLine(`${status.padEnd(STATUS_WIDTH)} ${check.padEnd(CHECK_WIDTH)} ${message}${more}`);
}

function printCount(findings: readonly CheckFinding[]): void {
  const count = (wanted: CheckStatus) => findings.filter(({ status }) => status === wanted).length;
  printNote(`${count('pass')} passed, ${count('unknown')} unknown, ${count('fail')} failed`);
}

/** Exit code 1 if a check fails. */
async function checkCharger(path: string, controllerUuid: string, flags: CheckFlags): Promise<void> {
  const { config, mqttUrl, mqttCa } = gatewayConfigOf(flags);
  const file = fileOfOne(readProvisioningFile(path), path, controllerUuid);
  const log = createLogger({ level: config.logLevel });
  const lock = await lockOf(config.dataDir);
  const acceptance = new ChargerAcceptance({
    clock: systemClock,
    waitMs: 1_000 * flags.wait,
    connectorId: flags.connector,
  });
  const gateway = new OcppGateway({
    file,
    host: flags.host,
    port: flags.port,
    metricsPort: undefined,
    mqttUrl,
    mqttCa,
    tls: tlsOf(config),
    heartbeatS: config.heartbeatS,
    dataDir: config.dataDir,
    idTags: undefined,
    newBoot: randomUUID,
    random: randomShare,
    clock: systemClock,
    log,
    monitor: acceptance,
  });
  const findings: CheckFinding[] = [];
  try {
    const { ocppUrl } = await gateway.start();
    if (flags.json === undefined) printNote(`Waiting for ${controllerUuid} at ${ocppUrl}`);
    for await (const finding of acceptance.findings(gateway)) {
      findings.push(finding);
      if (flags.json === undefined) printFinding(finding);
    }
  } finally {
    await gateway.stop();
    await lock.release();
    await log.flush();
  }
  const isWell = findings.every(({ status }) => status !== 'fail');
  if (!isWell) process.exitCode = FAILED;
  if (flags.json === undefined) printCount(findings);
  else printJson({ isWell, findings });
}

export function gatewayCheckCommand(): Command {
  const check = new Command('check')
    .description(
      'accept one charger: take the place of the gateway, and judge how the charger keeps leases of the running service; docs/ocpp-chargers.md has the rest',
    )
    .argument('<file>', 'the provisioning file of the service')
    .argument('<charger>', 'its controllerUuid')
    .option('--connector <id>', 'the connector with a car; the first one that charges if left out')
    .option('--wait <seconds>', 'longest wait for the charger, and then for a car', parseSeconds, 300)
    .option('--json', 'print JSON for scripts')
    .action(checkCharger);
  return addGatewayFlags(check, CHECK_SETTINGS);
}
