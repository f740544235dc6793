// Error of forecasts an hour ahead: the predicted time at which a car has its need, against the time at which it has it.
import { z } from 'zod';
import { rehearse } from '../../sim/run/rehearse.js';
import { departurePlanSchema } from '../../src/features/departures/contract.js';
import { median } from './bench.js';
import { type EnergyCase, energyScenario } from './energy-scenario.js';

const READ_EVERY_MS = 5 * 60_000;
/** Forecasts of a car that is to have its need in so many minutes count as an hour ahead. */
const AHEAD_MS = [50 * 60_000, 70 * 60_000] as const;
/** A car that has all but this has its need. */
const REST_KWH = 0.05;

interface Forecast {
  readonly car: string;
  readonly readyAtMs: number;
}

export interface ForecastErrors {
  readonly forecasts: number;
  /** Forecasts of cars that did get their need. */
  readonly met: number;
  /** Of these, minutes in either direction. */
  readonly medianMin: number;
}

/**
 * Reads the plan of the site every five minutes, under the default settings of the service. A car has its need between two readings at a constant power.
 */
export async function forecastErrorsOf(energyCase: EnergyCase): Promise<ForecastErrors> {
  const rehearsal = await rehearse(energyScenario(energyCase));
  const forecasts: Forecast[] = [];
  const readyAtMs = new Map<string, number>();
  const before = new Map<string, { readonly atMs: number; readonly kwh: number }>();
  try {
    const list = z.object({ locations: z.array(z.object({ locationId: z.string() })) });
    const [site] = list.parse((await rehearsal.call('GET', '/locations')).body).locations;
    for (let atMs = energyCase.fromMs; atMs < energyCase.untilMs; atMs += READ_EVERY_MS) {
      await rehearsal.advance(READ_EVERY_MS);
      const answer = await rehearsal.call('GET', `/locations/${site?.locationId}/plan`);
      const { at, departures } = departurePlanSchema.parse(answer.body);
      const nowMs = Date.parse(at);
      for (const { controllerUuid, departureTime, deliveredKwh: kwh, energyNeedKwh, readyAt } of departures) {
        const car = `${controllerUuid} ${departureTime}`;
        const neededKwh = energyNeedKwh - REST_KWH;
        const last = before.get(car);
        before.set(car, { atMs: nowMs, kwh });
        if (kwh >= neededKwh) {
          const share = last === undefined || kwh <= last.kwh ? 1 : (neededKwh - last.kwh) / (kwh - last.kwh);
          if (!readyAtMs.has(car)) readyAtMs.set(car, nowMs - (1 - share) * READ_EVERY_MS);
          continue;
        }
        const aheadMs = readyAt === null ? 0 : Date.parse(readyAt) - nowMs;
        if (aheadMs >= AHEAD_MS[0] && aheadMs <= AHEAD_MS[1])
          forecasts.push({ car, readyAtMs: nowMs + aheadMs });
      }
    }
  } finally {
    await rehearsal.close();
  }
  const errorsMin = forecasts.flatMap((forecast) => {
    const atMs = readyAtMs.get(forecast.car);
    return atMs === undefined ? [] : [Math.abs(atMs - forecast.readyAtMs) / 60_000];
  });
  return { forecasts: forecasts.length, met: errorsMin.length, medianMin: median(errorsMin) };
}
