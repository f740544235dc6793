// Departures by weekday in a provisioning file, and messages about refused values.
import { describe, expect, it } from 'vitest';
import { parseProvisioning } from '../../src/provisioning/parse-provisioning.js';
import { expectRefused, problemsOf } from './problems.js';

const FILE = `tenants:
  - tenantUuid: harbour
    name: Harbour
    locations:
      - locationId: depot
        name: Depot
        permanentLimitKw: 50
        timeZone: Europe/Berlin
        departures:
          - { days: [Mon, Fri], at: 06:00, energyNeedKwh: 40, minimumEnergyKwh: 5, priority: 2 }
        chargers:
          - controllerUuid: d-a
            connectors:
              - { connectorId: "1", phases: 3, maxCurrentA: 32 }
              - { connectorId: "2", phases: 3, maxCurrentA: 32, departures: [{ days: [Sun], at: "23:59" }] }
              - { connectorId: "3", phases: 3, maxCurrentA: 32, departures: [] }
`;

describe('Departures in a provisioning file', () => {
  it('belong to a location or a connector, and count in the zone of the location', () => {
    const [depot] = parseProvisioning(FILE, 'site.yaml').tenants[0]?.locations ?? [];
    const need = { energyWh: 40_000, minimumWh: 5_000, priority: 2 };
    const timeZone = 'Europe/Berlin';
    expect(depot?.timeZone).toBe(timeZone);
    expect(depot?.departures).toEqual({
      timeZone,
      rules: [{ days: ['Mon', 'Fri'], timeOfDayMs: 21_600_000, need }],
    });
    expect(depot?.chargers[0]?.connectors.map(({ departures }) => departures)).toEqual([
      null,
      { timeZone, rules: [{ days: ['Sun'], timeOfDayMs: 86_340_000, need: {} }] },
      { timeZone, rules: [] },
    ]);
  });

  it.each([
    ['an unknown zone', 'Europe/Berlin', 'Europe/Atlantis', 'timeZone'],
    ['an offset as its zone', 'Europe/Berlin', '"+02:00"', 'timeZone'],
    ['no zone', '        timeZone: Europe/Berlin\n', '', 'timeZone: is missing'],
    ['no days', '[Mon, Fri]', '[]', 'departures[0].days'],
    ['a day twice', '[Mon, Fri]', '[Mon, Mon]', 'departures[0].days'],
    ['a day in another language', '[Mon, Fri]', '[Mon, Di]', 'departures[0].days'],
    ['a time without its zero', 'at: 06:00', 'at: 6:00', 'departures[0].at'],
    ['the end of a day', 'at: 06:00', 'at: "24:00"', 'departures[0].at'],
    ['an instant', 'at: 06:00', 'at: 2026-06-01T06:00:00Z', 'departures[0].at'],
    ['a huge need', 'energyNeedKwh: 40', 'energyNeedKwh: 1e9', 'departures[0].energyNeedKwh'],
    [
      'a minimum above its need',
      'minimumEnergyKwh: 5',
      'minimumEnergyKwh: 41',
      'departures[0].minimumEnergyKwh',
    ],
    ['a wrong priority', 'priority: 2', 'priority: 11', 'departures[0].priority'],
    [
      'a departure instant',
      'priority: 2',
      'departureTime: 2026-06-01T06:00:00Z',
      'departures[0].departureTime',
    ],
  ])('are refused with %s, naming the field', (_what, from, to, message) => {
    expectRefused(FILE, from, to, message);
  });

  it('are refused with two at one time, or with more than a week needs', () => {
    const departure = '{ days: [Mon], at: 06:00 }';
    const withMany = (count: number) =>
      FILE.replace('departures: []', `departures: [${Array(count).fill(departure).join(', ')}]`);
    expect(problemsOf(withMany(2)).join()).toContain('no two departures at one time of one day');
    expect(problemsOf(withMany(51)).join()).toContain('at most 50 departures');
    expect(problemsOf(withMany(1))).toEqual([]);
  });
});
