// Needs of a car on the wire, named as the charging preferences of OCPI 2.2.1 (sessions, section 9.3.2).
import { z } from 'zod';
import type { SessionNeed } from '../../machines/policy/session-needs.js';
import { fromInstant, toInstant } from './instants.js';
import { mustBe } from './plain-errors.js';
import { instantSchema } from './rest.js';

export const MOST_KWH = 10_000;
const ENERGY_RULE = `a number from 0 to ${MOST_KWH}, in kWh`;
export const HIGHEST_PRIORITY = 10;
export const LEAST_BATTERY_KWH = 0.1;
const BATTERY_RULE = `a number from ${LEAST_BATTERY_KWH} to ${MOST_KWH}, in kWh`;
const SOC_RULE = 'a number from 0 to 100, in %';
const PRIORITY_RULE = `a whole number from 0 to ${HIGHEST_PRIORITY}`;

function energySchema() {
  return z.number(mustBe(ENERGY_RULE)).min(0).max(MOST_KWH);
}

const preferencesShape = {
  departureTime: instantSchema
    .optional()
    .meta({ description: 'Instant at which the car leaves.', example: '2030-06-01T17:00:00Z' }),
  energyNeedKwh: energySchema()
    .optional()
    .meta({ description: 'Energy that the car needs from its arrival to its departure, kWh.', example: 22 }),
  minimumEnergyKwh: energySchema().optional().meta({
    description: 'Energy that the car receives before any car gets more than its own minimum, kWh.',
    example: 5,
  }),
  priority: z.number(mustBe(PRIORITY_RULE)).int().min(0).max(HIGHEST_PRIORITY).optional().meta({
    description: 'From 0 to 10. A car with a higher priority precedes; 0 if left out.',
    example: 3,
  }),
  batteryCapacityKwh: z.number(mustBe(BATTERY_RULE)).min(LEAST_BATTERY_KWH).max(MOST_KWH).optional().meta({
    description:
      'Capacity of the battery, kWh. With a reported `socPercent` it gives the need if no source declares `energyNeedKwh`.',
    example: 60,
  }),
  targetSocPercent: z.number(mustBe(SOC_RULE)).min(0).max(100).optional().meta({
    description: 'State of charge that the car needs at its departure, %; 100 if left out.',
    example: 80,
  }),
};

export type ChargingPreferences = z.output<z.ZodObject<typeof preferencesShape>>;

export const MINIMUM_RULE = { path: ['minimumEnergyKwh'], message: 'must not exceed energyNeedKwh' };

export function isMinimumInNeed({ energyNeedKwh, minimumEnergyKwh }: ChargingPreferences): boolean {
  return energyNeedKwh === undefined || minimumEnergyKwh === undefined || minimumEnergyKwh <= energyNeedKwh;
}

/** The declarations of one source; each field may be left out. */
export const chargingPreferencesSchema = z
  .object(preferencesShape)
  .refine(isMinimumInNeed, MINIMUM_RULE)
  .meta({
    id: 'ChargingPreferences',
    examples: [{ departureTime: '2030-06-01T17:00:00Z', energyNeedKwh: 22, minimumEnergyKwh: 5 }],
  });

export function needOfPreferences(preferences: ChargingPreferences): SessionNeed {
  const { departureTime, energyNeedKwh, minimumEnergyKwh, priority } = preferences;
  const { batteryCapacityKwh, targetSocPercent } = preferences;
  return {
    departsAtMs: departureTime === undefined ? undefined : fromInstant(departureTime),
    energyWh: energyNeedKwh === undefined ? undefined : energyNeedKwh * 1000,
    minimumWh: minimumEnergyKwh === undefined ? undefined : minimumEnergyKwh * 1000,
    priority,
    batteryWh: batteryCapacityKwh === undefined ? undefined : batteryCapacityKwh * 1000,
    targetSocPercent,
  };
}

export function preferencesOf(need: SessionNeed): ChargingPreferences {
  const { departsAtMs, energyWh, minimumWh, priority, batteryWh, targetSocPercent } = need;
  return {
    ...(departsAtMs !== undefined && { departureTime: toInstant(departsAtMs) }),
    ...(energyWh !== undefined && { energyNeedKwh: energyWh / 1000 }),
    ...(minimumWh !== undefined && { minimumEnergyKwh: minimumWh / 1000 }),
    ...(priority !== undefined && { priority }),
    ...(batteryWh !== undefined && { batteryCapacityKwh: batteryWh / 1000 }),
    ...(targetSocPercent !== undefined && { targetSocPercent }),
  };
}
