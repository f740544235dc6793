// The alarm book reports each beginning, each changed reason and each end of an alarm once.
import { expect, it } from 'vitest';
import { OpenAlarms } from '../../../src/enforcement/open-alarms.js';
import type { Log } from '../../../src/ports/log.js';
import type { AlarmRecord } from '../../../src/ports/records.js';
import type { Change } from '../../../src/ports/store.js';
import { createHarbour } from '../harbour.js';

const SILENT_LOG: Log = { debug() {}, info() {}, warn() {}, error() {} };

it('an open alarm has its present reason, keeps its first one, and reports each change once', () => {
  const harbour = createHarbour();
  const written: Change[] = [];
  const told: [string, AlarmRecord][] = [];
  const book = new OpenAlarms({
    clock: harbour.clock,
    log: SILENT_LOG,
    newId: () => 'a',
    write: (_, change) => void written.push(change),
    onAlarm: (_, alarm, what) => void told.push([what, alarm]),
  });
  const location = harbour.quay();
  const set = (reason: string | undefined) => book.set(location, 'LIMIT_UNATTAINABLE', undefined, reason);
  set(undefined);
  for (const reason of ['First.', 'First.', 'Second.', 'Second.']) set(reason);
  expect([...location.alarms.values()]).toMatchObject([
    { alarmId: 'a', reason: 'Second.', firstReason: 'First.' },
  ]);
  set('Third.');
  set(undefined);
  expect(told.map(([what, { reason, firstReason }]) => [what, reason, firstReason])).toEqual([
    ['began', 'First.', 'First.'],
    ['changed', 'Second.', 'First.'],
    ['changed', 'Third.', 'First.'],
    ['ended', 'Third.', 'First.'],
  ]);
  expect(written.map(({ kind }) => kind)).toEqual([
    'alarm.begin',
    'alarm.change',
    'alarm.change',
    'alarm.end',
  ]);
});
