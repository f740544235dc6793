// Stored reservations that a start reads for connectors whose charger may draw its maximum without a limit.
import { describe, expect, it } from 'vitest';
import type { MeterReading } from '../../../machines/power/meter-ledger.js';
import { supervisorOf } from '../../../src/actors/directory.js';
import type { ReservationRecord } from '../../../src/ports/records.js';
import { StoreUnavailableError } from '../../../src/ports/store.js';
import { CRANE, createHarbour, HARBOUR, type Harbour, location, QUAY, ROWS } from '../harbour.js';

const MAXIMUM_W = 24_288;

/**
 * Starts the quay alone, with the rows of earlier reservations.
 * @param isOnDisk as in `createHarbour`
 */
function start(reservations: readonly ReservationRecord[] = [], isOnDisk?: () => Promise<void>): Harbour {
  const locations = [location(QUAY, [CRANE])];
  const harbour = createHarbour({ ...ROWS, locations, clusters: [], profiles: [], reservations }, isOnDisk);
  harbour.enforcement.start();
  return harbour;
}

async function hear(harbour: Harbour, reading: MeterReading): Promise<void> {
  harbour.meterOf(QUAY, CRANE).record(reading, harbour.clock.monotonicMs());
  harbour.clock.advance(5_000);
  await new Promise(setImmediate);
  harbour.clock.advance(5_000);
}

function reservationsOf({ written }: Harbour): ReservationRecord[] {
  return written.flatMap((change) => (change.kind === 'reservation.put' ? change.reservation : [])).slice(-1);
}

describe('A connector that reports power and takes no limits (rule 7)', () => {
  it('has its maximum reserved from a start on, before its first message, however long that takes', async () => {
    const harbour = start();
    await hear(harbour, { powerW: 9_000 });
    expect(supervisorOf(harbour.quay()).reservedW).toBe(MAXIMUM_W);
    const restarted = start(reservationsOf(harbour));
    restarted.clock.advance(3_600_000);
    expect(supervisorOf(restarted.quay()).reservedW).toBe(MAXIMUM_W);
  });

  it('is written once', async () => {
    const harbour = start();
    for (let i = 0; i < 5; i++) await hear(harbour, { powerW: 9_000 + i });
    expect(harbour.written).toHaveLength(1);
  });

  it('has only its limit reserved once it took one after all', async () => {
    const harbour = start();
    await hear(harbour, { powerW: 9_000 });
    const restarted = start(reservationsOf(harbour));
    let hb = 0;
    const beat = (more: Partial<MeterReading>) =>
      hear(restarted, { powerW: 0, boot: 'b', hb: ++hb, status: 'Available', ...more });
    await beat({});
    const { epoch, seq, limitTenthsA } = restarted.grants.at(-1) ?? {};
    await beat({ epoch, seq, limitA: (limitTenthsA ?? 0) / 10 });
    await beat({});
    await beat({});
    expect(supervisorOf(restarted.quay()).reservedW).toBeLessThan(MAXIMUM_W / 4);
  });
});

describe('A connector whose charger reports no lease while the database takes no writes', () => {
  it('has its maximum on disk a heartbeat after that takes them again, though nothing else happens', async () => {
    let isWritable = false;
    const harbour = start([], async () => {
      if (!isWritable) throw new StoreUnavailableError('the disk is full');
    });
    const { clock, sink, written } = harbour;
    const connectors = [{ id: '1', lease: 'none', keepsThen: true, failsafeA: 0 }] as const;
    sink.recordState(HARBOUR, QUAY, CRANE.controllerUuid, { online: true, boot: 'b', connectors });
    const pass = async (seconds: number) => {
      for (let passedS = 0; passedS < seconds; passedS++) {
        clock.advance(1_000);
        await new Promise(setImmediate);
      }
    };
    await pass(25);
    expect(written).toEqual([]);
    isWritable = true;
    await pass(10);
    expect(reservationsOf(harbour)).toMatchObject([{ lease: 'none', limitTenthsA: 320 }]);
    await pass(100);
    expect(written).toHaveLength(1);
  });
});
