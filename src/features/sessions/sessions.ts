// Charging sessions: a record of each one that has ended, and the others over a restart of the service.

import { LIMIT_REASONS } from '../../../machines/ledger/grant.js';
import { isMissed, NEED_SOURCES } from '../../../machines/policy/session-needs.js';
import { isAnyDeclared, isRowOutdated, renewRow, takeEnded } from '../../../machines/power/declared-cars.js';
import type { QuarterEnergy } from '../../../machines/power/energy-count.js';
import { TimeZone } from '../../../machines/values/time-zone.js';
import { findConnectorAsked, findLocationId } from '../../actors/core.js';
import { type ConnectorEntity, type Directory, needsRecordOf } from '../../actors/directory.js';
import type { BatchedWrites } from '../../enforcement/batched-writes.js';
import { EXTENSION, endpoint } from '../../inbound/http/endpoint.js';
import type { Cancel, Clock } from '../../ports/clock.js';
import type { EnergyRecord, SessionRecord } from '../../ports/records.js';
import { preferencesOf } from '../../wire/charging-preferences.js';
import { toDate, toInstant } from '../../wire/instants.js';
import { newestFirst } from '../../wire/spans.js';
import { type EndedSessionView, sessionListSchema, sessionsQuerySchema } from './contract.js';
import { readSessions } from './rows.js';

export const listSessions = endpoint({
  operationId: 'listSessions',
  method: 'get',
  path: '/v1/sessions',
  ...EXTENSION,
  tag: 'locations',
  scope: 'locations:read',
  summary: 'List the charging sessions that ended in a span of time, newest first',
  querySchema: sessionsQuerySchema,
  responseSchema: sessionListSchema,
  errors: ['LOCATION_NOT_FOUND', 'CHARGER_NOT_FOUND'],
  csv: {
    columns: [
      ...['locationId', 'controllerUuid', 'connectorId', 'sessionId', 'idTag'],
      ...['startTime', 'endTime', 'energyKwh', 'energySource', 'chargingMinutes', 'limitedMinutes'],
      ...['limitedBy', 'peakKw', 'departureTime', 'energyNeedKwh', 'missingKwh', 'isKept'],
    ],
    rows: ({ sessions }) =>
      sessions.map(({ departure, limited, preferences: _, declaredBy: __, ...session }) => ({
        ...session,
        limitedMinutes: tenths(limited.reduce((sum, { minutes }) => sum + minutes, 0)),
        limitedBy: limited.map(({ reason }) => reason).join(' '),
        departureTime: departure?.departureTime ?? null,
        energyNeedKwh: departure?.energyNeedKwh ?? null,
        missingKwh: departure?.missingKwh ?? null,
        isKept: departure?.isKept ?? null,
      })),
  },
  async handle({ directory, clock, read, written }, { tenantUuid, query }) {
    const { span, rows, nextCursor } = await newestFirst(
      query,
      clock.nowMs(),
      async (window, count) => {
        const locationId = findLocationId(directory, tenantUuid, query.locationId);
        const connector = findConnectorAsked(directory, tenantUuid, query)?.record;
        await written(tenantUuid);
        return read((trx) => readSessions(trx, tenantUuid, { locationId, connector, window, count }));
      },
      ({ leftAtMs }) => leftAtMs,
    );
    return { ...span, sessions: rows.map(viewOfSession), nextCursor };
  },
});

export function viewOfSession(record: SessionRecord): EndedSessionView {
  const { need, deliveredWh, declared, times } = record;
  return {
    locationId: record.locationId,
    controllerUuid: record.controllerUuid,
    connectorId: record.connectorId,
    sessionId: record.session ?? null,
    idTag: record.idTag ?? null,
    startTime: toInstant(record.arrivedAtMs),
    endTime: toInstant(record.leftAtMs),
    energyKwh: Math.round(deliveredWh) / 1000,
    energySource: record.isIntegrated ? 'power' : 'register',
    chargingMinutes: times.chargingMs === undefined ? null : minutesOf(times.chargingMs),
    limited: LIMIT_REASONS.map((reason) => ({ reason, minutes: minutesOf(times.limitedMs[reason] ?? 0) }))
      .filter(({ minutes }) => minutes > 0)
      .sort((a, b) => b.minutes - a.minutes),
    peakKw: Math.round(record.peakW) / 1000,
    preferences: preferencesOf(need),
    declaredBy: NEED_SOURCES.filter((source) => declared[source] !== undefined),
    departure: departureOf(record),
  };
}

function minutesOf(ms: number): number {
  return tenths(ms / 60_000);
}

function tenths(minutes: number): number {
  return Math.round(10 * minutes) / 10;
}

function departureOf({ need, deliveredWh }: SessionRecord): EndedSessionView['departure'] {
  const { departsAtMs, energyWh } = need;
  if (departsAtMs === undefined || energyWh === undefined) return null;
  const missingWh = Math.max(0, energyWh - deliveredWh);
  return {
    departureTime: toInstant(departsAtMs),
    energyNeedKwh: energyWh / 1000,
    missingKwh: Math.round(missingWh) / 1000,
    isKept: !isMissed(missingWh, energyWh),
  };
}

const KEEP_EVERY_MS = 60_000;

/** Stores each session at its end, and the others every minute, so that a restart continues them. */
export class SessionBook {
  readonly #clock: Clock;
  readonly #directory: Directory;
  readonly #bookkeeping: Pick<BatchedWrites, 'write' | 'isWaiting'>;
  #cancel: Cancel = () => {};

  constructor(parts: {
    readonly clock: Clock;
    readonly directory: Directory;
    readonly bookkeeping: Pick<BatchedWrites, 'write' | 'isWaiting'>;
  }) {
    this.#clock = parts.clock;
    this.#directory = parts.directory;
    this.#bookkeeping = parts.bookkeeping;
  }

  start(): void {
    this.#cancel = this.#clock.after(KEEP_EVERY_MS, () => {
      this.#keep();
      this.start();
    });
  }

  stop(): void {
    this.#cancel();
    this.#keep({ isLast: true });
  }

  /** Stores the sessions that have ended at the connector. */
  record(connector: ConnectorEntity): void {
    const { location, control, record } = connector;
    const { controllerUuid, connectorId } = record;
    for (const { charged: _, ...ended } of takeEnded(control)) {
      const session = { ...ended, locationId: location.record.locationId, controllerUuid, connectorId };
      this.#bookkeeping.write(location.tenant.tenantUuid, { kind: 'session.put', session });
    }
    // A restart would end the session again.
    this.#keepRow(connector);
  }

  #keep({ isLast = false } = {}): void {
    // Connectors keep their energy while the database is away; a queue of it would have no bound.
    if (this.#bookkeeping.isWaiting && !isLast) return;
    const now = this.#clock.nowMs();
    for (const { connectors } of this.#directory.tenants.values())
      for (const connector of connectors.values()) {
        const { control } = connector;
        const isDue = isAnyDeclared(control.needs) || isRowOutdated(control, now);
        if (isDue || (isLast && control.telemetry.slot.receivedAtMs !== undefined)) this.#keepRow(connector);
      }
  }

  /** Energy and row share a commit: each quarter-hour is on disk, or in the row. */
  #keepRow(connector: ConnectorEntity): void {
    const quarters = renewRow(connector.control, this.#clock.nowMs());
    const needs = needsRecordOf(connector);
    const energy = energyRecordsOf(connector, quarters).map((each) => ({
      kind: 'energy.put' as const,
      energy: each,
    }));
    const row = { kind: 'needs.put', needs } as const;
    this.#bookkeeping.write(connector.location.tenant.tenantUuid, row, ...energy);
  }
}

/** The quarter-hours by the days in the zone of the location. */
function energyRecordsOf(
  { location, record: { controllerUuid, connectorId } }: ConnectorEntity,
  quarters: readonly QuarterEnergy[],
): readonly EnergyRecord[] {
  const { locationId, timeZone } = location.record;
  // Another release of Node may have stored the name.
  const zone = (timeZone === null ? undefined : TimeZone.named(timeZone)) ?? TimeZone.utc;
  const days = new Map<string, EnergyRecord & { readonly quarters: QuarterEnergy[] }>();
  for (const quarter of quarters) {
    const { startsAtMs, midnightMs } = zone.dayAt(quarter.startsAtMs);
    const day = toDate(midnightMs);
    const of = days.get(day) ?? { locationId, controllerUuid, connectorId, day, startsAtMs, quarters: [] };
    days.set(day, of);
    of.quarters.push(quarter);
  }
  return [...days.values()];
}
