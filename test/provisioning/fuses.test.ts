// The fuses of a location in a provisioning file: the provisioned values, and the messages about unusable ones.
import { describe, expect, it } from 'vitest';
import { parseProvisioning } from '../../src/provisioning/parse-provisioning.js';
import { expectRefused } from './problems.js';

const SITE = `tenants:
  - tenantUuid: harbour
    name: Harbour
    locations:
      - locationId: quay-1
        name: Quay 1
        permanentLimitKw: 50
        connection: { currentA: 63 }
        feeders:
          - { name: hall, currentA: [40, 40, 35] }
          - { name: corner, currentA: 25, parent: hall }
        chargers:
          - controllerUuid: q1-a
            feeder: corner
            connectors:
              - { connectorId: "1", phases: 3, maxCurrentA: 32, rotation: STR }
              - { connectorId: "2", phases: 1, maxCurrentA: 16, rotation: T }
          - controllerUuid: q1-b
            connectors:
              - { connectorId: "1", phases: 1, maxCurrentA: 16 }
`;

describe('Fuses in a provisioning file', () => {
  it('are read with a current for each phase, and with the feeders and rotations of connectors', () => {
    const [location] = parseProvisioning(SITE, 'site.yaml').tenants[0]?.locations ?? [];
    expect(location?.connection).toEqual({ currentA: [63, 63, 63], voltageV: 230 });
    expect(location?.feeders).toEqual([
      { name: 'hall', currentA: [40, 40, 35] },
      { name: 'corner', currentA: [25, 25, 25], parent: 'hall' },
    ]);
    const [first, second] = location?.chargers ?? [];
    expect([first?.feeder, second?.feeder]).toEqual(['corner', undefined]);
    expect(first?.connectors.map(({ rotation }) => rotation)).toEqual(['STR', 'T']);
  });

  it.each([
    [
      'a rotation of three letters for one phase',
      'rotation: T ',
      'rotation: RST ',
      'connectors[1].rotation: is RST; must be one letter',
    ],
    [
      'a rotation of one letter for three phases',
      'rotation: STR',
      'rotation: S',
      'connectors[0].rotation: is S; must be three letters',
    ],
    [
      'a rotation that is none',
      'rotation: STR',
      'rotation: RRT',
      'connectors[0].rotation: is "RRT"; must be RST',
    ],
    [
      'a charger under a feeder that is not there',
      'feeder: corner',
      'feeder: attic',
      'chargers[0].feeder: is "attic"; must be one of this location: hall, corner',
    ],
    [
      'a charger under two feeders',
      'feeder: corner',
      'feeder: [hall, corner]',
      'chargers[0].feeder: is a list; must be the name of one feeder',
    ],
    [
      'a feeder under one that is not there',
      'parent: hall',
      'parent: yard',
      'feeders[1].parent: is "yard"; must be one of',
    ],
    [
      'a feeder above itself',
      '[40, 40, 35] }',
      '[40, 40, 35], parent: corner }',
      'feeders[0].parent: forms a circle: hall under corner under hall',
    ],
    ['two feeders of one name', 'name: corner', 'name: hall', 'feeders[1].name: "hall" is already used by'],
    [
      'two currents for three phases',
      '[40, 40, 35]',
      '[40, 40]',
      'feeders[0].currentA: is a list; must be A per phase',
    ],
    ['a fuse of 3 A', 'currentA: 63', 'currentA: 3', 'connection.currentA: is 3; must be a number from 6'],
    [
      "a voltage that is not the connection's",
      'currentA: 63',
      'currentA: 63, voltageV: 240',
      'connectors[1].voltageV: is 230; must be 240',
    ],
    [
      'a fail-safe that a fuse does not carry',
      'maxCurrentA: 32, rotation',
      'maxCurrentA: 32, failsafeA: 30, rotation',
      'connectors[0].failsafeA: is 30; must be at most the 25 A of phase L1 of feeder "corner"',
    ],
    [
      'a connector on a phase without a fuse',
      '[40, 40, 35]',
      '[40, 40, 0]',
      'connectors[1].rotation: would load phase L3 of feeder "hall", which has no fuse',
    ],
  ])('with %s are refused in one line at the field', (_, from, to, message) =>
    expectRefused(SITE, from, to, message),
  );
});
