// Charging sessions: a record of each one that has ended, and the others over a restart of the service.

import { isMissed, NEED_SOURCES } from '../../../machines/policy/session-needs.js';
import { isAnyDeclared, isRowOutdated, renewRow, takeEnded } from '../../../machines/power/declared-cars.js';
import { findLocationId } from '../../actors/core.js';
import { type ConnectorEntity, type Directory, needsRecordOf } from '../../actors/directory.js';
import type { BatchedWrites } from '../../enforcement/batched-writes.js';
import { EXTENSION, endpoint } from '../../inbound/http/endpoint.js';
import type { Cancel, Clock } from '../../ports/clock.js';
import type { SessionRecord } from '../../ports/records.js';
import { preferencesOf } from '../../wire/charging-preferences.js';
import { toInstant } from '../../wire/instants.js';
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
  errors: ['LOCATION_NOT_FOUND'],
  async handle({ directory, clock, read, written }, { tenantUuid, query }) {
    const { span, rows, nextCursor } = await newestFirst(
      query,
      clock.nowMs(),
      async (window, count) => {
        const locationId = findLocationId(directory, tenantUuid, query.locationId);
        await written(tenantUuid);
        return read((trx) => readSessions(trx, tenantUuid, { locationId, window, count }));
      },
      ({ leftAtMs }) => leftAtMs,
    );
    return { ...span, sessions: rows.map(viewOfSession), nextCursor };
  },
});

export function viewOfSession(record: SessionRecord): EndedSessionView {
  const { need, deliveredWh, declared } = record;
  return {
    locationId: record.locationId,
    controllerUuid: record.controllerUuid,
    connectorId: record.connectorId,
    sessionId: record.session ?? null,
    startTime: toInstant(record.arrivedAtMs),
    endTime: toInstant(record.leftAtMs),
    energyKwh: Math.round(deliveredWh) / 1000,
    energySource: record.isIntegrated ? 'power' : 'register',
    peakKw: Math.round(record.peakW) / 1000,
    preferences: preferencesOf(need),
    declaredBy: NEED_SOURCES.filter((source) => declared[source] !== undefined),
    departure: departureOf(record),
  };
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
  readonly #bookkeeping: Pick<BatchedWrites, 'write'>;
  #cancel: Cancel = () => {};

  constructor(parts: {
    readonly clock: Clock;
    readonly directory: Directory;
    readonly bookkeeping: Pick<BatchedWrites, 'write'>;
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
    this.#keep();
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

  #keep(): void {
    for (const { connectors } of this.#directory.tenants.values())
      for (const connector of connectors.values())
        if (isAnyDeclared(connector.control.needs) || isRowOutdated(connector.control))
          this.#keepRow(connector);
  }

  #keepRow(connector: ConnectorEntity): void {
    renewRow(connector.control);
    const needs = needsRecordOf(connector);
    this.#bookkeeping.write(connector.location.tenant.tenantUuid, { kind: 'needs.put', needs });
  }
}
