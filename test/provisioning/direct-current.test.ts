// DC connectors in a provisioning file: the provisioned values, and the messages about unusable ones.
import { describe, expect, it } from 'vitest';
import { parseProvisioning } from '../../src/provisioning/parse-provisioning.js';
import { expectRefused } from './problems.js';

const SITE = `tenants:
  - tenantUuid: harbour
    name: Harbour
    locations:
      - locationId: quay-1
        name: Quay 1
        permanentLimitKw: 200
        connection: { currentA: 250 }
        chargers:
          - controllerUuid: q1-a
            connectors:
              - { connectorId: "1", powerType: DC, maxPowerKw: 150, minPowerKw: 5, efficiency: 0.94, failsafeKw: 10 }
              - { connectorId: "2", powerType: AC, phases: 3, maxCurrentA: 32 }
`;

describe('A DC connector in a provisioning file', () => {
  it('counts with its current in each phase at the lowest voltage', () => {
    const [location] = parseProvisioning(SITE, 'site.yaml').tenants[0]?.locations ?? [];
    const [dc, ac] = location?.chargers[0]?.connectors ?? [];
    expect(dc).toMatchObject({
      phases: 3,
      // 150 kW / 0.94 / (3 × 207 V).
      maxCurrentA: 257,
      failsafeA: 17.2,
      dc: { maxPowerKw: 150, minPowerKw: 5, efficiency: 0.94 },
    });
    expect(ac).toMatchObject({ phases: 3, maxCurrentA: 32, failsafeA: 6, dc: null });
    const least = parseProvisioning(
      SITE.replace(', minPowerKw: 5, efficiency: 0.94, failsafeKw: 10', ''),
      'site.yaml',
    ).tenants[0]?.locations[0]?.chargers[0]?.connectors[0];
    expect(least).toMatchObject({
      failsafeA: 0,
      dc: { maxPowerKw: 150, minPowerKw: 0, efficiency: 0.9 },
      output: { failsafeW: 0, maxVoltageV: 1_000 },
    });
  });

  it.each([
    ['another type', 'powerType: DC', 'powerType: dc', 'powerType: is "dc"; must be AC or DC'],
    ['no maximum', 'maxPowerKw: 150, ', '', 'maxPowerKw: is missing; must be a number from 0.1'],
    ['the currents of AC', 'maxPowerKw: 150', 'maxCurrentA: 32', 'maxCurrentA: is not a field known here'],
    ['phases', 'powerType: DC', 'powerType: DC, phases: 1', 'phases: is not a field known here'],
    ['no voltage', 'failsafeKw: 10', 'failsafeKw: 10, maxVoltageV: 0', 'maxVoltageV: is 0; must be'],
    ['an efficiency in percent', '0.94', '94', 'efficiency: is 94; must be a number from 0.5 to 1'],
    [
      'a minimum above the maximum',
      'minPowerKw: 5',
      'minPowerKw: 151',
      'minPowerKw: is 151; must be at most',
    ],
    [
      'a fail-safe below the minimum',
      'failsafeKw: 10',
      'failsafeKw: 4',
      'failsafeKw: is 4; must be 0, or from',
    ],
    [
      'a fail-safe above the maximum',
      'failsafeKw: 10',
      'failsafeKw: 160',
      'failsafeKw: is 160; must be at most',
    ],
    [
      'a fail-safe that a fuse does not carry',
      'failsafeKw: 10',
      'failsafeKw: 149',
      'failsafeKw: takes up to 255.3 A from each phase; must be at most the 250 A of phase L1 of the connection',
    ],
    [
      'a phase without a fuse',
      'currentA: 250',
      'currentA: [250, 250, 0]',
      'powerType: would load phase L3 of the connection, which has no fuse',
    ],
    [
      "a voltage that is not the connection's",
      'efficiency: 0.94',
      'voltageV: 277, efficiency: 0.94',
      'voltageV: is 277; must be 230',
    ],
    [
      'a power for AC',
      'maxCurrentA: 32',
      'maxCurrentA: 32, maxPowerKw: 7',
      'maxPowerKw: is not a field known',
    ],
  ])('with %s is refused in one line at the field', (_, from, to, message) =>
    expectRefused(SITE, from, to, message),
  );
});
