// Recorded sessions: both public formats, plain and gzipped, moved to the scenario's time; and broken files.
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, describe, expect, it } from 'vitest';
import { TimeZone } from '../../../machines/values/time-zone.js';
import { parseScenario } from '../../../sim/scenario/parse-scenario.js';
import { readSessionFile, sessionsOf } from '../../../sim/sessions/sessions-of.js';
import { UnusableFileError } from '../../../src/provisioning/parse-yaml.js';
import { needing } from '../../needs.js';

const folder = mkdtempSync(join(tmpdir(), 'headroom-sessions-'));
afterAll(() => rmSync(folder, { recursive: true }));

function file(name: string, content: string | Buffer): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

const HEAD = 'arrival,departure,stationId,sessionId,requestedKwh,maxKw';
const PLAIN = `${HEAD}
2019-03-09T14:20:00Z,2019-03-09T15:40:00Z,CA-10,a,4.216,6.6
2019-03-10T09:30:00Z,2019-03-10T12:00:00Z,CA-9,b,0.786,3.3
2019-03-09T15:40:00Z,2019-03-09T16:00:00Z,CA-10,c,10,6.6
`;
/** In the format of data sets with local times. On 10 March the clocks went forward. */
const LOCAL = `arrival,departure,requested_energy (kWh),delivered_energy (kWh),station_id,session_id,estimated_departure,claimed
2019-03-09 06:20:00-08:00,2019-03-09 07:40:00-08:00,60.0,44.069,CA-10,"a, the first",2019-03-09 09:20:45-08:00,True
2019-03-10 01:30:00-08:00,2019-03-10 05:00:00-07:00,21.84,17.666,CA-9,b,,False
`;

/** The visits of `csv` (a path below the folder) at two connectors on a 208 V site, from `start` for two days. */
function visitsAt(start: string, csv: string) {
  const text = `name: Recorded
start: ${start}
duration: 2d
sites: { count: 1, chargers: 2, connectors: 1, permanentLimitKw: 50, phases: 1, voltageV: 208, maxCurrentA: 32 }
sessions: { csv: { ${csv} } }
vehicles: [{ name: model, maxKw: 7, phases: 1, ideal: true }]
`;
  return sessionsOf(parseScenario(text, join(folder, 'recorded.yaml')), 1);
}

function problemsOf(read: () => unknown): string {
  try {
    read();
  } catch (error) {
    if (error instanceof UnusableFileError) return error.message;
    throw error;
  }
  return '';
}

describe('A file of recorded sessions', () => {
  file('plain.csv', PLAIN);
  const packed = file('local.csv.gz', gzipSync(LOCAL));
  file('marked.csv', `\uFEFF${PLAIN.replaceAll('\n', '\r\n')}`);

  it('is refused in one line with both periods if no car arrives in the simulated time', () => {
    const problem = problemsOf(() => visitsAt('2026-06-01T00:00:00Z', 'file: plain.csv'));
    expect(problem).toBe(
      `${join(folder, 'plain.csv')}: none of its 3 sessions arrives in the simulated time, ` +
        'from 2026-06-01T00:00:00.000Z to 2026-06-03T00:00:00.000Z; the first arrives at 2019-03-09T14:20:00.000Z, ' +
        'the last at 2019-03-10T09:30:00.000Z. Choose start, or "from" beside the file, and duration so that cars arrive',
    );
    const later = "file: plain.csv, from: '2019-03-11T00:00:00Z'";
    expect(problemsOf(() => visitsAt('2026-06-01T00:00:00Z', later))).toContain(
      'from 2019-03-11T00:00:00.000Z to 2019-03-13T00:00:00.000Z',
    );
    expect(visitsAt('2019-03-10T00:00:00Z', 'file: plain.csv')).toHaveLength(1);
  });

  it('is read in both formats, plain and gzipped, with times of any offset', () => {
    expect(readSessionFile(join(folder, 'plain.csv'), { energy: 'requested' })[0]).toEqual({
      line: 2,
      station: 'CA-10',
      sessionId: 'a',
      energyWh: 4216,
      maxKw: 6.6,
      arrivesAtMs: Date.UTC(2019, 2, 9, 14, 20),
      leavesAtMs: Date.UTC(2019, 2, 9, 15, 40),
    });
    expect(readSessionFile(packed, { energy: 'requested' })).toMatchObject([
      {
        sessionId: 'a, the first',
        energyWh: 60_000,
        maxKw: undefined,
        arrivesAtMs: Date.UTC(2019, 2, 9, 14, 20),
      },
      { sessionId: 'b', arrivesAtMs: Date.UTC(2019, 2, 10, 9, 30), leavesAtMs: Date.UTC(2019, 2, 10, 12) },
    ]);
    expect(readSessionFile(packed, { energy: 'delivered' })[0]?.energyWh).toBe(44_069);
  });

  it('may begin with a byte order mark, and may have Windows line ends', () => {
    expect(readSessionFile(join(folder, 'marked.csv'), { energy: 'requested' })).toEqual(
      readSessionFile(join(folder, 'plain.csv'), { energy: 'requested' }),
    );
  });

  it('gives visits in order of time, with stations at connectors in numerical order', () => {
    const visits = visitsAt('2019-03-09T00:00:00Z', 'file: plain.csv');
    expect(visits.map(({ sessionId, connectorKey }) => [sessionId, connectorKey])).toEqual([
      ['a', 'site-1-c2/1'],
      ['c', 'site-1-c2/1'],
      ['b', 'site-1-c1/1'],
    ]);
    expect(visits.map(({ car }) => Math.round(car.maxCurrentA * 208))).toEqual([6600, 6600, 3300]);
    expect(visits.map(({ requestedWh, car }) => car.batteryWh - requestedWh)).toEqual([0, 0, 0]);
  });

  it('may have semicolons and decimal commas, as from spreadsheets', () => {
    const separated = `${PLAIN.replaceAll(',', ';').replace('4.216', '4,216').replace('6.6', '6,6')}`;
    expect(readSessionFile(file('semicolons.csv', separated), { energy: 'requested' })).toEqual(
      readSessionFile(join(folder, 'plain.csv'), { energy: 'requested' }),
    );
  });

  it('uses the power of the vehicle class for a car without a power', () => {
    const [first] = visitsAt('2019-03-09T00:00:00Z', 'file: local.csv.gz');
    expect(Math.round((first?.car.maxCurrentA ?? 0) * 208)).toBe(7000);
  });

  it('is moved as a whole, so a night of a clock change keeps its length', () => {
    const then = visitsAt('2019-03-09T00:00:00-08:00', 'file: local.csv.gz');
    const now = visitsAt(
      '2026-06-01T00:00:00+02:00',
      'file: local.csv.gz, from: "2019-03-09T00:00:00-08:00"',
    );
    const shiftMs = Date.parse('2026-06-01T00:00:00+02:00') - Date.parse('2019-03-09T00:00:00-08:00');
    expect(now).toEqual(
      then.map((visit) => ({
        ...visit,
        arrivesAtMs: visit.arrivesAtMs + shiftMs,
        leavesAtMs: visit.leavesAtMs + shiftMs,
      })),
    );
    expect((now[1]?.leavesAtMs ?? 0) - (now[1]?.arrivesAtMs ?? 0)).toBe(2.5 * 3_600_000);
  });

  it('gives only cars that arrive during the scenario', () => {
    const visits = visitsAt('2019-03-09T15:00:00Z', 'file: plain.csv');
    expect(visits.map(({ sessionId }) => sessionId)).toEqual(['c', 'b']);
  });

  it('assigns stations to connectors as the scenario configures', () => {
    const stations = 'file: plain.csv, stations: { CA-10: site-1-c1/1, CA-9: site-1-c2/1 }';
    expect(visitsAt('2019-03-09T00:00:00Z', stations)[0]?.connectorKey).toBe('site-1-c1/1');
    const few = 'file: plain.csv, stations: { CA-10: site-1-c1/1 }';
    expect(problemsOf(() => visitsAt('2019-03-09T00:00:00Z', few))).toMatch(
      /plain\.csv: 1 of its 2 stations have no connector in the scenario: CA-9$/,
    );
  });
});

describe('A file whose times have no offset', () => {
  const LINES = `${HEAD}
2019-03-30 23:30,2019-03-31 02:30,A,skipped,1,
2019-06-01 12:00,2019-06-01 13:00:00+01:00,A,summer,1,
2019-10-27 02:30,2019-10-27 02:10,A,back,1,
2019-10-27 02:10,2019-10-27 02:30,B,first,1,
2019-12-01T12:00:00,2019-12-01 13:00,A,winter,1,
`;
  file('clock.csv', LINES);
  file('winter.csv', `${HEAD}\n2019-12-01T12:00:00,2019-12-01 13:00,A,winter,1,`);

  function timesIn(zone: string, name = 'clock.csv'): Readonly<Record<string, readonly string[]>> {
    const reading = { energy: 'requested', timeZone: TimeZone.named(zone) } as const;
    const sessions = readSessionFile(join(folder, name), reading);
    return Object.fromEntries(
      sessions.map(({ sessionId, arrivesAtMs, leavesAtMs }) => [
        sessionId,
        [arrivesAtMs, leavesAtMs].map((atMs) => new Date(atMs).toISOString().slice(0, 16)),
      ]),
    );
  }

  it('is read in its time zone, except for times with an offset', () => {
    expect(timesIn('Europe/Berlin')).toMatchObject({
      summer: ['2019-06-01T10:00', '2019-06-01T12:00'],
      winter: ['2019-12-01T11:00', '2019-12-01T12:00'],
    });
    expect(timesIn('UTC', 'winter.csv')).toEqual({ winter: ['2019-12-01T12:00', '2019-12-01T13:00'] });
    // Summer time there is half an hour.
    expect(timesIn('Australia/Lord_Howe', 'winter.csv')).toEqual({
      winter: ['2019-12-01T01:00', '2019-12-01T02:00'],
    });
  });

  it('uses a skipped local time as if the clocks had not changed', () => {
    expect(timesIn('Europe/Berlin').skipped).toEqual(['2019-03-30T22:30', '2019-03-31T01:30']);
  });

  it('uses the first instant of a repeated local time, or the second if departure would precede arrival', () => {
    expect(timesIn('Europe/Berlin')).toMatchObject({
      first: ['2019-10-27T00:10', '2019-10-27T00:30'],
      back: ['2019-10-27T00:30', '2019-10-27T01:10'],
    });
  });

  it.each(['2019-06-01T00:00:00', '2019-06-01 00:00'])(
    'may be moved from a time in the same zone: %s',
    (from) => {
      const visits = visitsAt(
        '2026-06-01T00:00:00Z',
        `file: clock.csv, timeZone: Europe/Berlin, from: "${from}"`,
      );
      expect(visits.map(({ sessionId, arrivesAtMs }) => [sessionId, arrivesAtMs])).toEqual([
        ['summer', Date.parse('2026-06-01T12:00:00Z')],
      ]);
    },
  );

  it.each(['Europe/Berln', '+02:00', '', 'Mars'])('is refused with the unknown zone "%s"', (zone) => {
    expect(
      problemsOf(() => visitsAt('2019-06-01T00:00:00Z', `file: clock.csv, timeZone: "${zone}"`)),
    ).toMatch(/recorded\.yaml:5:\d+ sessions\.csv\.timeZone: is .*; must be the IANA name of a time zone/);
  });

  it('is refused without a zone, line by line, as is a "from" without an offset', () => {
    const without = problemsOf(() => visitsAt('2019-06-01T00:00:00Z', 'file: clock.csv'));
    expect(without.split('\n')).toHaveLength(5);
    expect(without).toMatch(/clock\.csv:3 column arrival: "2019-06-01 12:00" has no offset/);
    expect(
      problemsOf(() => visitsAt('2019-06-01T00:00:00Z', 'file: clock.csv, from: "2019-06-01T00:00:00"')),
    ).toMatch(/recorded\.yaml:5:\d+ sessions\.csv\.from: .*timeZone must name a zone/);
  });
});

describe('A broken file of recorded sessions', () => {
  const ROW = '2019-03-09T14:20:00Z,2019-03-09T15:40:00Z,CA-1,x,4,6.6';
  it.each([
    ['nothing', '', /:1 is empty; its first line must name the columns$/],
    ['no line but its head', HEAD, /:1 has no session below its columns$/],
    ['a column named twice', `stationId,${HEAD}\nX,${ROW}`, /:1 has more than one column stationId/],
    [
      'a line with a field too many',
      `${HEAD}\n${ROW},7`,
      /:2 has 7 fields, and the first line names 6 columns$/,
    ],
    [
      'bytes that are no text',
      Buffer.from(`${HEAD}\n\x1b[2Jx"y`),
      /:2 column "arrival": has a quotation mark within a field/,
    ],
    ['another table', 'a,b\n1,2', /has no column stationId or station_id/],
    [
      'no energy',
      `${HEAD.replace('requestedKwh', 'kwh')}\n${ROW}`,
      /:1 has no column requestedKwh or requested_energy \(kWh\)$/,
    ],
    [
      'a time without an offset',
      `${HEAD}\n${ROW.replace('20:00Z', '20:00')}`,
      /:2 column arrival: "2019-03-09T14:20:00" has no offset from UTC; add one, such as Z/,
    ],
    [
      'a day that is none',
      `${HEAD}\n${ROW.replaceAll('-03-09', '-02-30')}`,
      /:2 column arrival: "2019-02-30T14:20:00Z" must be a time/,
    ],
    [
      'a car that leaves before it comes',
      `${HEAD}\n${ROW.replace('15:40', '14:20')}`,
      /:2 column departure: must be after the arrival/,
    ],
    [
      'words for energy',
      `${HEAD}\n${ROW.replace(',4,', ',much,')}`,
      /:2 column requestedKwh: "much" must be a number from 0.001 to 10000, in kWh$/,
    ],
    ['no energy in a line', `${HEAD}\n${ROW.replace(',4,', ',,')}`, /:2 column requestedKwh: "" must be/],
    [
      'endless energy',
      `${HEAD}\n${ROW.replace(',4,', ',Infinity,')}`,
      /:2 column requestedKwh: "Infinity" must be/,
    ],
    [
      'negative power',
      `${HEAD}\n${ROW.replace('6.6', '-1')}`,
      /:2 column maxKw: "-1" must be a number from 0.001 to 1000, in kW$/,
    ],
    ['no station', `${HEAD}\n${ROW.replace('CA-1', '')}`, /:2 column stationId: is empty/],
    [
      'a session twice',
      `${HEAD}\n${ROW}\n${ROW.replaceAll('03-09', '03-10')}`,
      /:3 session "x" is that of line 2/,
    ],
    [
      'a line too short',
      `${HEAD}\n${ROW}\n2019,2019`,
      /:3 has 2 fields, and the first line names 6 columns$/,
    ],
    [
      'a quote that never ends',
      `${HEAD}\n"${ROW}`,
      /:2 column "requestedKwh": has a quotation mark that is never closed$|:2 .*never closed$/,
    ],
    ['bytes of something else', Buffer.from([0, 255, 254, 10, 13, 34, 0]), /./],
    [
      'what a terminal would obey',
      `${HEAD}\n${ROW.replace('Z', '\x1b[2J\x9b2J')}`,
      /:2 column arrival: "2019-03-09T14:20:00\\u001b\[2J\?2J" must be a time/,
    ],
    [
      'text behind a quoted field',
      `${HEAD}\n${ROW.replace('CA-1', '"CA"-1')}`,
      /:2 column "stationId": goes on after its closing/,
    ],
    ['a hexadecimal energy', `${HEAD}\n${ROW.replace(',4,', ',0x4,')}`, /column requestedKwh: "0x4" must be/],
    [
      'thousands that are set apart',
      `${HEAD}\n${ROW.replace(',4,', ',1.000,5,')}`.replaceAll(',', ';').replace('1.000;5', '1.000,5'),
      /:2 column requestedKwh: "1.000,5" must be a number/,
    ],
    ['half a gzip', gzipSync(PLAIN).subarray(0, 60), /cannot be read: unexpected end of file/],
  ])('is refused with %s', (_, content, problem) => {
    const path = file('broken.csv', content);
    const problems = problemsOf(() => readSessionFile(path, { energy: 'requested' }));
    expect(problems).toMatch(problem);
    for (const line of problems.split('\n')) expect(line).toContain('broken.csv:');
  });

  it('is refused with problems of at most twenty lines', () => {
    const rows = Array.from({ length: 1000 }, (_, i) =>
      ROW.replace(',x,', `,x${i},`).replace(',4,', ',none,'),
    );
    const path = file('many.csv', [HEAD, ...rows].join('\n'));
    expect(problemsOf(() => readSessionFile(path, { energy: 'requested' })).split('\n')).toHaveLength(20);
  });

  it('is refused for gigabytes in a small gzip before they fill the memory', () => {
    const path = file('bomb.csv.gz', gzipSync(Buffer.alloc(300_000_000)));
    expect(problemsOf(() => readSessionFile(path, { energy: 'requested' }))).toMatch(
      /cannot be read: Cannot create a Buffer larger/,
    );
  });

  it('is refused if it does not exist', () => {
    expect(problemsOf(() => visitsAt('2019-03-09T00:00:00Z', 'file: nowhere.csv'))).toMatch(
      /nowhere\.csv: cannot be read: ENOENT/,
    );
  });

  it('is refused with two cars at one station', () => {
    file(
      'shared.csv',
      `${HEAD}\n${ROW}\n${ROW.replace(',x,', ',y,').replace('14:20', '15:39').replace('15:40', '16:00')}`,
    );
    expect(problemsOf(() => visitsAt('2019-03-09T00:00:00Z', 'file: shared.csv'))).toMatch(
      /shared\.csv:3 column arrival: comes to station "CA-1" before the car of line 2 has left/,
    );
  });
});

// The public recordings are not part of the project; SESSION_DATA names their folder.
const data = process.env.SESSION_DATA;
describe(
  'The public recordings',
  needing(data === undefined ? 'SESSION_DATA, the folder of the public recordings' : undefined),
  () => {
    const files = data === undefined ? [] : readdirSync(data).filter((name) => /\.csv(\.gz)?$/.test(name));
    it.each(files)('%s is read completely', (name) => {
      const sessions = readSessionFile(join(data ?? '', name), { energy: 'requested' });
      expect(sessions.length).toBeGreaterThan(900);
      expect(new Set(sessions.map(({ sessionId }) => sessionId)).size).toBe(sessions.length);
    });

    it('keep the energy of a month as visits', () => {
      const text = `name: March
start: 2026-03-01T00:00:00-08:00
duration: 40d
sites: { count: 1, chargers: 54, connectors: 1, permanentLimitKw: 50, phases: 1, voltageV: 208, maxCurrentA: 32 }
sessions: { csv: { file: acn-caltech-2019-03.csv, from: "2019-03-01T00:00:00-08:00" } }
vehicles: [{ name: model, maxKw: 6.6, phases: 1, ideal: true }]
`;
      const visits = sessionsOf(parseScenario(text, join(data ?? '', 'march.yaml')), 1);
      const wh = visits.reduce((sum, { requestedWh }) => sum + requestedWh, 0);
      expect([visits.length, Math.round(wh / 100) / 10]).toEqual([954, 8900.5]);
      expect(new Set(visits.map(({ car }) => Math.round(car.maxCurrentA * 208)))).toEqual(new Set([6600]));
    });
  },
);
