// Batched writes of enforcement while the database is away and after it is back.
import { expect, it } from 'vitest';
import type { ConnectorId, ControllerUuid, LocationId, TenantUuid } from '../../../machines/values/ids.js';
import { createVirtualClock } from '../../../sim/virtual-clock.js';
import { BatchedWrites } from '../../../src/enforcement/batched-writes.js';
import { type Change, StoreUnavailableError } from '../../../src/ports/store.js';
import { HARBOUR, QUAY, START_MS } from '../harbour.js';

const RIVAL = 'rival' as TenantUuid;
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
const CONNECTOR_POWER: Change = {
  kind: 'connectorPower.put',
  power: {
    controllerUuid: 'crane' as ControllerUuid,
    connectorId: '1' as ConnectorId,
    runs: [{ atMs: START_MS, minutes: 1, meanDaW: 1, limitDaW: 1 }],
  },
};

it('is written in order once the database is back, and never grows without end: the power of connectors is given up first, then that of locations, then alarms', async () => {
  const clock = createVirtualClock(START_MS);
  const written: Change[] = [];
  const givenUp: unknown[] = [];
  let [isAway, largest] = [true, 0];
  const bookkeeping = new BatchedWrites({
    clock,
    log: { ...LOG, error: (fields: object) => void givenUp.push(fields) },
    store: {
      async append(_, changes) {
        if (isAway) throw new StoreUnavailableError('away');
        written.push(...changes);
        largest = Math.max(largest, changes.length);
      },
    },
  });
  for (let i = 0; i < 60_000; i++) bookkeeping.write(HARBOUR, CONNECTOR_POWER);
  for (let i = 0; i < 110_000; i++) bookkeeping.write(HARBOUR, POWER);
  clock.advance(0);
  await new Promise(setImmediate);
  for (let i = 0; i < 110_000; i++)
    bookkeeping.write(HARBOUR, { kind: 'alarm.change', alarmId: String(i), reason: 'Other.' });
  // Once a minute for each kind.
  expect(givenUp).toEqual([
    { kind: 'connectorPower.put', kept: 50_000, givenUp: 1 },
    { kind: 'power.put', kept: 100_000, givenUp: 10_001 },
    { kind: 'alarm.change', kept: 120_000, givenUp: 70_001 },
  ]);
  isAway = false;
  clock.advance(1_000);
  await bookkeeping.stop();
  expect(written).toHaveLength(120_000);
  // Requests of the tenant wait for a whole commit.
  expect(largest).toBe(1_000);
  expect(written.filter(({ kind }) => kind === 'connectorPower.put')).toHaveLength(50_000);
  expect(written.filter(({ kind }) => kind === 'power.put')).toHaveLength(50_000);
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

it('answers for the changes so far, while further ones never end, and each tenant has its turn', async () => {
  const tenants: string[] = [];
  const bookkeeping: BatchedWrites = new BatchedWrites({
    clock: createVirtualClock(START_MS),
    log: LOG,
    store: {
      async append(tenantUuid) {
        tenants.push(tenantUuid);
        if (tenants.length < 100) bookkeeping.write(HARBOUR, POWER);
        await new Promise(setImmediate);
      },
    },
  });
  bookkeeping.write(HARBOUR, POWER);
  bookkeeping.write(RIVAL, POWER);
  await Promise.all([bookkeeping.written(HARBOUR), bookkeeping.written(RIVAL)]);
  expect(tenants.slice(0, 2)).toEqual([HARBOUR, RIVAL]);
  expect(tenants.length).toBeLessThan(5);
  await bookkeeping.stop();
  expect(tenants).toHaveLength(100);
});

it('loses the change alone that the database can never take', async () => {
  const written: Change[] = [];
  const bad: Change = { kind: 'alarm.change', alarmId: 'unknown', reason: 'Other.' };
  const bookkeeping = new BatchedWrites({
    clock: createVirtualClock(START_MS),
    log: LOG,
    store: {
      async append(_, changes) {
        if (changes.includes(bad)) throw new Error('a defect');
        written.push(...changes);
      },
    },
  });
  for (let i = 0; i < 5; i++) bookkeeping.write(HARBOUR, i === 3 ? bad : POWER, POWER);
  await bookkeeping.written(HARBOUR);
  expect(written).toHaveLength(8);
  await bookkeeping.stop();
});
