// A building's recording is a CSV file from any meter: the meaning of a valid one, and the problems of an invalid one.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TimeZone } from '../../../machines/values/time-zone.js';
import { readBuildingFile } from '../../../sim/scenario/building-schema.js';
import { parseScenario } from '../../../sim/scenario/parse-scenario.js';
import { buildingWAt } from '../../../sim/world/building.js';
import { UnusableFileError } from '../../../src/provisioning/parse-yaml.js';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'headroom-building-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function fileWith(...lines: readonly string[]): string {
  const path = join(folder, 'building.csv');
  writeFileSync(path, lines.join('\n'));
  return path;
}

function problemsOf(work: () => unknown): string {
  try {
    work();
  } catch (error) {
    if (error instanceof UnusableFileError) return error.problems.join('; ');
    throw error;
  }
  return '';
}

const at = (time: string) => Date.parse(`2026-06-01T${time}Z`);

/** Only the file matters; lift and meter have arbitrary values. */
const scenarioWith = (building: string) => `name: Recorded
start: 2026-09-14T08:00:00Z
duration: 1h
provision:
  tenants:
    - tenantUuid: harbour
      name: Harbour
      locations:
        - locationId: office
          name: Office
          permanentLimitKw: 50
          gridLimitKw: 63
          siteMeter: { meterUuid: m, maxBuildingKw: 45, reserveKw: [2, 8] }
          chargers: [{ controllerUuid: o1, connectors: [{ connectorId: "1", phases: 3, maxCurrentA: 32 }] }]
buildings:
  - { location: office, ${building} }
sessions: { visits: [] }
`;
const parsed = (building: string) => parseScenario(scenarioWith(building), join(folder, 'scenario.yaml'));

describe('The recording of a building', () => {
  it('contains a power for each period, with columns in any order', () => {
    const path = fileWith(
      'kW,note,time',
      '12.5,cold,2026-06-01T08:00:00Z',
      '-3,sun,2026-06-01 10:05:00+02:00',
    );
    expect(readBuildingFile(path, undefined)).toEqual([
      { fromMs: at('08:00'), kw: 12.5 },
      { fromMs: at('08:05'), kw: -3 },
    ]);
  });

  it('may have semicolons, decimal commas and times of a zone', () => {
    const path = fileWith('time;kW', '2026-06-01 10:00;12,5', '2026-06-01 10:05;13');
    expect(readBuildingFile(path, TimeZone.named('Europe/Berlin'))).toEqual([
      { fromMs: at('08:00'), kw: 12.5 },
      { fromMs: at('08:05'), kw: 13 },
    ]);
  });

  it.each([
    ['no power', ['time,kw', '2026-06-01T08:00:00Z,1'], 'building.csv:1 has no column kW'],
    ['no lines', ['time,kW'], 'building.csv:1 has no line below its columns'],
    [
      'a time that is none',
      ['time,kW', 'noon,1'],
      'building.csv:2 column time: "noon" must be a time such as',
    ],
    [
      'a time without an offset',
      ['time,kW', '2026-06-01 08:00,1'],
      'building.csv:2 column time: "2026-06-01 08:00" has no offset',
    ],
    [
      'a power that is none',
      ['time,kW', '2026-06-01T08:00:00Z,much'],
      'building.csv:2 column kW: "much" must be a number',
    ],
    ['no power on a line', ['time,kW', '2026-06-01T08:00:00Z,'], 'building.csv:2 column kW'],
    [
      'a time twice',
      ['time,kW', '2026-06-01T08:00:00Z,1', '2026-06-01T08:00:00Z,2'],
      'building.csv:3 column time: "2026-06-01T08:00:00Z" must be later than the line before',
    ],
  ])('is refused with %s, naming line and column', (_what, lines, problem) => {
    expect(problemsOf(() => readBuildingFile(fileWith(...lines), undefined))).toContain(problem);
  });

  it('supplies the load of a building in a scenario, moved to its start', () => {
    fileWith('time,kW', '2026-06-01T07:55:00Z,5', '2026-06-01T08:10:00Z,20', '2026-06-01T08:20:00Z,7');
    const [building] = parsed('csv: { file: building.csv, from: 2026-06-01T08:00:00Z }').buildings;
    const kwAt = (time: string) =>
      building && Math.round(buildingWAt(building, 1, Date.parse(`2026-09-14T${time}Z`)) / 1000);
    expect(['08:00', '08:09:59', '08:10', '08:59'].map(kwAt)).toEqual([5, 5, 20, 7]);
  });

  it.each([
    ['a file that is not there', 'csv: { file: none.csv }', 'none.csv: cannot be read'],
    [
      'a file of another day, and no word of when it begins',
      'csv: { file: later.csv }',
      'begins only after the scenario',
    ],
    [
      'a base load beside it',
      'csv: { file: building.csv }, baseKw: 3',
      'baseKw: must be left out beside csv',
    ],
  ])('is refused in a scenario with %s', (_what, building, problem) => {
    writeFileSync(join(folder, 'later.csv'), 'time,kW\n2027-06-01T08:00:00Z,5\n');
    expect(problemsOf(() => parsed(building))).toContain(problem);
  });
});
