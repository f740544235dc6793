// The energy of connectors, locations, clusters and the tenant by quarter-hour, day and month.
import type { ClusterId, LocationId, TenantUuid } from '../../../machines/values/ids.js';
import type { EpochMs } from '../../../machines/values/time.js';
import { findConnectorAsked, findLocation, findTenant } from '../../actors/core.js';
import type { Directory, Tenant } from '../../actors/directory.js';
import { EXTENSION, endpoint } from '../../inbound/http/endpoint.js';
import type { Cancel, Clock } from '../../ports/clock.js';
import type { Log } from '../../ports/log.js';
import type { Store } from '../../ports/store.js';
import { toDate, toInstant } from '../../wire/instants.js';
import { wrongParameter } from '../../wire/plain-errors.js';
import { askedPast, unknownCursor } from '../../wire/spans.js';
import { type EnergyQuery, energyListSchema, energyQuerySchema, type PeriodEnergy } from './contract.js';
import { type EnergyFilter, type EnergyOfGroup, readEnergyOfDays, readEnergyOfQuarters } from './rows.js';

const DAY_MS = 86_400_000;
const LONGEST_DAYS = 366;
/** Rows of days that one page reads at most, unless one period has more. */
const DAYS_AT_ONCE = 400_000;
/** The same for quarter-hours. */
const QUARTERS_AT_ONCE = 100_000;
const QUARTERS_OF_DAY = 96;

export const listEnergy = endpoint({
  operationId: 'listEnergy',
  method: 'get',
  path: '/v1/energy',
  ...EXTENSION,
  tag: 'locations',
  scope: 'locations:read',
  summary: 'Read the energy of connectors, locations, clusters or all by quarter-hour, day or month',
  querySchema: energyQuerySchema,
  responseSchema: energyListSchema,
  errors: ['LOCATION_NOT_FOUND', 'CHARGER_NOT_FOUND'],
  csv: {
    columns: [
      'period',
      'locationId',
      'controllerUuid',
      'connectorId',
      'clusterId',
      'energyKwh',
      'integratedKwh',
    ],
    rows: ({ energy }) => energy,
  },
  async handle({ directory, clock, read, written }, { tenantUuid, query }) {
    const { resolution, groupBy, limit } = query;
    const span = spanOf(query, clock.nowMs());
    const place = placeOf(query, span);
    const { filter, connectors } = targetOf(directory, tenantUuid, query);
    const endMs = Math.min(span.toMs, endOfPage(place.atMs, resolution, connectors));
    await written(tenantUuid);
    const wanted = { ...filter, count: place.skip + limit + 1 };
    const found = await read((trx) =>
      resolution === 'quarterHour'
        ? readEnergyOfQuarters(trx, tenantUuid, { startsAtMs: place.atMs, endsAtMs: endMs }, wanted)
        : readEnergyOfDays(
            trx,
            tenantUuid,
            resolution,
            { fromDay: toDate(place.atMs), toDay: toDate(endMs) },
            wanted,
          ),
    );
    const end = place.skip + limit;
    return {
      from: query.resolution === 'quarterHour' ? toInstant(span.fromMs) : toDate(span.fromMs),
      to: query.resolution === 'quarterHour' ? toInstant(span.toMs) : toDate(span.toMs),
      resolution,
      groupBy,
      energy: found.slice(place.skip, end).map(viewOfEnergy),
      nextCursor:
        found.length > end
          ? cursorAfter(found.slice(0, end), place.atMs)
          : endMs < span.toMs
            ? `${endMs}-0`
            : null,
    };
  },
});

function viewOfEnergy({ period, wh, integratedWh, ...group }: EnergyOfGroup): PeriodEnergy {
  return {
    period: typeof period === 'number' ? toInstant(period) : period,
    locationId: group.locationId,
    controllerUuid: group.controllerUuid,
    connectorId: group.connectorId,
    clusterId: group.clusterId,
    energyKwh: Math.round(wh) / 1000,
    integratedKwh: Math.round(integratedWh) / 1000,
  };
}

/** Of dates, as if their days began at midnight UTC. */
interface Span {
  readonly fromMs: EpochMs;
  readonly toMs: EpochMs;
}

/** @throws DomainError INVALID_REQUEST_BODY naming `from` or `to` */
function spanOf({ from, to, resolution }: EnergyQuery, now: EpochMs): Span {
  const isInstants = resolution === 'quarterHour';
  for (const [name, edge] of Object.entries({ from, to })) {
    if (edge === undefined || edge.includes(':') === isInstants) continue;
    const rule = isInstants
      ? 'must be an instant such as 2026-06-01T00:00:00Z with resolution=quarterHour'
      : `must be a date such as 2026-06-01 with resolution=${resolution}`;
    throw wrongParameter(name, rule);
  }
  if (isInstants) {
    const { startsAtMs: fromMs, endsAtMs: toMs } = askedPast({ from, to }, now, LONGEST_DAYS);
    return { fromMs, toMs };
  }
  // The day after tomorrow in UTC ends the present day in each zone.
  const toMs = to === undefined ? Math.floor(now / DAY_MS + 2) * DAY_MS : Date.parse(to);
  const defaultMs = toMs - (resolution === 'month' ? LONGEST_DAYS : 31) * DAY_MS;
  const fromMs = from === undefined ? defaultMs : Date.parse(from);
  // The bounds are those of other spans.
  askedPast({ from: toInstant(fromMs), to: toInstant(toMs) }, now, LONGEST_DAYS);
  return { fromMs, toMs };
}

/** The filter, and the number of connectors that it has about. */
function targetOf(
  directory: Directory,
  tenantUuid: TenantUuid,
  query: EnergyQuery,
): { readonly filter: Omit<EnergyFilter, 'count'>; readonly connectors: number } {
  const tenant = findTenant(directory, tenantUuid);
  const { groupBy: group, locationId: text, resolution } = query;
  const connector = findConnectorAsked(directory, tenantUuid, query);
  const location = text === undefined ? connector?.location : findLocation(directory, tenantUuid, text);
  if (resolution === 'quarterHour' && group === 'connector' && location === undefined)
    throw wrongParameter(
      'locationId',
      'is missing; name a location for the quarter-hours of its connectors, or another groupBy',
    );
  const connectors = connector === undefined ? (location ?? tenant).connectors.size : 1;
  return {
    filter: {
      group,
      locationId: location?.record.locationId,
      connector: connector?.record,
      members: group === 'cluster' ? membersOf(tenant) : [],
    },
    connectors: Math.max(1, connectors),
  };
}

function membersOf({ clusters }: Tenant): readonly (readonly [ClusterId, LocationId])[] {
  return [...clusters.values()].flatMap(({ record: { clusterId, locationIds } }) =>
    locationIds.map((locationId) => [clusterId, locationId] as const),
  );
}

/** A page reads few periods of a large tenant. The cursor leads on. */
function endOfPage(fromMs: EpochMs, resolution: EnergyQuery['resolution'], connectors: number): EpochMs {
  if (resolution === 'quarterHour')
    return fromMs + Math.ceil(QUARTERS_AT_ONCE / QUARTERS_OF_DAY / connectors) * DAY_MS;
  const days = Math.max(1, Math.floor(DAYS_AT_ONCE / connectors));
  if (resolution === 'day') return fromMs + days * DAY_MS;
  const from = new Date(fromMs);
  return Date.UTC(from.getUTCFullYear(), from.getUTCMonth() + Math.max(1, Math.floor(days / 31)), 1);
}

const PLACE = /^(\d{1,15})-(\d{1,9})$/;

/** The place that a cursor names: `skip` rows from there on were already returned. */
function placeOf(
  { cursor }: EnergyQuery,
  { fromMs, toMs }: Span,
): { readonly atMs: EpochMs; readonly skip: number } {
  if (cursor === undefined) return { atMs: fromMs, skip: 0 };
  const [, atMs, skip] = PLACE.exec(cursor) ?? [];
  if (Number(atMs) >= fromMs && Number(atMs) < toMs) return { atMs: Number(atMs), skip: Number(skip) };
  throw unknownCursor();
}

/** The last returned period again, without its returned rows. */
function cursorAfter(returned: readonly EnergyOfGroup[], fromMs: EpochMs): string {
  const { period } = returned[returned.length - 1] ?? {};
  const same = returned.filter((row) => row.period === period).length;
  const startsAtMs = typeof period === 'string' ? Date.parse(period) : (period ?? fromMs);
  return `${Math.max(fromMs, startsAtMs)}-${same}`;
}

const FORGET_EVERY_MS = 3_600_000;

interface RetentionOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly store: Pick<Store, 'forgetEnergyBefore'>;
  readonly retentionDays: number;
}

/** Deletes days that are older than the operator wants them. */
export class EnergyRetention {
  readonly #options: RetentionOptions;
  #cancel: Cancel = () => {};

  constructor(options: RetentionOptions) {
    this.#options = options;
  }

  start(): void {
    const { clock, log, store, retentionDays } = this.#options;
    const day = toDate(Math.max(0, clock.nowMs() - retentionDays * DAY_MS));
    store.forgetEnergyBefore(day).catch((error: unknown) => {
      log.warn({ err: error }, 'old days of energy could not be removed; trying again in an hour');
    });
    this.#cancel = clock.after(FORGET_EVERY_MS, () => this.start());
  }

  stop(): void {
    this.#cancel();
  }
}
