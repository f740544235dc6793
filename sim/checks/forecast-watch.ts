// Checks the forecasts for declared cars (P24): they agree with the limits in force, with the declarations that reached
// the service and with themselves; the alarm follows them; and without a disturbance they come true.

import { z } from 'zod';
import { instantSchema } from '../../src/wire/rest.js';
import type { CheckedWorld } from './checked-world.js';
import type { ConnectorBook, SiteBook } from './connector-book.js';
import { declaredBy, SETTLED_MS, type Stays, TOLERANCE_WH } from './stays.js';

const readForecastSchema = z.object({
  controllerUuid: z.string(),
  connectorId: z.string(),
  departureTime: instantSchema,
  energyNeedKwh: z.number(),
  deliveredKwh: z.number(),
  readyAt: instantSchema.nullable(),
  missingKwh: z.number(),
  isAtRisk: z.boolean(),
});
type ReadForecast = z.output<typeof readForecastSchema>;

const readPlanSchema = z.object({
  at: instantSchema,
  steps: z.array(
    z.object({
      startTime: instantSchema,
      endTime: instantSchema,
      limitKw: z.number(),
      otherKw: z.number(),
    }),
  ),
  departures: z.array(readForecastSchema.extend({ powerKw: z.array(z.number()) })),
});
type ReadPlan = z.output<typeof readPlanSchema>;
type ReadDeparture = ReadPlan['departures'][number];

const readLiveSchema = z.object({
  departures: z.array(readForecastSchema),
  alarms: z.array(
    z.object({
      kind: z.string(),
      controllerUuid: z.string().nullable(),
      connectorId: z.string().nullable(),
    }),
  ),
});

/** Longer than the interval of plans, so that each look reads a plan that no earlier look has caused. */
const LOOK_EVERY_MS = 290_000;
const PLANNED_EVERY_MS = 61_000;
/** A current counts at up to this much above nominal voltage (R11). */
const HIGHEST_VOLTAGE = 1.1;
/** Powers are rounded to W, one for each car. */
const TOLERANCE_KW = 0.02;
/** `missingKwh` has one decimal. */
const ROUNDING_KWH = 0.06;
/** A rest of 1 Wh is no need, and takes less than this at the lowest power. */
const REST_MS = 5_000;
/** An alarm begins at the first of these parts of a need, and ends below the second. */
const AT_RISK = { kwh: 0.5, share: 0.05 };
const NO_MORE_AT_RISK = { kwh: 0.25, share: 0.025 };
/** A promise comes true this much later at most: rounds of cars and raises of limits have steps. */
const LATE_MS = 600_000;
const LATE_SHARE = 0.1;
const MS_PER_H = 3_600_000;

/** A forecast without a disturbance since. */
interface Promised {
  /** Of all stays of the location. */
  readonly changes: number;
  readonly needWh: number;
  readonly dueAtMs: number;
}

type ForecastWatchWorld = Pick<
  CheckedWorld,
  'tenants' | 'sites' | 'books' | 'oracle' | 'nowMs' | 'monotonicMs' | 'at' | 'soon' | 'ask' | 'isServiceUp'
> &
  Pick<CheckedWorld, 'reached' | 'report'> & {
    /** Monotonic instant, ms, since which the service runs and can write. */
    readonly soundSinceMs: () => number;
    readonly stays: Stays;
  };

export class ForecastWatch {
  readonly #world: ForecastWatchWorld;
  /** Locations whose cars have ever declared something. */
  readonly #concerned = new Set<SiteBook>();
  /** By location, monotonic instant of the last call about the needs of a car. */
  readonly #declaredAtMs = new Map<string, number>();
  readonly #promised = new Map<ConnectorBook, Promised>();
  /** No fault has occurred yet. */
  #isCalm = true;

  constructor(world: ForecastWatchWorld) {
    this.#world = world;
    this.#repeat();
  }

  /** A fault affects the world. */
  troubled(): void {
    this.#isCalm = false;
    this.#promised.clear();
  }

  /** Some limit or need may have changed. */
  called(): void {
    this.#promised.clear();
  }

  /** A call about the needs of a car renews the plan of its location. */
  declared({ locationId }: SiteBook): void {
    this.#declaredAtMs.set(locationId, this.#world.monotonicMs());
  }

  /**
   * The service took a reading. A car that takes less than it may, as before it is full, needs longer than forecast, and
   * delays the ones after it.
   */
  received(book: ConnectorBook): void {
    if (this.#promised.size === 0) return;
    const standing = this.#world.stays.of(book);
    const { energyWh = 0 } = declaredBy(standing);
    if (standing.wants || standing.leastWh >= energyWh - TOLERANCE_WH) return;
    for (const other of book.site.connectors) this.#promised.delete(other);
  }

  #repeat(): void {
    this.#world.at(this.#world.nowMs() + LOOK_EVERY_MS, () => {
      this.#judgePromises();
      const { monotonicMs, soundSinceMs, isServiceUp, soon } = this.#world;
      const isSound = isServiceUp() && monotonicMs() - soundSinceMs() > SETTLED_MS;
      for (const site of this.#world.sites.values()) if (this.#hasDeclared(site)) this.#concerned.add(site);
      if (isSound) for (const site of this.#concerned) soon(() => this.#look(site));
      this.#repeat();
    });
  }

  #hasDeclared({ connectors }: SiteBook): boolean {
    return connectors.some((book) => this.#world.stays.of(book).declaredSinceMs !== undefined);
  }

  #violate(target: string, detail: string): void {
    this.#world.report({ invariant: 'P24', target, detail });
  }

  async #look(site: SiteBook): Promise<void> {
    const { locationId, tenantUuid } = site;
    const declaredAtMs = this.#declaredAtMs.get(locationId) ?? 0;
    const live = await this.#world.ask({ method: 'GET', path: `/locations/${locationId}/live` }, tenantUuid);
    if (live.status !== 200) return;
    // Only a plan of the service's own, a minute old at most, has led to alarms.
    if (this.#world.monotonicMs() - declaredAtMs > PLANNED_EVERY_MS)
      this.#judgeAlarms(readLiveSchema.parse(live.body), site);
    const answer = await this.#world.ask(
      { method: 'GET', path: `/locations/${locationId}/plan` },
      tenantUuid,
    );
    if (answer.status !== 200) return;
    const plan = readPlanSchema.parse(answer.body);
    this.#world.reached.note('forecastJudged');
    const isNew = Date.parse(plan.at) === this.#world.nowMs();
    this.#judgeSteps(plan, site, isNew);
    for (const departure of plan.departures) {
      this.#judgeItself(departure, plan);
      if (isNew) this.#judgeFacts(departure);
    }
    if (isNew) this.#judgeCars(plan, site);
    if (isNew && this.#isCalm) this.#promise(plan, site);
  }

  #judgeAlarms({ departures, alarms }: z.output<typeof readLiveSchema>, { connectors }: SiteBook): void {
    for (const book of connectors) {
      if (!this.#world.stays.isSure(book)) continue;
      const { key } = book.facts;
      const isOpen = alarms.some((alarm) => alarm.kind === 'DEPARTURE_AT_RISK' && keyOf(alarm) === key);
      const forecast = departures.find((departure) => keyOf(departure) === key);
      if (forecast?.isAtRisk === true && !isOpen)
        this.#violate(key, `no alarm is open, and ${forecast.missingKwh} kWh will be missing`);
      const isOver =
        forecast === undefined || forecast.missingKwh < mostOf(NO_MORE_AT_RISK, forecast) - ROUNDING_KWH;
      if (isOver && isOpen)
        this.#violate(key, `an alarm is open, and ${forecast?.missingKwh ?? 0} kWh will be missing`);
    }
  }

  /** Steps have no gaps. Their limits are those in force, and bind all power that can be lowered. */
  #judgeSteps({ at, steps, departures }: ReadPlan, site: SiteBook, isNew: boolean): void {
    const { locationId, connectors } = site;
    const { oracle } = this.#world;
    let endTime = at;
    for (const [nth, step] of steps.entries()) {
      const [fromMs, toMs] = [Date.parse(step.startTime), Date.parse(step.endTime)];
      if (step.startTime !== endTime || toMs <= fromMs)
        this.#violate(
          locationId,
          `a step of the plan begins at ${step.startTime}, after one until ${endTime}`,
        );
      endTime = step.endTime;
      const mostKw = oracle.lowestW(locationId, fromMs, toMs - 1) / 1000;
      if (isNew && step.limitKw > mostKw + TOLERANCE_KW)
        this.#violate(
          locationId,
          `the plan takes ${step.limitKw} kW at ${step.startTime}, limited to ${mostKw} kW`,
        );
      const sumKw = departures.reduce((sum, { powerKw }) => sum + (powerKw[nth] ?? 0), step.otherKw);
      const declared = new Set(departures.map(keyOf));
      const othersKw = connectors.reduce(
        (sum, book) => sum + (declared.has(book.facts.key) ? 0 : floorKwOf(book)),
        0,
      );
      // Minimums of locks and fail-safes count even above the limit (R17, R22).
      const isLeast =
        step.otherKw <= othersKw + TOLERANCE_KW &&
        departures.every(
          (departure) => (departure.powerKw[nth] ?? 0) <= this.#floorKw(departure) + TOLERANCE_KW,
        );
      if (sumKw > step.limitKw + TOLERANCE_KW && !isLeast)
        this.#violate(locationId, `the plan has ${sumKw} kW of ${step.limitKw} kW at ${step.startTime}`);
    }
  }

  #floorKw({ controllerUuid, connectorId }: ReadForecast): number {
    const book = this.#world.books.byId(controllerUuid, connectorId);
    return book === undefined ? 0 : floorKwOf(book);
  }

  /** The planned power of a car adds up to its forecast. */
  #judgeItself(departure: ReadDeparture, { at, steps }: ReadPlan): void {
    const { energyNeedKwh, readyAt, missingKwh, isAtRisk, departureTime, deliveredKwh, powerKw } = departure;
    const key = keyOf(departure);
    const departsAtMs = Date.parse(departureTime);
    const endsAtMs = readyAt === null ? departsAtMs : Date.parse(readyAt);
    let sumKwh = deliveredKwh;
    for (const [nth, { startTime, endTime }] of steps.entries()) {
      const [fromMs, toMs] = [Date.parse(startTime), Date.parse(endTime)];
      const eachKw = powerKw[nth] ?? 0;
      sumKwh += (eachKw * Math.max(0, Math.min(toMs, endsAtMs) - fromMs)) / MS_PER_H;
      if (eachKw > 0 && fromMs >= endsAtMs)
        this.#violate(
          key,
          `the plan has ${eachKw} kW at ${startTime}, after ${new Date(endsAtMs).toISOString()}`,
        );
    }
    const toleranceKwh = ROUNDING_KWH + 0.001 * steps.length;
    const leftKwh = energyNeedKwh - sumKwh;
    if (endsAtMs < Date.parse(at) || endsAtMs > departsAtMs + REST_MS)
      this.#violate(key, `it is ready at ${readyAt}, and leaves at ${departureTime}`);
    const isPlannedToEnd = readyAt !== null || departsAtMs <= Date.parse(steps.at(-1)?.endTime ?? at);
    const isSum =
      readyAt === null ? Math.abs(Math.max(0, leftKwh) - missingKwh) <= toleranceKwh : missingKwh === 0;
    const isReady = readyAt === null || leftKwh <= toleranceKwh;
    if (isPlannedToEnd && (!isSum || !isReady))
      this.#violate(
        key,
        `${missingKwh} kWh will be missing, ready at ${readyAt}, by steps with ${sumKwh.toFixed(2)} of ${energyNeedKwh} kWh`,
      );
    const riskKwh = mostOf(AT_RISK, departure);
    if (Math.abs(missingKwh - riskKwh) > ROUNDING_KWH && isAtRisk !== missingKwh > riskKwh)
      this.#violate(key, `${missingKwh} kWh of ${energyNeedKwh} kWh will be missing, at risk: ${isAtRisk}`);
  }

  /** A forecast contains the departure, the need and the energy that reached the service. */
  #judgeFacts(departure: ReadForecast): void {
    const { controllerUuid, connectorId, departureTime, energyNeedKwh, deliveredKwh } = departure;
    const { stays, books } = this.#world;
    const book = books.byId(controllerUuid, connectorId);
    if (book === undefined || !stays.isSure(book) || !stays.isDeclared(book)) return;
    const standing = stays.of(book);
    const { departsAtMs, energyWh = 0 } = declaredBy(standing);
    const deliveredWh = 1000 * deliveredKwh;
    const isCounted =
      deliveredWh >= standing.leastWh - TOLERANCE_WH && deliveredWh <= standing.mostWh + TOLERANCE_WH;
    const isDeclared =
      Date.parse(departureTime) === departsAtMs && Math.abs(1000 * energyNeedKwh - energyWh) < 1;
    if (isDeclared && isCounted) return;
    const declared = `${energyWh} Wh until ${departsAtMs}, ${standing.leastWh} to ${standing.mostWh} Wh of them`;
    this.#violate(book.facts.key, `${JSON.stringify(departure)} was read, by declaration ${declared}`);
  }

  /** Each car that has declared itself has a forecast. */
  #judgeCars({ departures }: ReadPlan, { connectors }: SiteBook): void {
    const { stays } = this.#world;
    for (const book of connectors)
      if (
        stays.isSure(book) &&
        stays.isDeclared(book) &&
        !departures.some((each) => keyOf(each) === book.facts.key)
      )
        this.#violate(book.facts.key, 'its car has declared a departure and a need, and has no forecast');
  }

  /**
   * Clusters, buildings and grid operators may change the limit at any moment, and the turns of waiting cars are longer
   * than the steps of a plan.
   */
  #promise({ steps, departures }: ReadPlan, site: SiteBook): void {
    const { stays, oracle, books, nowMs, monotonicMs } = this.#world;
    if (site.isLimitedFromOutside || [...oracle.capsOf(site.locationId)].length > 0) return;
    const leastKw = site.connectors.reduce(
      (sum, book) => sum + (stays.of(book).hasCar ? floorKwOf(book) : 0),
      0,
    );
    if (steps.some(({ limitKw }) => limitKw < leastKw)) return;
    for (const { controllerUuid, connectorId, readyAt, energyNeedKwh } of departures) {
      const book = books.byId(controllerUuid, connectorId);
      if (readyAt === null || book === undefined || this.#promised.has(book) || !stays.isSure(book)) continue;
      const leftMs = Date.parse(readyAt) - nowMs();
      if (leftMs <= 0) continue;
      this.#promised.set(book, {
        changes: this.#changesAt(site),
        needWh: 1000 * energyNeedKwh,
        dueAtMs: monotonicMs() + leftMs + Math.max(LATE_MS, LATE_SHARE * leftMs),
      });
    }
  }

  #changesAt({ connectors }: SiteBook): number {
    return connectors.reduce((sum, book) => sum + this.#world.stays.of(book).changes, 0);
  }

  #judgePromises(): void {
    const { stays, monotonicMs } = this.#world;
    for (const [book, { changes, needWh, dueAtMs }] of this.#promised) {
      if (monotonicMs() < dueAtMs) continue;
      this.#promised.delete(book);
      const { mostWh } = stays.of(book);
      if (this.#changesAt(book.site) !== changes || !stays.isSure(book)) continue;
      if (mostWh < needWh - TOLERANCE_WH)
        this.#violate(book.facts.key, `it has ${mostWh} Wh of ${needWh} Wh later than its forecast`);
    }
  }
}

function keyOf({
  controllerUuid,
  connectorId,
}: {
  controllerUuid: string | null;
  connectorId: string | null;
}) {
  return `${controllerUuid}/${connectorId}`;
}

function mostOf({ kwh, share }: typeof AT_RISK, { energyNeedKwh }: ReadForecast): number {
  return Math.max(kwh, share * energyNeedKwh);
}

/** Power that no limit of the location lowers. */
function floorKwOf({ facts: { leastA, failsafeA, wattsPerA } }: ConnectorBook): number {
  return (HIGHEST_VOLTAGE * Math.max(leastA, failsafeA) * wattsPerA) / 1000;
}
