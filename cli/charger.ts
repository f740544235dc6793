// `headroom charger run`: virtual chargers in real time against any broker that carries the MQTT contract.
import { Command, InvalidArgumentError, Option } from 'commander';
import { LEASE_KINDS, type LeaseKind } from '../machines/ledger/grant.js';
import type { ChargerTls } from '../sim/charger/charger-link.js';
import {
  type Fleet,
  type FleetConnector,
  type FleetSummary,
  formatReasons,
  startFleet,
} from '../sim/charger/fleet.js';
import { EVERYDAY, LIVELY } from '../sim/charger/traffic.js';
import { type ChargerTraits, HONEST, MISBEHAVIOURS, type Misbehaviour } from '../sim/charger/traits.js';
import { isBrokerUrl, isTlsUrl } from '../src/broker-url.js';
import { systemClock } from '../src/clock.js';
import { OperatorError } from '../src/ports/operator-error.js';
import { readCertificates, readKey } from '../src/tls-files.js';
import { toInstant } from '../src/wire/instants.js';
import { type FleetWish, madeUpMembers, membersOfFile } from './fleet-plan.js';
import { printJson, printLine } from './print.js';
import { readProvisioningFile } from './provision.js';
import { stopWithGrace } from './stop-with-grace.js';

interface ChargerFlags extends FleetWish {
  readonly url: string;
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  readonly file?: string;
  readonly connectors: number;
  readonly meterPeriod: number;
  readonly reportEvery: number;
  readonly seed: number;
  readonly lively?: true;
  readonly lease: LeaseKind;
  readonly drift: number;
  readonly pilotDelay: number;
  readonly endsWithSession?: true;
  readonly switchesPhases?: true;
  readonly misbehave: readonly Misbehaviour[];
  readonly overdrawFactor: number;
  readonly each?: true;
  readonly json?: true;
}

/** The embedded broker allows a charger this many subscriptions to limits, in addition to `sync`. */
const MOST_CONNECTORS = 7;

function numberBetween(min: number, max: number, isWhole: boolean) {
  return (text: string): number => {
    const value = text.trim() === '' ? Number.NaN : Number(text);
    const isFit = value >= min && value <= max && (!isWhole || Number.isInteger(value));
    if (!isFit)
      throw new InvalidArgumentError(`It must be a ${isWhole ? 'whole ' : ''}number from ${min} to ${max}.`);
    return value;
  };
}

function parseBrokerUrl(text: string): string {
  if (isBrokerUrl(text)) return text;
  throw new InvalidArgumentError('It must be a broker address such as mqtt://127.0.0.1:1883.');
}

function formatSummary(summary: FleetSummary): string {
  const { chargers, online, charging, powerKw, allowedKw, energyKwh, leased, connectors, lastError } =
    summary;
  const trouble = lastError === undefined ? '' : `  (${lastError})`;
  const time = toInstant(systemClock.nowMs()).slice(11, 19);
  return (
    `${time}Z  online ${online}/${chargers}  charging ${charging}  ` +
    `${powerKw.toFixed(1)} of ${allowedKw.toFixed(1)} kW  ${energyKwh.toFixed(2)} kWh  ` +
    `leases ${leased}/${connectors}  ${formatReasons(summary.reasons)}${trouble}`
  );
}

function formatConnector(connector: FleetConnector): string {
  const { controllerUuid, connectorId, status, powerW, limitA, reason, leaseLeftS } = connector;
  const lease = leaseLeftS === null ? 'no lease' : `lease ${leaseLeftS} s`;
  const draw = `${(powerW / 1000).toFixed(1)} kW`;
  return `           ${controllerUuid}/${connectorId}  ${status}  ${draw}  limit ${limitA.toFixed(1)} A (${reason}, ${lease})`;
}

function report(fleet: Fleet, flags: ChargerFlags): void {
  const summary = fleet.summary();
  const each = flags.each ? fleet.connectors() : [];
  if (flags.json) {
    const at = toInstant(systemClock.nowMs());
    printJson({ at, ...summary, ...(flags.each ? { each } : {}) });
    return;
  }
  printLine([formatSummary(summary), ...each.map(formatConnector)].join('\n'));
}

function traitsOf(flags: ChargerFlags): Partial<ChargerTraits> {
  return {
    lease: flags.lease,
    endsWithSession: flags.endsWithSession ?? false,
    switchesPhases: flags.switchesPhases ?? false,
    driftShare: flags.drift / 100,
    pilotDelayMs: 1000 * flags.pilotDelay,
    meterPeriodMs: 1000 * flags.meterPeriod,
    misbehaviours: flags.misbehave,
    overdrawFactor: flags.overdrawFactor,
  };
}

/** @throws OperatorError or TlsFileError */
function tlsOf({ url, ca, cert, key }: ChargerFlags): ChargerTls {
  const isGiven = ca !== undefined || cert !== undefined || key !== undefined;
  if (isGiven && !isTlsUrl(url)) {
    throw new OperatorError('--ca, --cert and --key are for a --url that begins with mqtts:// or wss://');
  }
  if ((cert === undefined) !== (key === undefined)) {
    throw new OperatorError('--cert and --key go together');
  }
  return {
    ca: ca === undefined ? undefined : readCertificates('--ca', ca),
    cert: cert === undefined ? undefined : readCertificates('--cert', cert),
    key: key === undefined ? undefined : readKey('--key', key),
  };
}

/** @throws OperatorError or TlsFileError */
function run(flags: ChargerFlags): void {
  if (flags.switchesPhases && !flags.endsWithSession)
    throw new OperatorError(
      '--switches-phases needs --ends-with-session: only such chargers may switch phases',
    );
  const members =
    flags.file === undefined ? madeUpMembers(flags) : membersOfFile(readProvisioningFile(flags.file), flags);
  const fleet = startFleet({
    url: flags.url,
    members,
    seed: flags.seed,
    clock: systemClock,
    traffic: flags.lively ? LIVELY : EVERYDAY,
    traits: traitsOf(flags),
    tls: tlsOf(flags),
  });
  const reportAgain = () => {
    report(fleet, flags);
    cancelReport = systemClock.after(1000 * flags.reportEvery, reportAgain);
  };
  let cancelReport = systemClock.after(1000 * flags.reportEvery, reportAgain);
  stopWithGrace(async () => {
    cancelReport();
    await fleet.stop();
  });
  // The command runs for the reader of its lines, so it ends if the reader (such as `| head`) closes the pipe.
  process.stdout.once('error', () => process.kill(process.pid, 'SIGTERM'));
}

function misbehaveOption(): Option {
  return new Option(
    '--misbehave <kind...>',
    'break the protocol, to test a service; several kinds can be combined, see below',
  )
    .choices(Object.keys(MISBEHAVIOURS))
    .default([], 'none');
}

function listMisbehaviours(): string {
  const lines = Object.entries(MISBEHAVIOURS).map(([kind, about]) => `  ${kind.padEnd(18)} ${about}`);
  return `\nKinds of --misbehave:\n${lines.join('\n')}`;
}

/** Options for the traits of the chargers, and for their violations of the protocol. */
function withTraits(command: Command): Command {
  return command
    .addOption(
      new Option(
        '--lease <kind>',
        'begin of a lease: sending of the heartbeat, receipt of the limit, or no leases',
      )
        .choices(LEASE_KINDS)
        .default(HONEST.lease),
    )
    .option(
      '--drift <percent>',
      'percent by which their clocks run too slow, below 0 too fast; the service allows for 2',
      numberBetween(-50, 50, false),
      0,
    )
    .option(
      '--pilot-delay <s>',
      'seconds until the hardware applies a limit; the service allows for 5',
      numberBetween(0, 60, false),
      HONEST.pilotDelayMs / 1000,
    )
    .option(
      '--ends-with-session',
      'limits with a session end with it, so that others may use phases that no car uses',
    )
    .option(
      '--switches-phases',
      'a limit for one phase lets them charge a car on one; with --ends-with-session',
    )
    .addOption(misbehaveOption())
    .option(
      '--overdraw-factor <x>',
      'with --misbehave overdraw: multiple of its limit that a charger draws',
      numberBetween(1, 100, false),
      HONEST.overdrawFactor,
    );
}

export function chargerCommand(): Command {
  const runCommand = new Command('run')
    .description('run virtual chargers until a signal ends them; they keep to their limits')
    .requiredOption('--url <url>', 'broker, such as mqtt://127.0.0.1:1883', parseBrokerUrl)
    .option(
      '--ca <file>',
      "PEM file with the authority of a broker's certificate (default: the system's own)",
    )
    .option('--cert <file>', 'PEM file with the certificate to present; it must name each of the chargers')
    .option('--key <file>', 'PEM file with its private key')
    .option(
      '--count <n>',
      'number of chargers (default: all in the file, else 1)',
      numberBetween(1, 10_000, true),
    )
    .option('--file <file>', 'provisioning file: simulate its chargers, with their passwords')
    .option('--tenant <tenant>', 'tenantUuid, without a file')
    .option('--location <location>', 'locationId, without a file')
    .option('--username <name>', 'MQTT username (default: TENANT/CONTROLLER of each charger)')
    .option('--password <password>', 'MQTT password')
    .option(
      '--connectors <n>',
      'connectors of each charger without a file',
      numberBetween(1, MOST_CONNECTORS, true),
      1,
    )
    .option('--meter-period <s>', 'seconds between meter values', numberBetween(1, 3600, false), 10)
    .option('--report-every <s>', 'seconds between lines', numberBetween(1, 3600, false), 5)
    .option('--seed <n>', 'the same seed gives the same cars', numberBetween(0, 1_000_000, true), 1)
    .option('--lively', 'tiny batteries: cars come, fill up and leave within a minute or two');
  withTraits(runCommand)
    .option('--each', 'a line for each connector: its limit, the reason, and its lease')
    .option('--json', 'print JSON lines for scripts')
    .addHelpText('after', listMisbehaviours())
    .action(run);
  return new Command('charger').description('virtual chargers').addCommand(runCommand);
}
