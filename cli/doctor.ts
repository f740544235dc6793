// `headroom doctor [FILE.yaml]`: checks a machine and an installation, before and while it runs, and changes nothing.
import { Command } from 'commander';
import type { Config } from '../src/config.js';
import type { NamedFinding } from './doctor/checkup.js';
import { fail, messageOf, type Status } from './doctor/finding.js';
import { FAILED, NOT_BEGUN } from './exit-codes.js';
import { printJson, printLine, printNote } from './print.js';
import { ALL_SETTINGS, addSettingsFlags, configOf, type SettingsFlags } from './settings-flags.js';

interface DoctorFlags extends SettingsFlags {
  readonly json?: true;
  readonly ntp?: string;
}

const CHECK_WIDTH = 12;

function printFinding({ check, status, message, wayOut }: NamedFinding): void {
  printLine(
    `${status.padEnd(5)} ${check.padEnd(CHECK_WIDTH)} ${message}${wayOut === undefined ? '' : `: ${wayOut}`}`,
  );
}

function printCount(findings: readonly NamedFinding[]): void {
  const count = (wanted: Status) => findings.filter(({ status }) => status === wanted).length;
  printNote(`${count('ok')} ok, ${count('warn')} warnings, ${count('fail')} failed`);
}

/** The settings, or the problem with them. */
function settingsOf(flags: SettingsFlags): Config | NamedFinding {
  try {
    return configOf(flags);
  } catch (error) {
    return { check: 'settings', ...fail(messageOf(error), 'correct it; nothing else was checked') };
  }
}

async function* findingsOf(
  provisioningFile: string | undefined,
  { json: _, ntp: ntpServer, ...flags }: DoctorFlags,
): AsyncGenerator<NamedFinding> {
  const config = settingsOf(flags);
  if ('status' in config) {
    process.exitCode = NOT_BEGUN;
    yield config;
    return;
  }
  // Loaded only when a check runs, not for the help.
  const { Checkup } = await import('./doctor/checkup.js');
  const { thisHost: host } = await import('./doctor/host.js');
  yield* new Checkup({ config, host, provisioningFile, ntpServer }).findings();
}

/** Exit code 2 if the settings are wrong, because no other check can run then; 1 if a check fails. */
async function doctor(provisioningFile: string | undefined, flags: DoctorFlags): Promise<void> {
  const findings: NamedFinding[] = [];
  for await (const finding of findingsOf(provisioningFile, flags)) {
    findings.push(finding);
    if (flags.json === undefined) printFinding(finding);
  }
  const isWell = findings.every(({ status }) => status !== 'fail');
  if (!isWell) process.exitCode ??= FAILED;
  if (flags.json === undefined) printCount(findings);
  else printJson({ isWell, findings });
}

export function doctorCommand(): Command {
  const command = new Command('doctor')
    .description('check an installation, before and while it runs; changes nothing')
    .argument('[file]', 'a provisioning file to check too')
    .option('--json', 'print JSON for scripts')
    .option('--ntp <server>', 'compare the clock with a time server (host or host:port, one packet)')
    .action(doctor);
  return addSettingsFlags(command, ALL_SETTINGS);
}
