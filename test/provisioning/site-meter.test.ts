// The meter of a location in a provisioning file: its database row, and the messages about an unusable meter.
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
        gridLimitKw: 80
        siteMeter: { meterUuid: main, maxBuildingKw: 60, reserveKw: [2, 12] }
        chargers:
          - { controllerUuid: q1-a, connectors: [{ connectorId: "1", phases: 3, maxCurrentA: 32 }] }
`;

describe('The meter of a location in a provisioning file', () => {
  it('covers the connection, and adds no capacity for power fed back, unless the file states otherwise', () => {
    const [location] = parseProvisioning(SITE, 'site.yaml').tenants[0]?.locations ?? [];
    expect(location?.siteMeter).toEqual({
      meterUuid: 'main',
      covers: 'connection',
      maxBuildingKw: 60,
      reserveKw: [2, 12],
      pvRaisesHeadroom: false,
    });
  });

  it.each([
    ['its reserve upside down', '[2, 12]', '[12, 2]', 'siteMeter.reserveKw'],
    ['a reserve of one number', '[2, 12]', '2', 'siteMeter.reserveKw'],
    ['a reserve below zero', '[2, 12]', '[-1, 2]', 'siteMeter.reserveKw'],
    ['no maximum', 'maxBuildingKw: 60, ', '', 'siteMeter.maxBuildingKw'],
    ['something else that it covers', 'maxBuildingKw', 'covers: grid, maxBuildingKw', 'siteMeter.covers'],
    ['a misspelt field', 'reserveKw', 'reserve', 'siteMeter.reserve: is not a field known here'],
    ['no connection to be left of', '        gridLimitKw: 80\n', '', 'gridLimitKw or connection'],
    ['the login of a charger', 'meterUuid: main', 'meterUuid: q1-a', 'is already used by'],
  ])('is refused with %s, naming the field', (_what, from, to, named) =>
    expectRefused(SITE, from, to, named),
  );
});
