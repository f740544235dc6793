// The past draw of a location, and its limit at the time.
import { GRID_PHASES } from '../../../machines/power/fuses.js';
import type { EndedBuilding, EndedCurrents } from '../../../machines/power/power-minute.js';
import { findLocation } from '../../actors/core.js';
import { EXTENSION, endpoint } from '../../inbound/http/endpoint.js';
import { toInstant } from '../../wire/instants.js';
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
  async handle({ directory, clock, read }, { tenantUuid, path, query }): Promise<LocationPower> {
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
