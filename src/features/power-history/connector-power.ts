// The power of one connector with its limit, read in steps and page by page.
import { MINUTE_MS, type MinuteRun } from '../../../machines/power/connector-minutes.js';
import type { EpochMs, TimeWindow } from '../../../machines/values/time.js';
import { findConnector } from '../../actors/core.js';
import { EXTENSION, endpoint } from '../../inbound/http/endpoint.js';
import { toInstant } from '../../wire/instants.js';
import { askedPast, unknownCursor } from '../../wire/spans.js';
import { readConnectorPower } from './connector-rows.js';
import { type ConnectorPowerPoint, connectorPowerQuerySchema, connectorPowerSchema } from './contract.js';
import { DAY_MS } from './packed-minutes.js';

const LONGEST_DAYS = 366;
/** Rows that one statement reads; between two statements other work runs. */
const DAYS_AT_ONCE = 8;

export const getConnectorPower = endpoint({
  operationId: 'getConnectorPower',
  method: 'get',
  path: '/v1/chargers/{controllerUuid}/connectors/{connectorId}/power',
  ...EXTENSION,
  scope: 'locations:read',
  summary: 'Read the measured power of a connector, with its limit',
  querySchema: connectorPowerQuerySchema,
  responseSchema: connectorPowerSchema,
  errors: ['CHARGER_NOT_FOUND'],
  csv: { columns: ['at', 'meanKw', 'maxKw', 'limitKw'], rows: ({ points }) => points },
  async handle({ directory, clock, read, written }, { tenantUuid, path, query }) {
    const stepMs = query.step * 1000;
    const { startsAtMs: fromMs, endsAtMs } = askedPast(query, clock.nowMs(), LONGEST_DAYS);
    // Steps count from midnight UTC if the step divides a day.
    const startsAtMs = Math.floor(fromMs / stepMs) * stepMs;
    const pageMs = placeOf(query.cursor, { startsAtMs, endsAtMs }, stepMs);
    const { record, location, minutes } = findConnector(directory, tenantUuid, path);
    const { controllerUuid, connectorId } = record;
    // Taken first: minutes that are written meanwhile may come twice, but are never left out.
    const unwritten = minutes.unwritten;
    await written(tenantUuid);
    const steps = new Steps({ startsAtMs: pageMs, endsAtMs }, stepMs);
    for (let dayMs = floorOfDay(pageMs); dayMs < endsAtMs; ) {
      const days: EpochMs[] = [];
      for (; days.length < DAYS_AT_ONCE && dayMs < endsAtMs; dayMs += DAY_MS) days.push(dayMs);
      const stored = await read((trx) => readConnectorPower(trx, tenantUuid, record, days));
      for (const each of days) steps.addDay(each, stored, unwritten);
      // A further step has begun, so all steps of the page are complete.
      if (steps.count > query.limit) break;
    }
    const found = steps.first(query.limit + 1);
    const next = found[query.limit];
    return {
      controllerUuid,
      connectorId,
      locationId: location.record.locationId,
      from: toInstant(startsAtMs),
      to: toInstant(endsAtMs),
      stepSeconds: query.step,
      points: found.slice(0, query.limit).map(viewOfStep),
      nextCursor: next === undefined ? null : String(next.atMs),
    };
  },
});

interface Step {
  readonly atMs: EpochMs;
  minutes: number;
  sumDaW: number;
  mostDaW: number;
  limited: number;
  limitSumDaW: number;
}

function viewOfStep({ atMs, minutes, sumDaW, mostDaW, limited, limitSumDaW }: Step): ConnectorPowerPoint {
  return {
    at: toInstant(atMs),
    meanKw: kwOf(sumDaW / minutes),
    maxKw: kwOf(mostDaW),
    limitKw: limited === 0 ? null : kwOf(limitSumDaW / limited),
  };
}

function kwOf(daW: number): number {
  return Math.round(daW) / 100;
}

/** The minutes that begin inside a window, folded into steps from its start. Days come in order. */
class Steps {
  readonly #window: TimeWindow;
  readonly #stepMs: number;
  readonly #steps = new Map<EpochMs, Step>();

  constructor(window: TimeWindow, stepMs: number) {
    this.#window = window;
    this.#stepMs = stepMs;
  }

  get count(): number {
    return this.#steps.size;
  }

  first(count: number): readonly Step[] {
    return [...this.#steps.values()].slice(0, count);
  }

  addDay(dayMs: EpochMs, ...written: readonly (readonly MinuteRun[])[]): void {
    const { startsAtMs, endsAtMs } = this.#window;
    const minutes: (MinuteRun | undefined)[] = new Array(DAY_MS / MINUTE_MS).fill(undefined);
    for (const run of written.flat()) {
      const first = (run.atMs - dayMs) / MINUTE_MS;
      const end = Math.min(first + run.minutes, minutes.length);
      for (let minute = Math.max(0, first); minute < end; minute++) minutes[minute] = run;
    }
    for (const [minute, run] of minutes.entries()) {
      const atMs = dayMs + minute * MINUTE_MS;
      if (run !== undefined && atMs >= startsAtMs && atMs < endsAtMs) this.#add(atMs, run);
    }
  }

  #add(minuteMs: EpochMs, { meanDaW, limitDaW }: MinuteRun): void {
    const { startsAtMs } = this.#window;
    const atMs = startsAtMs + Math.floor((minuteMs - startsAtMs) / this.#stepMs) * this.#stepMs;
    const step = this.#steps.get(atMs) ?? {
      atMs,
      minutes: 0,
      sumDaW: 0,
      mostDaW: meanDaW,
      limited: 0,
      limitSumDaW: 0,
    };
    this.#steps.set(atMs, step);
    step.minutes++;
    step.sumDaW += meanDaW;
    step.mostDaW = Math.max(step.mostDaW, meanDaW);
    if (limitDaW === undefined) return;
    step.limited++;
    step.limitSumDaW += limitDaW;
  }
}

function floorOfDay(atMs: EpochMs): EpochMs {
  return Math.floor(atMs / DAY_MS) * DAY_MS;
}

/** The begin of the first step of the page. */
function placeOf(cursor: string | undefined, { startsAtMs, endsAtMs }: TimeWindow, stepMs: number): EpochMs {
  if (cursor === undefined) return startsAtMs;
  const atMs = /^\d{1,15}$/.test(cursor) ? Number(cursor) : Number.NaN;
  if (!(atMs >= startsAtMs && atMs < endsAtMs) || (atMs - startsAtMs) % stepMs !== 0) throw unknownCursor();
  return atMs;
}
