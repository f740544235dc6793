// The plan of a location until its last declared departure, the forecast for each car, and the alarm of a late one.

import { limitsInForce } from '../../../machines/limits/limit-in-force.js';
import { compositeTimeline } from '../../../machines/limits/profile-stack.js';
import { isMissed } from '../../../machines/policy/session-needs.js';
import { isControlled } from '../../../machines/power/connector.js';
import {
  type DeparturePlan,
  PLANNED_AT_MOST_MS,
  type PlannedCar,
  planDepartures,
  siteAhead,
} from '../../../machines/power/departure-plan.js';
import { kwText } from '../../../machines/values/figures.js';
import { type Core, findLocation } from '../../actors/core.js';
import {
  type ConnectorEntity,
  connectorStackOf,
  type Directory,
  type LocationEntity,
  supervisorOf,
} from '../../actors/directory.js';
import { clusterScales, sourcesAhead } from '../../actors/look-ahead.js';
import type { OpenAlarms } from '../../enforcement/open-alarms.js';
import { EXTENSION, endpoint } from '../../inbound/http/endpoint.js';
import type { Cancel, Clock } from '../../ports/clock.js';
import type { Log } from '../../ports/log.js';
import { toInstant } from '../../wire/instants.js';
import { type DepartureForecast, type DeparturePlanView, departurePlanSchema } from './contract.js';

export const getLocationPlan = endpoint({
  operationId: 'getLocationPlan',
  method: 'get',
  path: '/v1/locations/{locationId}/plan',
  ...EXTENSION,
  scope: 'locations:read',
  summary: 'Read the predicted power of a location until its last declared departure',
  responseSchema: departurePlanSchema,
  errors: ['LOCATION_NOT_FOUND'],
  async handle(core, { tenantUuid, path }) {
    const location = findLocation(core.directory, tenantUuid, path.locationId);
    core.expireReadings(location);
    return viewOfPlan(location, await planOf(core.clock, location));
  },
});

function viewOfPlan(location: LocationEntity, plan: DeparturePlan): DeparturePlanView {
  const declared = new Set(plan.cars.map(({ key }) => key));
  return {
    locationId: location.record.locationId,
    policy: location.record.policy,
    at: toInstant(plan.madeAtMs),
    steps: plan.steps.map(({ startsAtMs, endsAtMs, limitKw, drawnW }) => {
      let otherW = 0;
      for (const [key, eachW] of drawnW) if (!declared.has(key)) otherW += eachW;
      return {
        startTime: toInstant(startsAtMs),
        endTime: toInstant(endsAtMs),
        limitKw,
        otherKw: otherW / 1000,
      };
    }),
    departures: carsOf(location, plan).map(({ connector, car }) => ({
      ...viewOfForecast(connector, car),
      powerKw: plan.steps.map(({ drawnW }) => (drawnW.get(car.key) ?? 0) / 1000),
    })),
  };
}

/** The earliest departure first. */
function carsOf({ connectors }: LocationEntity, { cars }: DeparturePlan) {
  return cars
    .flatMap((car) => {
      const connector = connectors.get(car.key);
      return connector === undefined ? [] : [{ connector, car }];
    })
    .sort((a, b) => a.car.departsAtMs - b.car.departsAtMs || (a.car.key < b.car.key ? -1 : 1));
}

/** As of the last plan, which is at most a minute old. */
export function viewOfDepartures(location: LocationEntity): DepartureForecast[] {
  const plan = PLANS.get(location)?.plan;
  if (plan === undefined) return [];
  return carsOf(location, plan).map(({ connector, car }) => viewOfForecast(connector, car));
}

/** Null for a car without a future departure and a need. */
export async function forecastOf(
  { clock }: Pick<Core, 'clock'>,
  connector: ConnectorEntity,
): Promise<Omit<DepartureForecast, 'controllerUuid' | 'connectorId'> | null> {
  const { cars } = await planOf(clock, connector.location);
  const car = cars.find(({ key }) => key === connector.control.key);
  if (car === undefined) return null;
  const { controllerUuid: _, connectorId: __, ...forecast } = viewOfForecast(connector, car);
  return forecast;
}

function viewOfForecast({ record }: ConnectorEntity, car: PlannedCar): DepartureForecast {
  return {
    controllerUuid: record.controllerUuid,
    connectorId: record.connectorId,
    departureTime: toInstant(car.departsAtMs),
    energyNeedKwh: car.energyWh / 1000,
    deliveredKwh: Math.round(car.deliveredWh) / 1000,
    readyAt: car.readyAtMs === undefined ? null : toInstant(car.readyAtMs),
    missingKwh: Math.round(car.missingWh / 100) / 10,
    isAtRisk: isMissed(car.missingWh, car.energyWh),
    explanation: explanationOf(car),
  };
}

const MS_PER_H = 3_600_000;
const QUARTER_MS = 15 * 60_000;

function explanationOf(car: PlannedCar): string {
  const { energyWh, readyAtMs, missingWh, departsAtMs } = car;
  const need = `${round(energyWh, 100)} kWh`;
  if (readyAtMs !== undefined) return `The car has its ${need} at ${toInstant(readyAtMs)}.`;
  if (missingWh === 0) return `The car leaves at ${toInstant(departsAtMs)}, later than the plan reaches.`;
  const late = `The car will miss ${round(missingWh, missingWh < 2_000 ? 100 : 1_000)} of ${need} at its departure, ${toInstant(departsAtMs)}.`;
  return `${late} ${wayOutOf(car)}`;
}

/** Rounded, so that the alarm does not change with each reading. */
function wayOutOf({
  departsAtMs,
  energyWh,
  deliveredWh,
  missingWh,
  mostW,
  lastW,
  leftMs,
}: PlannedCar): string {
  const readyFrom = (powerW: number) =>
    toInstant(Math.ceil((departsAtMs + (missingWh / powerW) * MS_PER_H) / QUARTER_MS) * QUARTER_MS);
  const mostKw = kwText(round(mostW, 100));
  if (energyWh - deliveredWh > (mostW * leftMs) / MS_PER_H)
    return mostW === 0
      ? 'It draws no power now.'
      : `It draws at most ${mostKw}, so no limit helps: with all of that it needs to stay until ${readyFrom(mostW)} at least.`;
  const moreKw = kwText(Math.ceil((missingWh / leftMs) * MS_PER_H * 0.01) / 10);
  const stay = lastW === 0 ? '' : `, or a stay until ${readyFrom(lastW)}`;
  return `A limit that is ${moreKw} higher until then helps, or a higher priority${stay}.`;
}

/** In thousandths of the unit, rounded to `step`. */
function round(thousandths: number, step: number): number {
  return (Math.round(thousandths / step) * step) / 1000;
}

interface Kept {
  readonly plan?: DeparturePlan;
  /** A plan that is being made; callers share it. */
  readonly making?: Promise<DeparturePlan>;
}

/** The newest plan of each location. */
const PLANS = new WeakMap<LocationEntity, Kept>();
/** A younger plan is not made again. */
const FRESH_FOR_MS = 5_000;
/** Cars that are planned in a step before other work has its turn. */
const CARS_AT_ONCE = 2_000;
const SEGMENTS_AT_MOST = 1_000;

/** A declaration changed, so the next reader needs a new plan. */
export function dropPlan(location: LocationEntity): void {
  PLANS.delete(location);
}

/** From the present state. Requests at the same time share one plan. */
function planOf(clock: Clock, location: LocationEntity): Promise<DeparturePlan> {
  const kept = PLANS.get(location);
  if (kept?.making !== undefined) return kept.making;
  const now = clock.nowMs();
  const { plan } = kept ?? {};
  if (plan !== undefined && Math.abs(now - plan.madeAtMs) < FRESH_FOR_MS) return Promise.resolve(plan);
  const making = makePlan(clock, location, () => new Promise((resolve) => setImmediate(resolve)));
  PLANS.set(location, { ...kept, making });
  const isNewest = () => PLANS.get(location)?.making === making;
  void making.then(
    (made) => isNewest() && PLANS.set(location, { plan: made }),
    () => isNewest() && PLANS.delete(location),
  );
  return making;
}

/** @param pause lets other work have its turn */
async function makePlan(
  clock: Clock,
  location: LocationEntity,
  pause: () => Promise<unknown>,
): Promise<DeparturePlan> {
  const now = clock.nowMs();
  const { policy } = location.actor.getSnapshot().context;
  const window = { startsAtMs: now, endsAtMs: now + PLANNED_AT_MOST_MS };
  const clusters = [...location.clusters].map((cluster) => clusterScales(cluster, window));
  const supervisor = supervisorOf(location);
  const site = siteAhead(supervisor.connectors.values(), supervisor.fuses, now, {
    limits: limitsInForce(sourcesAhead(location, clusters), [window], SEGMENTS_AT_MOST),
    policy,
    locksOf: (key) => compositeTimeline(connectorStackOf(location, key), undefined, window),
  });
  const stepsAtOnce = Math.max(1, Math.floor(CARS_AT_ONCE / Math.max(1, site.cars.length)));
  const planning = planDepartures(site);
  for (;;) {
    for (let nth = 0; nth < stepsAtOnce; nth++) {
      const step = planning.next();
      if (step.done === true) return step.value;
    }
    await pause();
  }
}

const PLAN_EVERY_MS = 60_000;

interface DepartureWatchOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly directory: Directory;
  readonly alarms: OpenAlarms;
}

/** Plans the locations with declared cars every minute, and begins and ends their alarms. */
export class DepartureWatch {
  readonly #options: DepartureWatchOptions;
  #cancel: Cancel = () => {};

  constructor(options: DepartureWatchOptions) {
    this.#options = options;
  }

  start(): void {
    this.#cancel = this.#options.clock.after(PLAN_EVERY_MS, () => {
      void this.#plan().catch((error: unknown) =>
        this.#options.log.error({ err: error }, 'a plan of departures failed; trying again in a minute'),
      );
      this.start();
    });
  }

  stop(): void {
    this.#cancel();
  }

  async #plan(): Promise<void> {
    const { clock, directory } = this.#options;
    for (const { locations } of directory.tenants.values())
      for (const location of locations.values()) {
        if (!isConcerned(location)) {
          dropPlan(location);
          continue;
        }
        // Pauses by the clock keep a simulated day the same in each run.
        const pause = () => new Promise<void>((resolve) => void clock.after(0, resolve));
        const plan = await makePlan(clock, location, pause);
        PLANS.set(location, { ...PLANS.get(location), plan });
        this.#follow(location, plan);
      }
  }

  #follow(location: LocationEntity, { cars }: DeparturePlan): void {
    const { alarms } = this.#options;
    const ofKey = new Map(cars.map((car) => [car.key, car]));
    for (const { record, control } of location.connectors.values()) {
      const car = ofKey.get(control.key);
      // A silent charger's car is not in the plan, and its alarm stays until more is known.
      if (car === undefined && !isControlled(control) && control.car.demand.hasCar) continue;
      const isAlready = alarms.reasonOf(location, 'DEPARTURE_AT_RISK', record) !== undefined;
      const reason =
        car !== undefined && isMissed(car.missingWh, car.energyWh, isAlready)
          ? explanationOf(car)
          : undefined;
      if (isAlready || reason !== undefined) alarms.set(location, 'DEPARTURE_AT_RISK', record, reason);
    }
  }
}

/** A car has declared something, or an alarm is open that may end. */
function isConcerned({ connectors, alarms }: LocationEntity): boolean {
  for (const { control } of connectors.values())
    if (Object.keys(control.needs.declared).length > 0) return true;
  return [...alarms.values()].some(({ kind }) => kind === 'DEPARTURE_AT_RISK');
}
