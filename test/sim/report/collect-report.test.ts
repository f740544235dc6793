// A report holds less than its whole trace, and only events that happened.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openTrace, type Trace } from '../../../sim/log/trace.js';
import type { TraceEvent } from '../../../sim/log/trace-event.js';
import type { EventOf } from '../../../sim/log/trace-state.js';
import { collectReport, createMarkRecorder } from '../../../sim/report/collect-report.js';
import type { ReportData } from '../../../sim/report/report-data.js';
import { createConnectorRecorder, createValueRecorder } from '../../../sim/report/track-recorder.js';
import { valueAt } from '../../../web/location/step-line.js';
import {
  connectorsAt,
  type RecordedLocation,
  recordedLocation,
} from '../../../web/report/recorded-location.js';
import { lookOf, sourceLines } from '../../../web/report/source-lines.js';
import { DAY_MS, HOUR_MS, DAY_START_MS as T, UNKNOWN_SOURCE } from '../log/made-up-world.js';
import { madeUpReport } from './made-up-report.js';

const dir = mkdtempSync(join(tmpdir(), 'headroom-report-'));
let trace: Trace;
let data: ReportData;

beforeAll(async () => {
  const world = { seed: 8, locations: 2, connectorsPerLocation: 9, isBroken: true, isNoisy: true };
  const summary = await madeUpReport(dir, world);
  trace = openTrace(dir);
  data = await collectReport(trace, summary);
});

afterAll(async () => {
  trace.close();
  rmSync(dir, { recursive: true });
});

function site(place: number): RecordedLocation {
  const found = recordedLocation(data, place);
  if (found === undefined) throw new Error(`The report has no location ${place}`);
  return found;
}

function summed(differences: readonly number[]): number[] {
  let sum = 0;
  return differences.map((difference) => (sum += difference));
}

describe('A report', () => {
  it('contains title, seed, period, hash and locations of its trace', () => {
    expect(data).toMatchObject({ title: 'A made-up day', seed: 8, startsAtMs: T, endsAtMs: T + DAY_MS });
    expect(data.hash).toBe(trace.hash);
    expect(data.locations.map(({ locationId }) => locationId)).toEqual(['depot-01', 'depot-02']);
  });

  it.each([2, 6.5, 11.99, 12, 17, 17.001, 20.5, 23.9])(
    'shows at hour %d the connectors, limits and powers of the trace',
    async (hour) => {
      const instant = T + Math.round(hour * HOUR_MS);
      const state = await trace.at(instant);
      for (const [place, location] of state.locations.entries()) {
        const recorded = site(place);
        const { inForceKw, powerKw } = recorded.lines;
        expect(valueAt(inForceKw, instant)).toBe((location.limitW ?? 0) / 1000);
        expect(valueAt(powerKw, instant)).toBe((location.powerW ?? 0) / 1000);
        const connectors = connectorsAt(recorded, instant);
        expect(connectors).toHaveLength(location.connectors.length);
        for (const connector of location.connectors) {
          const { controllerUuid, connectorId, status, reason, isLeased, isOnline } = connector;
          const shown = connectors.find(
            (each) => each.controllerUuid === controllerUuid && each.connectorId === connectorId,
          );
          expect(shown).toMatchObject({
            actualKw: connector.powerW / 1000,
            limitA: connector.limitTenthsA / 10,
            chargingStatus: status,
            link: isOnline ? 'online' : 'offline',
            reason,
            isLeased,
          });
        }
      }
    },
  );

  it('shows grid voltages at every location if the trace does not assign lines to locations', () => {
    for (const place of [0, 1]) {
      const [west, ...others] = site(place).grid;
      expect(others).toEqual([]);
      expect(west?.name).toBe('west');
      expect(west && valueAt(west.highestV, T + HOUR_MS)).toBe(231);
      expect(west && valueAt(west.lowestV, T + HOUR_MS)).toBe(229.7);
    }
  });

  it('has no power and no connected charger before the first event', () => {
    const [connector] = connectorsAt(site(0), T - 1);
    expect(connector).toMatchObject({ link: 'offline', lastHeardSecondsAgo: null, limitA: null });
    expect(valueAt(site(0).lines.powerKw, T - 1)).toBeNull();
  });

  it('assigns marks and profiles to their own location, and shared ones to all locations', () => {
    const [first, second] = [site(0), site(1)];
    expect(first.marks.filter(({ kind }) => kind === 'violation').map(({ target }) => target)).toEqual([
      'depot-01',
    ]);
    for (const { locationId, marks, profiles } of [first, second]) {
      expect(marks.map(({ what }) => what)).toContain('serviceCrash');
      const targets = new Set(profiles.map(({ target }) => target));
      expect(targets).toEqual(new Set([locationId, 'harbour-cluster', `${locationId}-charger-001/1`]));
      const others = marks.filter(
        ({ target }) => target.startsWith('depot') && !target.startsWith(locationId),
      );
      expect(others).toEqual([]);
    }
  });

  it('shows every source of limits, and one with an unknown name by this name', () => {
    const { sources, lines } = site(0);
    expect(sources.map(({ label, tone }) => [label, tone])).toEqual([
      ['Connection', 'connection'],
      [UNKNOWN_SOURCE, 'source'],
    ]);
    const [connection, unknown] = sources;
    for (const instant of [T + 5 * HOUR_MS, T + 17 * HOUR_MS]) {
      expect(connection && valueAt(connection.line, instant)).toBe(50);
      expect(unknown && valueAt(unknown.line, instant)).toBe((valueAt(lines.inForceKw, instant) ?? 0) + 3);
    }
    expect(lines.operatorKw).toEqual([]);
  });

  it('contains the figures of each location', () => {
    expect(site(1).summary?.locationId).toBe('depot-02');
    expect(site(1).connectors.every(({ summary }) => summary !== undefined)).toBe(true);
    expect(recordedLocation(data, 2)).toBeUndefined();
  });
});

describe('The sources of limits in a report', () => {
  const line = (...values: readonly (number | null)[]) => values.map((value, i) => ({ atMs: T + i, value }));

  it('have the looks of their kinds, and one line for all sources with the same label', () => {
    const shown = sourceLines([
      { name: 'clusterShare:a', line: line(9, 5, null, null) },
      { name: 'building', line: line(20) },
      { name: 'clusterShare:b', line: line(7, 8, 8, null) },
      { name: 'transformer', line: line(30) },
      { name: 'peakShaving', line: line(6) },
      { name: 'operatorLimit', line: line(4) },
    ]);
    expect(shown.map(({ label, tone, colour }) => `${label}, ${tone}, ${colour}`)).toEqual([
      'Grid operator, operator, operator',
      'Peak shaving, peak-shaving, peak-shaving',
      'Cluster share, share, share',
      'Connection, connection, muted',
      'transformer, source, source',
    ]);
    expect(shown[2]?.line).toEqual(line(7, 5, 8, null));
    expect(shown.flatMap(({ chartLine = [] }) => chartLine)).toEqual(['operatorKw']);
  });

  it.each([
    ['operatorLimit', '', 'limited', 'grid operator', 'operator'],
    ['operatorLimit', '', 'failsafe', 'fail-safe of the grid operator', 'failsafe'],
    ['clusterShare', 'pier', 'none', 'share of cluster pier', 'share'],
    ['building', '', 'none', 'building', 'building'],
    ['physicalConnection', '', 'none', 'physical connection', 'muted'],
  ] as const)(
    'name the limit in force of %s %s in operator state %s as %s',
    (cause, rule, operator, words, colour) => {
      expect(lookOf(cause).inForce({ cause, rule, operator })).toEqual({ words, colour });
    },
  );
});

describe('Power recorded in steps', () => {
  it('keeps the first, lowest, highest and last value of a step at their own instants', () => {
    const recorder = createValueRecorder(1_000);
    for (const [i, value] of [5, 6, 2, 7, 9, 8, 4, 5].entries()) recorder.add(T + i * 100, value);
    recorder.add(T + 1_000, 1);
    const { atMs, values } = recorder.finish();
    expect(summed(atMs).map((at) => at - T)).toEqual([0, 200, 400, 700, 1_000]);
    expect(summed(values)).toEqual([5, 2, 9, 5, 1]);
  });

  it('keeps the values before a fall of the limit apart from later values', () => {
    const recorder = createValueRecorder(1_000);
    recorder.add(T, 50);
    recorder.add(T + 100, 60);
    recorder.add(T + 150, 55);
    recorder.cut();
    recorder.add(T + 200, 20);
    recorder.add(T + 300, 30);
    recorder.add(T + 400, 25);
    const { atMs, values } = recorder.finish();
    expect(summed(atMs).map((at) => at - T)).toEqual([0, 100, 150, 200, 300, 400]);
    expect(summed(values)).toEqual([50, 60, 55, 20, 30, 25]);
  });
});

describe('A connector recorded in steps', () => {
  const event = (ms: number, powerW: number): EventOf<'connector'> => ({
    atMs: T + ms,
    kind: 'connector',
    locationId: 'l',
    controllerUuid: 'c',
    connectorId: '1',
    status: 'Charging',
    powerW,
    limitTenthsA: powerW,
    reason: 'demand',
    isLeased: true,
    isOnline: true,
  });

  it('keeps every change of mode to the millisecond, and only the last power of a step', () => {
    const recorder = createConnectorRecorder({ controllerUuid: 'c', connectorId: '1' }, 1_000);
    const told = [
      [0, 1, 0],
      [100, 2, 0],
      [200, 3, 0],
      [300, 4, 1],
      [301, 5, 1],
      [302, 6, 1],
      [400, 7, 0],
      [1_100, 8, 0],
      [1_200, 9, 0],
    ] as const;
    for (const [ms, powerW, mode] of told) recorder.add(event(ms, powerW), mode);
    const track = recorder.finish();
    expect(summed(track.atMs).map((at) => at - T)).toEqual([0, 200, 300, 302, 400, 1_200]);
    expect(summed(track.powerW)).toEqual([1, 3, 4, 6, 7, 9]);
    expect(summed(track.limitTenthsA)).toEqual([1, 3, 4, 6, 7, 9]);
    expect(summed(track.modes)).toEqual([0, 0, 1, 1, 0, 0]);
  });
});

describe('The marks of a report', () => {
  function marksOf(...events: readonly TraceEvent[]) {
    const recorder = createMarkRecorder();
    for (const event of events) recorder.add(event);
    return recorder.finish(T + HOUR_MS);
  }
  const fault = (ms: number, target: string, isOn: boolean): TraceEvent => ({
    atMs: T + ms,
    kind: 'fault',
    fault: 'partition',
    target,
    isOn,
  });
  const profile = (ms: number, limitW: number, startsMs: number, endsMs: number): TraceEvent => ({
    atMs: T + ms,
    kind: 'profile',
    target: 'depot',
    priority: 3,
    limitW,
    startsAtMs: T + startsMs,
    endsAtMs: T + endsMs,
  });

  it('last from the start of a fault to its end or the end of the run, for each target', () => {
    const { marks } = marksOf(
      fault(1, 'a', true),
      fault(2, 'b', true),
      fault(3, 'a', true),
      fault(4, 'a', false),
      fault(5, 'c', false),
    );
    expect(marks.map((mark) => [mark.target, mark.startsAtMs - T, mark.endsAtMs - T])).toEqual([
      ['a', 1, 4],
      ['b', 2, HOUR_MS],
    ]);
  });

  it('show a profile from its submission at the earliest to its replacement at the latest', () => {
    const { profiles } = marksOf(
      profile(10, 1, 0, 500),
      profile(100, 2, 200, 300),
      profile(250, 3, 400, 600),
      profile(350, 4, 0, 300),
      profile(360, 5, 700, 800),
    );
    expect(profiles.map((bar) => [bar.limitW, bar.startsAtMs - T, bar.endsAtMs - T])).toEqual([
      [1, 10, 100],
      [2, 200, 250],
      [5, 700, 800],
    ]);
  });

  it('are omitted and counted beyond some thousand of a kind', () => {
    const action = (ms: number): TraceEvent => ({ atMs: T + ms, kind: 'action', name: 'a', status: 200 });
    const { marks, marksLeftOut } = marksOf(
      ...Array.from({ length: 5_010 }, (_, i) => action(i)),
      fault(9_000, 'a', true),
    );
    expect(marks).toHaveLength(5_001);
    expect(marksLeftOut).toBe(10);
  });
});
