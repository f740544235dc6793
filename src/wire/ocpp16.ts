// What the gateway reads of OCPP 1.6 messages: only the fields it uses, so that what a charger adds or leaves out breaks
// nothing. Whether a message is one of OCPP 1.6 at all is checked before, by the schemas of the standard.
import { z } from 'zod';

const text = z.string().max(500);
const instant = z
  .string()
  .max(64)
  .refine((value) => !Number.isNaN(Date.parse(value)))
  .transform((value) => Date.parse(value));
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
  transactionId: z.number().int().optional(),
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
export const stopTransactionSchema = z.object({
  transactionId: z.number().int(),
  idTag: text.optional(),
  timestamp: instant.optional(),
});

/** What answers the charger gives. */
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
