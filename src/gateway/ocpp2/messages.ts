// The fields of OCPP 2.0.1 and 2.1 messages that the gateway uses. Other fields may be present or missing without harm.
// The schemas of the standard check each message before.
import { z } from 'zod';
import { instant } from '../ocpp16/messages.js';

const text = z.string().max(500);
const evse = z.number().int().min(0).max(1_000);
const connector = z.number().int().min(0).max(1_000);

export const bootSchema = z.object({
  chargingStation: z.object({
    vendorName: text.optional(),
    model: text.optional(),
    firmwareVersion: text.optional(),
  }),
});

export const statusSchema = z.object({
  timestamp: instant.optional().catch(undefined),
  connectorStatus: z.string().max(32),
  evseId: evse,
  connectorId: connector,
});

const sampledValueSchema = z.object({
  value: z.number(),
  measurand: z.string().default('Energy.Active.Import.Register'),
  phase: z.string().optional(),
  location: z.string().optional(),
  unitOfMeasure: z
    .object({ unit: z.string().optional(), multiplier: z.number().int().optional() })
    .optional(),
});

const meterValueSchema = z
  .array(z.object({ timestamp: instant, sampledValue: z.array(sampledValueSchema).max(200) }))
  .max(100);
export type MeterValue = z.output<typeof meterValueSchema>[number];

export const meterValuesSchema = z.object({ evseId: evse, meterValue: meterValueSchema });

export const transactionEventSchema = z.object({
  eventType: z.enum(['Started', 'Updated', 'Ended']),
  timestamp: instant,
  transactionInfo: z.object({
    transactionId: z.string().min(1).max(64),
    chargingState: z.string().max(32).optional(),
  }),
  evse: z.object({ id: evse, connectorId: connector.optional() }).optional(),
  meterValue: meterValueSchema.default([]),
});

/** An absurd field counts as missing: the service refuses a meter value with it, and the charger would lose its lease. */
const departure = instant
  .pipe(z.number().min(0).max(Date.UTC(9999, 0)))
  .optional()
  .catch(undefined);
const neededWh = z.number().min(0).max(10_000_000).optional().catch(undefined);
/** A car may report 0 for a value that it does not know. */
const batteryWh = z.number().min(100).max(10_000_000).optional().catch(undefined);
const fullPercent = z.number().min(1).max(100).optional().catch(undefined);
const socPercent = z.number().min(0).max(100).optional().catch(undefined);

/**
 * Energies in Wh. `energyAmount` is the energy until the departure, `fullSoC` the state of charge at which the car counts
 * its battery as full (OCPP 2.0.1 part 2, section 2.11).
 */
export const chargingNeedsSchema = z.object({
  evseId: evse,
  chargingNeeds: z.object({
    departureTime: departure,
    acChargingParameters: z.object({ energyAmount: neededWh }).optional().catch(undefined),
    dcChargingParameters: z
      .object({
        energyAmount: neededWh,
        evEnergyCapacity: batteryWh,
        fullSoC: fullPercent,
        stateOfCharge: socPercent,
      })
      .optional()
      .catch(undefined),
  }),
});
export type ChargingNeeds = z.output<typeof chargingNeedsSchema>['chargingNeeds'];

/** The token that began or ended the transaction. */
export const eventTokenSchema = z.object({ idToken: z.object({ idToken: text }).optional() });
/** The answer to a `TransactionEvent` with a token. */
export const tokenAnswerSchema = z.object({ idTokenInfo: z.object({ status: z.string() }).optional() });
export const authorizeSchema = z.object({ idToken: z.object({ idToken: text }) });

/** Answer of a charger to the calls that have only a status as answer. */
export const outcomeSchema = z.object({ status: z.string().max(32) });
export const variablesSchema = z.object({
  getVariableResult: z
    .array(
      z.object({
        attributeStatus: z.string(),
        attributeValue: z.string().optional(),
        variable: z.object({ name: z.string() }),
      }),
    )
    .max(100),
});
export const setVariablesSchema = z.object({
  setVariableResult: z.array(z.object({ attributeStatus: z.string() })).max(100),
});
export const compositeSchema = z.object({
  status: z.string(),
  schedule: z
    .object({
      duration: z.number().min(0).optional(),
      scheduleStart: instant,
      chargingRateUnit: z.enum(['A', 'W']),
      chargingSchedulePeriod: z
        .array(z.object({ startPeriod: z.number().min(0), limit: z.number().default(-1) }))
        .max(1_000),
    })
    .optional(),
});

/** A charging profile of a CSMS. Only ISO 15118 has several schedules; the first counts. */
const profileSchema = z.object({
  id: z.number().int(),
  stackLevel: z.number().int().min(0),
  chargingProfilePurpose: z.string(),
  chargingProfileKind: z.string(),
  recurrencyKind: z.string().optional(),
  validFrom: instant.optional(),
  validTo: instant.optional(),
  transactionId: z.string().max(64).optional(),
  chargingSchedule: z
    .array(
      z.object({
        startSchedule: instant.optional(),
        duration: z.number().min(0).optional(),
        chargingRateUnit: z.enum(['A', 'W']),
        chargingSchedulePeriod: z
          .array(
            z.object({
              startPeriod: z.number().min(0),
              limit: z.number().min(0).default(0),
              numberPhases: z.number().int().min(1).max(3).optional(),
            }),
          )
          .min(1)
          .max(1_000),
      }),
    )
    .min(1),
});
export type Profile201 = z.output<typeof profileSchema>;
export const setProfileSchema = z.object({ evseId: evse, chargingProfile: profileSchema });
export const clearProfileSchema = z.looseObject({
  chargingProfileId: z.number().int().optional(),
  chargingProfileCriteria: z
    .looseObject({
      evseId: evse.optional(),
      chargingProfilePurpose: z.string().optional(),
      stackLevel: z.number().int().optional(),
    })
    .optional(),
});
/** OCPP 2.1. */
export const updateScheduleSchema = z.object({ chargingProfileId: z.number().int() });
/** OCPP 2.1. */
export const usePrioritySchema = z.object({ activate: z.boolean() });
export const requestStartSchema = z.looseObject({
  evseId: evse.optional(),
  chargingProfile: profileSchema.optional(),
});
const changedVariableSchema = z.looseObject({
  attributeType: z.string().optional(),
  attributeValue: z.string(),
  component: z.looseObject({ name: z.string() }),
  variable: z.looseObject({ name: z.string() }),
});
export type ChangedVariable = z.output<typeof changedVariableSchema>;
export const changeVariablesSchema = z.looseObject({
  setVariableData: z.array(changedVariableSchema).max(1_000),
});
/** The answer to `SetVariables`. */
export const changedVariablesSchema = z
  .looseObject({ setVariableResult: z.array(z.unknown()).catch([]) })
  .catch({ setVariableResult: [] });
