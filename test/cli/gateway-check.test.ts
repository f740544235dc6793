// `headroom gateway check` beside a running service, with good and bad virtual chargers over real sockets.
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { ConnectorId } from '../../machines/values/ids.js';
import { OcppCharger, type OcppChargerOptions } from '../../sim/charger/ocpp-charger.js';
import { HUNGRY } from '../../sim/charger/traffic.js';
import { systemClock } from '../../src/clock.js';
import { freePort } from '../free-port.js';
import { CHARGER, DC_CONNECTOR, DC_FIELDS, type OcppSite, ONE, runOcppSite } from '../gateway/ocpp-site.js';
import { CHARGER_PASSWORD, HARBOUR } from '../service/running-service.js';
import { run, start, temporaryDirectory, writeFile } from './headroom.js';

const YAML = `tenants:
  - tenantUuid: ${HARBOUR}
    name: A tenant
    locations:
      - locationId: quay
        name: The quay
        permanentLimitKw: 11
        chargers:
          - controllerUuid: ${CHARGER}
            connectors: [{ connectorId: "1", phases: 3, voltageV: 230, maxCurrentA: 32 }]
`;
const DC_YAML = YAML.replace(/connectors:.*/, `connectors: [${DC_FIELDS}]`);

interface Found {
  readonly check: string;
  readonly status: 'pass' | 'fail' | 'unknown';
  readonly message: string;
  readonly wayOut?: string;
}

let acSite: OcppSite;
let dcSite: OcppSite;

beforeAll(async () => {
  acSite = await runOcppSite();
  dcSite = await runOcppSite({}, 1, undefined, { isDc: true });
});
afterAll(() => Promise.all([acSite.stop(), dcSite.stop()]));

/** Findings about a charger that connects as the check begins. */
async function checked(
  charger: Partial<OcppChargerOptions>,
  flags: readonly string[] = [],
  { yaml = YAML, site = acSite } = {},
) {
  const [port, dataDir] = [await freePort(), temporaryDirectory()];
  const file = writeFile(dataDir, 'sites.yaml', yaml);
  const connection = ['--port', String(port), '--mqtt-url', site.service.mqttUrl, '--heartbeat-s', '1'];
  const args = ['gateway', 'check', file, CHARGER, ...connection, '--data-dir', dataDir, '--json', ...flags];
  const check = start(args, {});
  const one = new OcppCharger({
    url: `ws://127.0.0.1:${port}/ocpp`,
    controllerUuid: CHARGER,
    password: CHARGER_PASSWORD,
    connector: ONE as typeof ONE & { connectorId: ConnectorId },
    seed: 1,
    traffic: HUNGRY,
    clock: systemClock,
    ...charger,
  });
  one.start();
  onTestFinished(() => one.stop());
  const { code, stdout, stderr } = await check.finished;
  if (stdout === '') throw new Error(stderr);
  const { isWell, findings } = JSON.parse(stdout) as { isWell: boolean; findings: readonly Found[] };
  const statusOf = Object.fromEntries(findings.map(({ check: name, status }) => [name, status]));
  return { code, isWell, findings, statusOf };
}

describe('The acceptance test of a charger', () => {
  it.each(['ocpp1.6', 'ocpp2.0.1'] as const)(
    'passes for a charger that keeps leases, with measured values, in %s',
    async (protocol) => {
      const { code, isWell, findings, statusOf } = await checked({ protocol });
      expect(statusOf).toEqual({
        connection: 'pass',
        start: 'pass',
        profiles: 'pass',
        configuration: 'pass',
        'fail-safe': 'pass',
        car: 'pass',
        'meter values': 'pass',
        phases: 'unknown',
        lease: 'pass',
        'falls back': 'pass',
        follows: 'pass',
      });
      expect({ code, isWell }).toEqual({ code: 0, isWell: true });
      const messageOf = (name: string) => findings.find(({ check }) => check === name)?.message;
      expect(messageOf('connection')).toContain(protocol);
      expect(messageOf('falls back')).toMatch(/^from [\d.]+ A to \d+ A, measured [\d.]+ s after/);
    },
  );

  describe('with a DC connector', () => {
    const dcChecked = (charger: Partial<OcppChargerOptions>, yaml = DC_YAML) =>
      checked({ connector: DC_CONNECTOR, ...charger }, [], { yaml, site: dcSite });

    it.each([
      ['takes watts', {}, /^it takes watts; the car has 400 V$/],
      [
        'takes amperes',
        { behaviours: ['amperes-only'] },
        /^it takes amperes, which count at 500 V; the car has 400 V, and gets 80 % of its grant$/,
      ],
    ] as const)(
      'passes for a charger that %s, with measured power at the car',
      async (_, charger, voltage) => {
        const { code, isWell, findings, statusOf } = await dcChecked(charger);
        expect(statusOf).toMatchObject({
          connection: 'pass',
          'meter values': 'pass',
          voltage: 'pass',
          lease: 'pass',
          'falls back': 'pass',
          follows: 'pass',
        });
        expect({ code, isWell }).toEqual({ code: 0, isWell: true });
        const messageOf = (name: string) => findings.find(({ check }) => check === name)?.message;
        expect(messageOf('meter values')).toBe('every 1 s: power, energy, state of charge');
        expect(messageOf('voltage')).toMatch(voltage);
        expect(messageOf('falls back')).toMatch(/^from [\d.]+ kW to 2 kW, measured [\d.]+ s after/);
      },
    );

    it('fails for a charger above its limit, and for a car above maxVoltageV', async () => {
      const above = await dcChecked({ behaviours: ['shows-only'] });
      expect(above.statusOf.follows).toBe('fail');
      const file = DC_YAML.replace('maxVoltageV: 500', 'maxVoltageV: 300');
      const { findings, code } = await dcChecked({ behaviours: ['amperes-only'] }, file);
      expect(findings.find(({ check }) => check === 'voltage')).toEqual({
        check: 'voltage',
        status: 'fail',
        message: 'the car has 400 V, and the file has maxVoltageV 300',
        wayOut:
          'provision the highest voltage of its rating plate as maxVoltageV: in amperes it could exceed its grant',
      });
      expect(code).toBe(1);
    });

    it('names the missing voltage of a charger in amperes that measures power alone', async () => {
      const { findings } = await dcChecked({ behaviours: ['amperes-only', 'meters-power'] });
      expect(findings.find(({ check }) => check === 'voltage')).toEqual({
        check: 'voltage',
        status: 'unknown',
        message: 'it takes amperes, which count at 500 V; it does not report the voltage of the car',
        wayOut: 'compare maxVoltageV with the highest voltage of its rating plate',
      });
    });
  });

  it.each([
    ['rejects charging profiles', ['rejects-profiles'], 'fail-safe'],
    ['takes one period only', ['one-period'], 'profiles'],
    ['loses the period after the lease', ['loses-periods'], 'lease'],
    ['shows its limits and does not keep them', ['shows-only'], 'follows'],
  ] as const)('fails for a charger that %s, and suggests a remedy', async (_, behaviours, failing) => {
    const { code, isWell, findings, statusOf } = await checked({ behaviours });
    expect(statusOf[failing]).toBe('fail');
    expect(findings.find(({ check }) => check === failing)?.wayOut).toMatch(/\w/);
    expect({ code, isWell }).toEqual({ code: 1, isWell: false });
  });

  it('fails for a charger with a wrong password, and reports the refused credentials', async () => {
    const { code, findings } = await checked({ password: 'another password' }, ['--wait', '10']);
    expect(code).toBe(1);
    expect(findings).toMatchObject([{ check: 'connection', status: 'fail' }]);
    expect(findings[0]?.message).toContain('credentials');
  });

  it('does not start for a charger that is missing from the file', async () => {
    const file = writeFile(temporaryDirectory(), 'sites.yaml', YAML);
    const { code, stderr } = await run(['gateway', 'check', file, 'quay-z']);
    expect({ code, stderr }).toEqual({ code: 2, stderr: `headroom: ${file} has no charger quay-z\n` });
  });

  it('has a help text with its flags', async () => {
    const { stdout } = await run(['gateway', 'check', '--help']);
    expect(stdout.replace(/\s+/g, ' ')).toContain('accept one charger');
    for (const flag of ['--connector', '--wait', '--json', '--mqtt-url', '--port'])
      expect(stdout).toContain(flag);
  });
});
