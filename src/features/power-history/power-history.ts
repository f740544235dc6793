// The draw of locations and their limits: stored by the minute, for as long as the operator wants it, and read in steps.
import { GRID_PHASES } from '../../../machines/power/fuses.js';
import type { EndedBuilding, EndedCurrents } from '../../../machines/power/power-minute.js';
import type { EpochMs } from '../../../machines/values/time.js';
import { findLocation } from '../../actors/core.js';
import type { ConnectorEntity, Directory, LocationEntity } from '../../actors/directory.js';
import type { BatchedWrites } from '../../enforcement/batched-writes.js';
import { EXTENSION, endpoint } from '../../inbound/http/endpoint.js';
import type { Cancel, Clock } from '../../ports/clock.js';
import type { Log } from '../../ports/log.js';
import type { Store } from '../../ports/store.js';
import { toDate, toInstant } from '../../wire/instants.js';
import { wrongParameter } from '../../wire/plain-errors.js';
import { askedPast } from '../../wire/spans.js';
import { type LocationPower, locationPowerSchema, powerQuerySchema } from './contract.js';
import { readPowerHistory } from './rows.js';

const LONGEST_DAYS = 366;
/** 31 days of minutes. */
const POINTS_AT_MOST = 31 * 24 * 60;

/** Currents are those of all chargers, or of the chargers below `feeder`. */
export const getLocationPower = endpoint({
  operationId: 'getLocationPower',
  method: 'get',
  path: '/v1/locations/{locationId}/power',
  ...EXTENSION,
  scope: 'locations:read',
  summary: 'Read the measured power of a location, with its limit in force',
  querySchema: powerQuerySchema,
  responseSchema: locationPowerSchema,
  errors: ['LOCATION_NOT_FOUND'],
  async handle({ directory, clock, read }, { tenantUuid, path, query }) {
    const stepMs = query.step * 1000;
    const { startsAtMs: fromMs, endsAtMs } = askedPast(query, clock.nowMs(), LONGEST_DAYS);
    // Steps count from midnight UTC if the step divides a day.
    const startsAtMs = Math.floor(fromMs / stepMs) * stepMs;
    if ((endsAtMs - startsAtMs) / stepMs > POINTS_AT_MOST + 1) {
      throw wrongParameter(
        'step',
        `gives more than ${POINTS_AT_MOST} points; ask for a longer step or a shorter span`,
      );
    }
    const { feeder } = query;
    const { locationId, feeders } = findLocation(directory, tenantUuid, path.locationId).record;
    const names = feeders.map(({ name }) => name);
    if (feeder !== undefined && !names.includes(feeder))
      throw wrongParameter(
        'feeder',
        names.length === 0
          ? 'this location has none; leave it out'
          : `must be one of this location: ${names.join(', ')}`,
      );
    const window = { startsAtMs, endsAtMs };
    const points = await read((trx) => readPowerHistory(trx, tenantUuid, locationId, window, stepMs, feeder));
    return {
      locationId,
      from: toInstant(startsAtMs),
      to: toInstant(endsAtMs),
      stepSeconds: query.step,
      feeder: feeder ?? null,
      points: points.map(({ atMs, meanW, maxW, estimatedW, limitW, meanLimitW, currents, building }) => ({
        at: toInstant(atMs),
        meanKw: meanW / 1000,
        maxKw: maxW / 1000,
        estimatedKw: estimatedW === null ? null : estimatedW / 1000,
        limitKw: limitW / 1000,
        meanLimitKw: meanLimitW / 1000,
        phases: currents === null ? [] : phasesOf(currents),
        building: building === null ? null : buildingOf(building),
      })),
    };
  },
});

function buildingOf({
  meanW,
  maxW,
  meanReserveW,
}: EndedBuilding): LocationPower['points'][number]['building'] {
  return { meanKw: meanW / 1000, maxKw: maxW / 1000, meanReserveKw: meanReserveW / 1000 };
}

/** The mean of a step's means is no whole tenth. */
function phasesOf({ meanTenthsA, maxTenthsA }: EndedCurrents): LocationPower['points'][number]['phases'] {
  return GRID_PHASES.map((phase, i) => ({
    phase,
    meanA: Math.round(meanTenthsA[i] ?? 0) / 10,
    maxA: (maxTenthsA[i] ?? 0) / 10,
  }));
}

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
const FORGET_EVERY_MS = 3_600_000;

interface PowerHistoryOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly directory: Directory;
  readonly bookkeeping: BatchedWrites;
  readonly store: Pick<Store, 'forgetPowerBefore' | 'forgetConnectorPowerBefore'>;
  readonly retentionDays: number;
  readonly connectorRetentionDays: number;
}

/**
 * Stores each minute at its end. It also stores the count of the billed window, so that a restart continues it.
 */
export class PowerHistory {
  readonly #options: PowerHistoryOptions;
  #cancelMinute: Cancel = () => {};
  #cancelForgetting: Cancel = () => {};
  #minuteAtMs: EpochMs = 0;

  constructor(options: PowerHistoryOptions) {
    this.#options = options;
  }

  start(): void {
    this.#waitForMinute();
    this.#forget();
  }

  /** Writes the present minute as far as it has come. */
  stop(): void {
    this.#cancelMinute();
    this.#cancelForgetting();
    this.#endMinutes({ isLast: true });
  }

  #waitForMinute(): void {
    const { clock } = this.#options;
    const now = clock.nowMs();
    this.#minuteAtMs = now - (now % MINUTE_MS);
    this.#cancelMinute = clock.after(this.#minuteAtMs + MINUTE_MS - now, () => {
      // A timer may come a little early. The rest of the minute is then a minute of its own, and replaces nothing.
      if (clock.nowMs() >= this.#minuteAtMs + MINUTE_MS) this.#endMinutes();
      this.#waitForMinute();
    });
  }

  #endMinutes({ isLast = false } = {}): void {
    const { clock, directory, bookkeeping } = this.#options;
    // A timer may be late: the minute ended at its instant by the clock. At a stop it ends now.
    const [nowMs, monotonicMs] = [clock.nowMs(), clock.monotonicMs()];
    const endedAtMs = monotonicMs - Math.max(0, nowMs - this.#minuteAtMs - MINUTE_MS);
    const nextEndsAtMs = monotonicMs + MINUTE_MS - (nowMs % MINUTE_MS);
    let nth = 0;
    for (const tenant of directory.tenants.values()) {
      for (const connector of tenant.connectors.values()) {
        connector.minutes.end(this.#minuteAtMs, monotonicMs);
        if (isLast || connector.minutes.isDue(nth++)) this.#writeMinutes(connector);
      }
      directory.catchUp(tenant.locations.values());
      for (const location of tenant.locations.values()) {
        const { minute: running, record } = location;
        this.#keepBilledWindow(location);
        const minute = running.end(this.#minuteAtMs, endedAtMs, nextEndsAtMs);
        if (minute === undefined) continue;
        const { locationId } = record;
        bookkeeping.write(tenant.tenantUuid, { kind: 'power.put', locationId, minute });
      }
    }
  }

  #writeMinutes({ location, record: { controllerUuid, connectorId }, minutes }: ConnectorEntity): void {
    const runs = minutes.take();
    if (runs.length === 0) return;
    const power = { controllerUuid, connectorId, runs };
    this.#options.bookkeeping.write(location.tenant.tenantUuid, { kind: 'connectorPower.put', power });
  }

  #keepBilledWindow({ tenant, record, actor }: LocationEntity): void {
    const { billedWindow } = actor.getSnapshot().context;
    if (billedWindow === undefined) return;
    this.#options.bookkeeping.write(tenant.tenantUuid, {
      kind: 'billedWindow.put',
      billedWindow: { locationId: record.locationId, ...billedWindow.soFar },
    });
  }

  #forget(): void {
    const { clock, log, store, retentionDays, connectorRetentionDays } = this.#options;
    const onError = (error: unknown) =>
      log.warn({ err: error }, 'old minutes of power could not be removed; trying again in an hour');
    const now = clock.nowMs();
    store.forgetPowerBefore(now - retentionDays * DAY_MS).catch(onError);
    const day = toDate(Math.max(0, now - connectorRetentionDays * DAY_MS));
    store.forgetConnectorPowerBefore(day).catch(onError);
    this.#cancelForgetting = clock.after(FORGET_EVERY_MS, () => this.#forget());
  }
}
