// The fields of OCPP 1.6 messages that the gateway uses. Other fields may be present or missing without harm. The
// schemas of the standard check each message before.
import { z } from 'zod';

const text = z.string().max(500);
export const instant = z
  .string()
  .max(64)
  .transform((value) => Date.parse(value))
  .pipe(z.number());
const evse = z.number().int().min(0).max(1_000);

export const bootSchema = z.object({
  chargePointVendor: text.optional(),
  chargePointModel: text.optional(),
  firmwareVersion: text.optional(),
});

export const statusSchema = z.object({
  connectorId: evse,
  status: z.string().max(32),
  errorCode: z.string().max(50).optional(),
  info: text.optional(),
  timestamp: instant.optional().catch(undefined),
});

const sampledValueSchema = z.object({
  value: z.string().max(5_000),
  format: z.string().optional(),
  measurand: z.string().default('Energy.Active.Import.Register'),
  phase: z.string().optional(),
  location: z.string().optional(),
  unit: z.string().optional(),
});
export type SampledValue = z.output<typeof sampledValueSchema>;

export const meterValuesSchema = z.object({
  connectorId: evse,
  /** Chargers send 0 or less without a transaction. */
  transactionId: z
    .number()
    .int()
    .optional()
    .transform((id) => (id !== undefined && id > 0 ? id : undefined)),
  meterValue: z
    .array(z.object({ timestamp: instant, sampledValue: z.array(sampledValueSchema).max(200) }))
    .min(1)
    .max(100),
});

export const authorizeSchema = z.object({ idTag: text });
export const startTransactionSchema = z.object({
  connectorId: evse,
  idTag: text,
  meterStart: z.number(),
  timestamp: instant,
});
/** The answer to `StartTransaction`. */
export const startedSchema = z.object({
  transactionId: z.number().int(),
  idTagInfo: z.object({ status: z.string() }).optional().catch(undefined),
});
export const stopTransactionSchema = z.object({
  transactionId: z.number().int(),
  idTag: text.optional(),
  timestamp: instant.optional(),
});

/** A charging profile of a CSMS. */
const profileSchema = z.object({
  chargingProfileId: z.number().int(),
  transactionId: z.number().int().optional(),
  stackLevel: z.number().int().min(0),
  chargingProfilePurpose: z.enum(['ChargePointMaxProfile', 'TxDefaultProfile', 'TxProfile']),
  chargingProfileKind: z.enum(['Absolute', 'Recurring', 'Relative']),
  recurrencyKind: z.enum(['Daily', 'Weekly']).optional(),
  validFrom: instant.optional(),
  validTo: instant.optional(),
  chargingSchedule: z.object({
    duration: z.number().min(0).optional(),
    startSchedule: instant.optional(),
    chargingRateUnit: z.enum(['A', 'W']),
    chargingSchedulePeriod: z
      .array(
        z.object({
          startPeriod: z.number().min(0),
          limit: z.number().min(0),
          numberPhases: z.number().int().min(1).max(3).optional(),
        }),
      )
      .min(1)
      .max(1_000),
  }),
});
export type Profile16 = z.output<typeof profileSchema>;
export const setProfileSchema = z.object({ connectorId: evse, csChargingProfiles: profileSchema });
export const clearProfileSchema = z.looseObject({
  id: z.number().int().optional(),
  connectorId: evse.optional(),
  chargingProfilePurpose: z.string().optional(),
  stackLevel: z.number().int().optional(),
});
export const remoteStartSchema = z.looseObject({
  connectorId: evse.optional(),
  chargingProfile: profileSchema.optional(),
});
export const changeConfigurationSchema = z.looseObject({ key: z.string(), value: z.string() });

/** Answer of a charger to the calls that have only a status as answer. */
export const outcomeSchema = z.object({ status: z.string().max(32) });
export const configurationSchema = z.object({
  configurationKey: z
    .array(z.object({ key: z.string(), value: z.string().optional() }))
    .max(1_000)
    .default([]),
});
export const compositeSchema = z.object({
  status: z.string(),
  scheduleStart: instant.optional(),
  chargingSchedule: z
    .object({
      duration: z.number().min(0).optional(),
      startSchedule: instant.optional(),
      chargingRateUnit: z.enum(['A', 'W']),
      chargingSchedulePeriod: z
        .array(z.object({ startPeriod: z.number().min(0), limit: z.number() }))
        .max(1_000),
    })
    .optional(),
});
