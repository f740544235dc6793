// The simulator's watch over fuses: current through each phase by the connectors' wiring, and its excess.
import { describe, expect, it } from 'vitest';
import { FuseWatch } from '../../../sim/world/power-watch.js';
import type { Report } from '../../../sim/world/world-record.js';
import { parseProvisioning } from '../../../src/provisioning/parse-provisioning.js';

const SITE = `tenants:
  - tenantUuid: harbour
    name: Harbour
    locations:
      - locationId: quay
        name: Quay
        permanentLimitKw: 50
        connection: { currentA: [63, 63, 63] }
        feeders:
          - { name: hall, currentA: [40, 40, 20] }
          - { name: corner, currentA: [40, 40, 40], parent: hall }
        chargers:
          - controllerUuid: a
            feeder: corner
            connectors: [{ connectorId: "1", phases: 3, maxCurrentA: 32, rotation: STR }]
          - controllerUuid: b
            feeder: hall
            connectors: [{ connectorId: "1", phases: 1, maxCurrentA: 32, rotation: T }]
          - controllerUuid: c
            connectors: [{ connectorId: "1", phases: 1, maxCurrentA: 32, rotation: T }]
`;

function watchOf() {
  const violations: Parameters<Report>[0][] = [];
  const refreshed: string[] = [];
  const watch = new FuseWatch({
    tenants: parseProvisioning(SITE, 'site.yaml').tenants,
    refresh: (locationId) => refreshed.push(locationId),
    report: (violation) => violations.push(violation),
  });
  return {
    watch,
    violations,
    refreshed,
    draw(controllerUuid: string, currentA: readonly number[], atMs: number) {
      const outlet = { spec: { connectorId: '1' }, physicalCurrentA: () => currentA };
      watch.note({ address: { locationId: 'quay', controllerUuid }, outlets: [outlet] }, atMs);
      watch.check('quay');
    },
  };
}

describe('The currents of a site', () => {
  it('add up per grid phase of the wiring, at each fuse above the connector', () => {
    const { violations, refreshed, draw } = watchOf();
    // A one-phase car at a connector that begins with L2: it counts on L2 of corner, hall and connection.
    draw('a', [32, 0, 0], 0);
    draw('b', [20], 0);
    draw('c', [32], 0);
    expect(violations).toEqual([]);
    // Its second phase is L3, where the hall carries 20 A.
    draw('a', [10, 1, 0], 1_000);
    expect(refreshed).toEqual(['quay']);
    expect(violations).toEqual([
      {
        invariant: 'P1',
        target: 'quay',
        detail: '21.00 A flow through phase L3 of hall, whose fuse carries 20 A',
      },
    ]);
  });

  it('are reported once for each excess, and counted in ampere seconds', () => {
    const { watch, violations, draw } = watchOf();
    draw('b', [25], 0);
    draw('b', [30], 2_000);
    draw('b', [12], 3_000);
    draw('b', [21], 9_000);
    draw('b', [0], 10_000);
    expect(violations).toHaveLength(2);
    // 5 A for 2 s, 10 A for 1 s, 1 A for 1 s.
    expect(watch.loads.reduce((sum, { overAs }) => sum + overAs, 0)).toBeCloseTo(21, 6);
  });
});
