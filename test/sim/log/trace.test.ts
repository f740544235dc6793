// trace.log: a file of many blocks and keyframes restores the recorded events at any instant.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { createTraceHash } from '../../../sim/log/event-codec.js';
import { openTrace, type Trace, TraceWriter } from '../../../sim/log/trace.js';
import { TraceStateFold } from '../../../sim/log/trace-state.js';
import { DAY_MS, DAY_START_MS, HOUR_MS, madeUpWorld } from './made-up-world.js';

const SUBJECT = {
  scenario: 'name: made up\n',
  seed: 11,
  commit: 'abc',
  startsAtMs: DAY_START_MS,
  utcOffsetMs: 7_200_000,
  grid: [{ name: 'west', locationIds: ['depot-01'] }],
};
const dir = mkdtempSync(join(tmpdir(), 'headroom-trace-'));
const path = join(dir, 'trace.log');
const events = [
  ...madeUpWorld({ seed: 11, locations: 2, connectorsPerLocation: 10, withRenewals: true, isBroken: true }),
];
let reader: Trace;
let hash: string;

beforeAll(async () => {
  const writer = new TraceWriter(path, SUBJECT);
  for (const event of events) writer.add(event);
  hash = writer.finish(DAY_START_MS + DAY_MS);
  reader = openTrace(path);
});

afterAll(async () => {
  reader.close();
  rmSync(dir, { recursive: true });
});

/** The state by folding all events, without blocks and keyframes. */
function naiveStateAt(instant: number) {
  const state = new TraceStateFold();
  for (const event of events) if (event.atMs <= instant) state.apply(event);
  return state.at(instant);
}

describe('A trace file', () => {
  it('stores its subject, its end and the hash of its events', () => {
    const expected = createTraceHash();
    for (const event of events) expected.add(event);
    expect(hash).toBe(expected.digest());
    expect(reader.hash).toBe(hash);
    expect(reader.subject).toEqual(SUBJECT);
    expect(reader.endsAtMs).toBe(DAY_START_MS + DAY_MS);
  });

  it('returns all events in order', async () => {
    const back = [...reader.events()];
    expect(back.length).toBeGreaterThan(50_000);
    expect(back).toEqual(events);
  });

  it.each([0, 1, 9, 9.01, 12, 12.0001, 16.9999999, 17, 23.99, 24])(
    'returns at hour %d the same state as a fold of all events',
    async (hour) => {
      const instant = DAY_START_MS + Math.round(hour * HOUR_MS);
      expect(reader.at(instant)).toEqual(naiveStateAt(instant));
    },
  );

  it('has no locations before its start, and keeps its last state after its end', async () => {
    expect(reader.at(DAY_START_MS - 1).locations).toEqual([]);
    const after = reader.at(DAY_START_MS + 3 * DAY_MS);
    expect(after.locations).toEqual(naiveStateAt(DAY_START_MS + DAY_MS).locations);
  });

  it('contains limits, powers, connectors with grants and cars, profiles, faults, actions and violations', async () => {
    const state = reader.at(DAY_START_MS + 12 * HOUR_MS);
    expect(state.locations.map(({ locationId }) => locationId)).toEqual(['depot-01', 'depot-02']);
    expect(state.locations[0]?.limitW).toBe(40_000);
    expect(state.locations[0]?.powerW).toBe(42_500);
    expect(state.locations[0]?.connectors).toHaveLength(10);
    const charging = state.locations[0]?.connectors.find(({ status }) => status === 'Charging');
    expect(charging?.grant?.seq).toBeGreaterThan(0);
    expect(charging?.session?.what).toBe('arrived');
    expect(state.profiles.filter(({ target }) => target === 'depot-01').map((p) => p.priority)).toEqual([
      1, 5,
    ]);
    expect(state.lastAction?.name).toBe('setPermanentLimit');
    expect(state.lastViolation?.invariant).toBe('P1');
    const crashed = reader.at(DAY_START_MS + 9 * HOUR_MS + 60_000);
    expect(crashed.faults.map(({ fault }) => fault)).toContain('serviceCrash');
    expect(state.faults.map(({ fault }) => fault)).not.toContain('serviceCrash');
  });

  it('restricts the state to one connector and its location', async () => {
    const connector = { controllerUuid: 'depot-02-charger-003', connectorId: '2' };
    const state = reader.at(DAY_START_MS + 12 * HOUR_MS, connector);
    expect(state.locations).toHaveLength(1);
    expect(state.locations[0]?.locationId).toBe('depot-02');
    expect(state.locations[0]?.connectors).toHaveLength(1);
    expect(state.locations[0]?.connectors[0]).toMatchObject(connector);
  });
});

describe('Another trace file', () => {
  it('replaces an earlier trace at the same path', async () => {
    const other = join(dir, 'other.log');
    for (const seed of [1, 2]) {
      const writer = new TraceWriter(other, { ...SUBJECT, seed });
      for (const event of madeUpWorld({ seed, locations: 1, connectorsPerLocation: 2 })) writer.add(event);
      writer.finish(DAY_START_MS + DAY_MS);
    }
    const second = openTrace(other);
    expect(second.subject.seed).toBe(2);
    second.close();
  });

  it('is read up to its last whole block if it is unfinished, and then has no hash', async () => {
    const cut = join(dir, 'cut.log');
    const writer = new TraceWriter(cut, SUBJECT);
    for (const event of events) writer.add(event);
    const unfinished = openTrace(cut);
    expect(unfinished.hash).toBeUndefined();
    expect(unfinished.endsAtMs).toBeGreaterThan(DAY_START_MS + 12 * HOUR_MS);
    expect(unfinished.endsAtMs).toBeLessThan(DAY_START_MS + DAY_MS);
    unfinished.close();
    writer.finish(DAY_START_MS + DAY_MS);
  });

  it('is valid without events', async () => {
    const empty = join(dir, 'empty.log');
    new TraceWriter(empty, SUBJECT).finish(DAY_START_MS);
    const nothing = openTrace(empty);
    expect(nothing.at(DAY_START_MS).locations).toEqual([]);
    expect(nothing.endsAtMs).toBe(DAY_START_MS);
    nothing.close();
  });
});

describe('An unusable trace file', () => {
  const made = (name: string, content: string | Uint8Array) => {
    writeFileSync(join(dir, name), content);
    return join(dir, name);
  };

  it('is refused with its path, and with a remedy if there is one', () => {
    expect(() => openTrace(join(dir, 'nowhere.log'))).toThrow('nowhere.log');
    const refusals = [
      [made('text.log', 'Dear all'), 'is no trace'],
      [made('empty.log', ''), 'is no trace'],
      [
        made('old.sqlite', `SQLite format 3\0${'\0'.repeat(99)}`),
        'is a trace of release 0.2 or older: run its scenario again, or replay it with that release',
      ],
      [
        made('later.log', readFileSync(path).fill('5', 15, 16)),
        'has format 5, and this release reads format 4: use the release that wrote it',
      ],
      [made('earlier.log', 'headroom trace 2\n'), 'has format 2, and this release reads format 4'],
      [made('other.log', 'headroom recording 2\n'), 'is no trace'],
    ] as const;
    for (const [file, words] of refusals) expect(() => openTrace(file)).toThrow(`${file} ${words}`);
  });

  it('is reported as damaged wherever a byte differs', () => {
    const whole = readFileSync(path);
    for (const share of [0.001, 0.2, 0.5, 0.9]) {
      const place = Math.floor(share * whole.length);
      const changed = made('changed.log', Buffer.from(whole).fill((whole[place] ?? 0) ^ 1, place, place + 1));
      expect(() => {
        const trace = openTrace(changed);
        onTestFinished(() => trace.close());
        return [...trace.events()];
      }).toThrow(`${changed} is damaged (`);
    }
  });

  it('is read up to its last whole block if it ends within a block', () => {
    const whole = readFileSync(path);
    const cut = openTrace(made('cut-off.log', whole.subarray(0, Math.floor(0.7 * whole.length))));
    const read = [...cut.events()];
    cut.close();
    expect(cut.hash).toBeUndefined();
    expect(read.length).toBeGreaterThan(10_000);
    expect(read).toEqual(events.slice(0, read.length));
    expect(cut.endsAtMs).toBe(read.at(-1)?.atMs);
  });

  it('causes an error on creation if its folder does not exist', () => {
    expect(() => new TraceWriter(join(dir, 'no/such/folder/trace.log'), SUBJECT)).toThrow();
  });
});
