// Reads recorded sessions from a CSV file with the columns of public data sets.
import type { EpochMs } from '../../machines/values/time.js';
import { quote } from '../../src/provisioning/quote.js';
import type { TimeZone } from '../scenario/moment.js';
import { type CsvFields, LineError, readCsv } from './csv-table.js';

/** One line of the file, at its original times. Energy in Wh; `maxKw` only if the file has this column. */
export interface RecordedSession {
  readonly line: number;
  readonly station: string;
  readonly sessionId: string;
  readonly arrivesAtMs: EpochMs;
  readonly leavesAtMs: EpochMs;
  readonly energyWh: number;
  readonly maxKw: number | undefined;
}

/** The energy column that a session uses. */
export type SessionEnergy = 'requested' | 'delivered';

/** `timeZone` applies to times without an offset. */
interface SessionFileReading {
  readonly energy: SessionEnergy;
  readonly timeZone?: TimeZone | undefined;
}

const COLUMNS = {
  arrival: ['arrival'],
  departure: ['departure'],
  station: ['stationId', 'station_id'],
  session: ['sessionId', 'session_id'],
  requested: ['requestedKwh', 'requested_energy (kWh)'],
  delivered: ['deliveredKwh', 'delivered_energy (kWh)'],
  maxKw: ['maxKw'],
} as const;
type Column = keyof typeof COLUMNS;

const LEAST_KWH = 0.001;
const MOST_KWH = 10_000;
const MOST_KW = 1000;

/**
 * The sessions of a file, in its order.
 * @throws UnusableFileError with up to twenty problems, each with its line and, if one column is wrong, with the
 * column.
 */
export function readSessionFile(
  path: string,
  { energy, timeZone }: SessionFileReading,
): readonly RecordedSession[] {
  const lineOfId = new Map<string, number>();
  return readCsv<Column, RecordedSession>(path, {
    columns: COLUMNS,
    needed: ['arrival', 'departure', 'station', 'session', energy],
    optional: ['maxKw'],
    timeZone,
    content: 'session',
    lineOf(fields, line) {
      const session = sessionOf(fields, line, energy);
      const { sessionId } = session;
      const first = lineOfId.get(sessionId);
      lineOfId.set(sessionId, line);
      if (first !== undefined) throw new LineError(`session ${quote(sessionId)} is that of line ${first}`);
      return session;
    },
  });
}

function sessionOf(fields: CsvFields<Column>, line: number, energy: SessionEnergy): RecordedSession {
  const arrivesAtMs = fields.instantAfter('arrival', Number.NEGATIVE_INFINITY, '');
  return {
    line,
    arrivesAtMs,
    leavesAtMs: fields.instantAfter('departure', arrivesAtMs, 'must be after the arrival'),
    station: fields.text('station'),
    sessionId: fields.text('session'),
    energyWh: Math.round(1000 * fields.number(energy, LEAST_KWH, MOST_KWH, 'kWh')),
    maxKw: fields.isGiven('maxKw') ? fields.number('maxKw', LEAST_KWH, MOST_KW, 'kW') : undefined,
  };
}
