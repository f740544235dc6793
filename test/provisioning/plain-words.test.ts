// Tries every kind of wrong value in every field of a provisioning file. The error names a rule in plain words.
import { describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { problemsOf } from './problems.js';

const FILE = `tenants:
  - tenantUuid: harbour
    name: Harbour
    features: [energy-management]
    apiKeys: [{ scopes: [locations:read], expiresAt: 2027-01-01T00:00:00Z }]
    clients: [{ clientId: backend, clientSecret: 0123456789abcdefXY, scopes: [locations:read] }]
    gateways: [{ gatewayId: gate, controllers: [q1-a] }]
    locations:
      - locationId: quay-1
        name: Quay 1
        status: ACTIVE
        permanentLimitKw: 50
        gridLimitKw: 80
        heartbeatS: 10
        leaseTtlS: 60
        connection: { currentA: [63, 63, 63], voltageV: 230 }
        feeders: [{ name: hall, currentA: 40 }, { name: corner, currentA: [20, 20, 20], parent: hall }]
        siteMeter: { meterUuid: main, covers: building, maxBuildingKw: 20, reserveKw: [1, 5], pvRaisesHeadroom: false }
        peakShaving: { limitKw: 40, windowS: 900 }
        policy: energy
        timeZone: Europe/Berlin
        departures: [{ days: [Mon, Tue], at: 06:00, energyNeedKwh: 40, minimumEnergyKwh: 5, priority: 2, batteryCapacityKwh: 60, targetSocPercent: 80 }]
        operator: { operatorUuid: dso, failsafeKw: 10, failsafeMinS: 7200, heartbeatS: 60 }
        chargers:
          - controllerUuid: q1-a
            mqttPassword: 0123456789abcdefXY
            feeder: hall
            heartbeatS: 10
            leaseTtlS: 60
            connectors:
              - { connectorId: "1", phases: 3, voltageV: 230, maxCurrentA: 32, failsafeA: 6, rotation: RST, neverPause: true, departures: [] }
              - { connectorId: "2", powerType: DC, voltageV: 230, maxPowerKw: 50, minPowerKw: 5, efficiency: 0.9, failsafeKw: 0 }
`;
const WRONG = [null, 'odd', '', -1, 0.5, 1e12, true, [], {}, ['odd'], [null], { odd: 1 }];
/** Wording of the validation library. */
const RAW = /Invalid|expected|received|Too (?:big|small)|Unrecognized|undefined|NaN|\[object/;

type Path = readonly (string | number)[];

function pathsOf(value: unknown, path: Path = []): readonly Path[] {
  if (typeof value !== 'object' || value === null) return [path];
  const entries: [string | number, unknown][] = Array.isArray(value)
    ? value.map((each, i) => [i, each])
    : Object.entries(value);
  return [path, ...entries.flatMap(([key, each]) => pathsOf(each, [...path, key]))];
}

function replaced(value: unknown, [step, ...rest]: Path, wrong: unknown): unknown {
  if (step === undefined) return wrong;
  if (Array.isArray(value)) return value.map((each, i) => (i === step ? replaced(each, rest, wrong) : each));
  const fields = Object(value);
  return { ...fields, [step]: replaced(fields[step], rest, wrong) };
}

describe('A provisioning file with a wrong value', () => {
  it('is valid before the change', () => {
    expect(problemsOf(FILE)).toEqual([]);
  });

  it('names the rule of each field in plain words', () => {
    const content: unknown = parse(FILE);
    const texts = pathsOf(content).flatMap((path) =>
      WRONG.flatMap((wrong) => problemsOf(stringify(replaced(content, path, wrong)))),
    );
    expect(texts.length).toBeGreaterThan(500);
    expect(texts.filter((text) => RAW.test(text))).toEqual([]);
  });
});
