// The checks of `headroom doctor` on a simulated machine.
import { Checkup, type CheckupOptions, type NamedFinding } from '../../cli/doctor/checkup.js';
import type { Host } from '../../cli/doctor/host.js';
import { systemClock } from '../../src/clock.js';
import { loadConfig } from '../../src/config.js';

/** A machine without any problem. */
export const GOOD_HOST: Host = {
  // No time passes, so that a busy machine does not seem far from its database.
  clock: { ...systemClock, monotonicMs: () => 0 },
  nodeVersion: 'v22.20.0',
  timeZone: 'Europe/Berlin',
  openFiles: () => 65_536,
  freeBytes: () => 50e9,
  syncTimesMs: () => [1, 2, 3],
  isSynchronized: async () => true,
  ntpAheadMs: async () => 3,
};

type Flags = Parameters<typeof loadConfig>[0];

/** Ports are free ones unless `flags` set them. */
export async function findingsOf(
  flags: Flags,
  {
    host,
    ...options
  }: { readonly host?: Partial<Host> } & Partial<Pick<CheckupOptions, 'provisioningFile' | 'ntpServer'>> = {},
): Promise<readonly NamedFinding[]> {
  const found: NamedFinding[] = [];
  const checkup = new Checkup({
    config: loadConfig({ httpPort: '0', mqttPort: '0', ...flags }, {}),
    host: { ...GOOD_HOST, ...host },
    provisioningFile: undefined,
    ntpServer: undefined,
    ...options,
  });
  for await (const finding of checkup.findings()) found.push(finding);
  return found;
}

/** Findings that are not `ok`, as `status check: message`. */
export function unwell(findings: readonly NamedFinding[]): readonly string[] {
  return findings
    .filter(({ status }) => status !== 'ok')
    .map(
      ({ status, check, message, wayOut }) =>
        `${status} ${check}: ${message}${wayOut === undefined ? ', no way out' : ''}`,
    );
}
