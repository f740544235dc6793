// Batched writes of enforcement while the database is away and after it is back.
import { expect, it } from 'vitest';
import type { LocationId } from '../../../machines/values/ids.js';
import { createVirtualClock } from '../../../sim/virtual-clock.js';
import { BatchedWrites } from '../../../src/enforcement/batched-writes.js';
import { type Change, StoreUnavailableError } from '../../../src/ports/store.js';
import { HARBOUR, QUAY, START_MS } from '../harbour.js';

const LOG = { debug() {}, info() {}, warn() {}, error() {} };
const MINUTE = {
  atMs: START_MS,
  meanW: 1,
  maxW: 1,
  estimatedW: null,
  limitW: 1,
  meanLimitW: 1,
  currents: null,
  feeders: [],
  building: null,
};
const POWER: Change = { kind: 'power.put', locationId: QUAY as LocationId, minute: MINUTE };

it('is written in order once the database is back, and never grows without end: power is given up before alarms', async () => {
  const clock = createVirtualClock(START_MS);
  const written: Change[] = [];
  let isAway = true;
  const bookkeeping = new BatchedWrites({
    clock,
    log: LOG,
    store: {
      async append(_, changes) {
        if (isAway) throw new StoreUnavailableError('away');
        written.push(...changes);
      },
    },
  });
  for (let i = 0; i < 110_000; i++) bookkeeping.write(HARBOUR, POWER);
  clock.advance(0);
  await new Promise(setImmediate);
  for (let i = 0; i < 110_000; i++)
    bookkeeping.write(HARBOUR, { kind: 'alarm.change', alarmId: String(i), reason: 'Other.' });
  isAway = false;
  clock.advance(1_000);
  await bookkeeping.stop();
  expect(written).toHaveLength(120_000);
  const alarmIds = written.flatMap((change) => (change.kind === 'alarm.change' ? change.alarmId : []));
  expect(alarmIds).toEqual(Array.from({ length: 20_000 }, (_, i) => String(i)));
});

it('goes on with its writes after a caller had all of it written early', async () => {
  const clock = createVirtualClock(START_MS);
  const written: Change[] = [];
  const store = { append: async (_: string, changes: readonly Change[]) => void written.push(...changes) };
  const bookkeeping = new BatchedWrites({ clock, log: LOG, store });
  bookkeeping.write(HARBOUR, POWER);
  await bookkeeping.written(HARBOUR);
  clock.advance(1_000);
  bookkeeping.write(HARBOUR, POWER);
  clock.advance(1_000);
  await new Promise(setImmediate);
  expect(written).toHaveLength(2);
  await bookkeeping.stop();
});
