// trace.sqlite: a file of many blocks and keyframes restores the recorded events at any instant.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TraceEvent } from '../../../sim/trace/trace-event.js';
import { createTraceHash } from '../../../sim/trace/trace-hash.js';
import { openTraceReader, type TraceReader } from '../../../sim/trace/trace-reader.js';
import { TraceStateFold } from '../../../sim/trace/trace-state.js';
import { openTraceWriter } from '../../../sim/trace/trace-writer.js';
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
const path = join(dir, 'trace.sqlite');
const events = [
  ...madeUpWorld({ seed: 11, locations: 2, connectorsPerLocation: 10, withRenewals: true, isBroken: true }),
];
let reader: TraceReader;
let hash: string;

beforeAll(async () => {
  const writer = await openTraceWriter(path, SUBJECT);
  for (const event of events) writer.add(event);
  await writer.drained();
  hash = await writer.finish(DAY_START_MS + DAY_MS);
  reader = await openTraceReader(path);
});

afterAll(async () => {
  await reader.close();
  rmSync(dir, { recursive: true });
});

/** The state by folding all events, without blocks and keyframes. */
function naiveStateAt(instant: number) {
  const state = new TraceStateFold();
  for (const event of events) if (event.atMs <= instant) state.apply(event);
  return state.at(instant);
}

describe('A trace on disk', () => {
  it('says what it is of, to where it goes, and the hash of its events', () => {
    const expected = createTraceHash();
    for (const event of events) expected.add(event);
    expect(hash).toBe(expected.digest());
    expect(reader.hash).toBe(hash);
    expect(reader.subject).toEqual(SUBJECT);
    expect(reader.endsAtMs).toBe(DAY_START_MS + DAY_MS);
  });

  it('gives all events back in order', async () => {
    const back: TraceEvent[] = [];
    for await (const batch of reader.batches()) back.push(...batch);
    expect(back.length).toBeGreaterThan(50_000);
    expect(back).toEqual(events);
  });

  it.each([0, 1, 9, 9.01, 12, 12.0001, 16.9999999, 17, 23.99, 24])(
    'knows the whole state at hour %d, as going through all events does',
    async (hour) => {
      const instant = DAY_START_MS + Math.round(hour * HOUR_MS);
      expect(await reader.at(instant)).toEqual(naiveStateAt(instant));
    },
  );

  it('knows nothing of a time before it, and its last state ever after', async () => {
    expect((await reader.at(DAY_START_MS - 1)).locations).toEqual([]);
    const after = await reader.at(DAY_START_MS + 3 * DAY_MS);
    expect(after.locations).toEqual(naiveStateAt(DAY_START_MS + DAY_MS).locations);
  });

  it('names limit, power, connectors with grant and car, profiles, faults, action and violation', async () => {
    const state = await reader.at(DAY_START_MS + 12 * HOUR_MS);
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
    const crashed = await reader.at(DAY_START_MS + 9 * HOUR_MS + 60_000);
    expect(crashed.faults.map(({ fault }) => fault)).toContain('serviceCrash');
    expect(state.faults.map(({ fault }) => fault)).not.toContain('serviceCrash');
  });

  it('narrows the state to one connector and its location', async () => {
    const connector = { controllerUuid: 'depot-02-charger-003', connectorId: '2' };
    const state = await reader.at(DAY_START_MS + 12 * HOUR_MS, connector);
    expect(state.locations).toHaveLength(1);
    expect(state.locations[0]?.locationId).toBe('depot-02');
    expect(state.locations[0]?.connectors).toHaveLength(1);
    expect(state.locations[0]?.connectors[0]).toMatchObject(connector);
  });
});

describe('Another trace', () => {
  it('takes the place of the one before it', async () => {
    const other = join(dir, 'other.sqlite');
    for (const seed of [1, 2]) {
      const writer = await openTraceWriter(other, { ...SUBJECT, seed });
      for (const event of madeUpWorld({ seed, locations: 1, connectorsPerLocation: 2 })) writer.add(event);
      await writer.finish(DAY_START_MS + DAY_MS);
    }
    const second = await openTraceReader(other);
    expect(second.subject.seed).toBe(2);
    await second.close();
  });

  it('that was never finished is read up to its last whole block, and has no hash', async () => {
    const cut = join(dir, 'cut.sqlite');
    const writer = await openTraceWriter(cut, SUBJECT);
    for (const event of events) writer.add(event);
    await writer.drained();
    const unfinished = await openTraceReader(cut);
    expect(unfinished.hash).toBeUndefined();
    expect(unfinished.endsAtMs).toBeGreaterThan(DAY_START_MS + 12 * HOUR_MS);
    expect(unfinished.endsAtMs).toBeLessThan(DAY_START_MS + DAY_MS);
    await unfinished.close();
    await writer.finish(DAY_START_MS + DAY_MS);
  });

  it('without a single event is a trace all the same', async () => {
    const empty = join(dir, 'empty.sqlite');
    await (await openTraceWriter(empty, SUBJECT)).finish(DAY_START_MS);
    const nothing = await openTraceReader(empty);
    expect((await nothing.at(DAY_START_MS)).locations).toEqual([]);
    expect(nothing.endsAtMs).toBe(DAY_START_MS);
    await nothing.close();
  });
});

describe('What is no trace', () => {
  it('is refused by name, whether absent or something else', async () => {
    await expect(openTraceReader(join(dir, 'nowhere.sqlite'))).rejects.toThrow('nowhere.sqlite');
    const text = join(dir, 'text.sqlite');
    writeFileSync(text, 'no database at all, but longer than a header of one hundred bytes'.repeat(9));
    await expect(openTraceReader(text)).rejects.toThrow('text.sqlite is no trace');
  });

  it('is not written where no file can be', async () => {
    await expect(openTraceWriter(join(dir, 'no/such/folder/trace.sqlite'), SUBJECT)).rejects.toThrow();
  });
});
