// `headroom charger run`: virtual chargers in real time against any broker that carries the MQTT contract.
import { Command, InvalidArgumentError } from 'commander';
import { type FleetSummary, startFleet } from '../../sim/charger/fleet.js';
import { EVERYDAY, LIVELY } from '../../sim/charger/traffic.js';
import { systemClock } from '../clock.js';
import { isBrokerUrl } from '../config.js';
import { toInstant } from '../wire/rest.js';
import { type FleetWish, madeUpMembers, membersOfFile } from './fleet-plan.js';
import { printJson, printLine } from './print.js';
import { readProvisioningFile } from './provision.js';
import { stopWithGrace } from './serve.js';

interface ChargerFlags extends FleetWish {
  readonly url: string;
  readonly file?: string;
  readonly connectors: number;
  readonly meterPeriod: number;
  readonly reportEvery: number;
  readonly seed: number;
  readonly lively?: true;
  readonly json?: true;
}

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

function formatSummary({ chargers, online, charging, powerKw, energyKwh, lastError }: FleetSummary): string {
  const trouble = online < chargers && lastError !== undefined ? `  (${lastError})` : '';
  const time = toInstant(systemClock.nowMs()).slice(11, 19);
  return (
    `${time}Z  online ${online}/${chargers}  charging ${charging}  ` +
    `${powerKw.toFixed(1)} kW  ${energyKwh.toFixed(2)} kWh${trouble}`
  );
}

function run(flags: ChargerFlags): void {
  const members =
    flags.file === undefined ? madeUpMembers(flags) : membersOfFile(readProvisioningFile(flags.file), flags);
  const fleet = startFleet({
    ...{ url: flags.url, members, seed: flags.seed, clock: systemClock },
    traffic: flags.lively ? LIVELY : EVERYDAY,
    meterPeriodMs: 1000 * flags.meterPeriod,
  });
  const report = () => {
    const summary = fleet.summary();
    if (flags.json) printJson({ at: toInstant(systemClock.nowMs()), ...summary });
    else printLine(formatSummary(summary));
    cancelReport = systemClock.after(1000 * flags.reportEvery, report);
  };
  let cancelReport = systemClock.after(1000 * flags.reportEvery, report);
  stopWithGrace(async () => {
    cancelReport();
    await fleet.stop();
  });
}

export function chargerCommand(): Command {
  const runCommand = new Command('run')
    .description('run virtual chargers until a signal ends them')
    .requiredOption('--url <url>', 'broker, such as mqtt://127.0.0.1:1883', parseBrokerUrl)
    .option('--count <n>', 'how many (default: all of the file, else 1)', numberBetween(1, 10_000, true))
    .option('--file <file>', 'provisioning file whose chargers, with their passwords, to be')
    .option('--tenant <tenant>', 'tenantUuid')
    .option('--location <location>', 'locationId')
    .option('--username <name>', 'MQTT username (default: TENANT/CONTROLLER of each charger)')
    .option('--password <password>', 'MQTT password')
    .option('--connectors <n>', 'connectors of each charger without a file', numberBetween(1, 20, true), 1)
    .option('--meter-period <s>', 'seconds between meter values', numberBetween(1, 3600, false), 10)
    .option('--report-every <s>', 'seconds between lines', numberBetween(1, 3600, false), 5)
    .option('--seed <n>', 'same seed, same cars', numberBetween(0, 1_000_000, true), 1)
    .option('--lively', 'tiny batteries: cars come, fill up and leave within a minute or two')
    .option('--json', 'print JSON lines for scripts')
    .action(run);
  return new Command('charger').description('virtual chargers').addCommand(runCommand);
}
