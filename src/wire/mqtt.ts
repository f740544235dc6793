// What chargers say, as JSON: every field bounded, unknown fields ignored, so that a broken one costs its message only.
import { z } from 'zod';
import { ACK_RESULTS, LEASE_KINDS, LIMIT_REASONS } from '../../machines/grant.js';
import { CHARGING_STATUSES } from '../../machines/meter-ledger.js';

// Wide enough for a megawatt charger, and for a car that feeds back.
const MAX_POWER_W = 10_000_000;
const MAX_CURRENT_A = 10_000;
const MAX_VOLTAGE_V = 10_000;
const MAX_LEASE_S = 1_000_000;
const MAX_CONNECTORS = 100;

const versionSchema = z.literal(1).optional();
const bootSchema = z.string().min(1).max(64);
const counterSchema = z.number().int().min(0).max(Number.MAX_SAFE_INTEGER);
const currentASchema = z.number().min(0).max(MAX_CURRENT_A);
// Of a car that feeds back, a phase may read below zero.
const phaseCurrentASchema = z.number().min(-MAX_CURRENT_A).max(MAX_CURRENT_A);
const phaseVoltageVSchema = z.number().min(0).max(MAX_VOLTAGE_V);

/** `…/c/{k}/meter`: a heartbeat with the numbers of one connector. A simple charger sends `powerW` alone. */
export const meterSchema = z.object({
  v: versionSchema,
  boot: bootSchema.optional(),
  hb: counterSchema.optional(),
  // Told apart by `boot` and `hb`, never by the charger's clock: kept as text.
  at: z.string().max(64).optional(),
  status: z.enum(CHARGING_STATUSES).optional(),
  // Never below 0: one faulty charger would hide what the others draw.
  powerW: z.number().int().min(0).max(MAX_POWER_W),
  currentA: z.tuple([phaseCurrentASchema, phaseCurrentASchema, phaseCurrentASchema]).optional(),
  voltageV: z.tuple([phaseVoltageVSchema, phaseVoltageVSchema, phaseVoltageVSchema]).optional(),
  energyWh: counterSchema.optional(),
  epoch: counterSchema.optional(),
  seq: counterSchema.optional(),
  limitA: currentASchema.optional(),
  leaseLeftS: z.number().min(0).max(MAX_LEASE_S).optional(),
});
export type MeterMessage = z.output<typeof meterSchema>;

/** `…/state`: a charger came or, in its last will, was lost; then `online: false` alone is enough. */
export const stateSchema = z.object({
  v: versionSchema,
  online: z.boolean(),
  boot: bootSchema.optional(),
  firmware: z.string().max(128).optional(),
  connectors: z
    .array(
      z.object({
        id: z.string().min(1).max(128),
        phases: z.literal([1, 3]),
        minA: currentASchema,
        maxA: currentASchema,
        failsafeA: currentASchema,
        lease: z.enum(LEASE_KINDS),
        // It keeps the newest `thenA` over a restart, and tells it as `failsafeA`: nothing else need be reserved for it.
        keepsThen: z.boolean().optional(),
      }),
    )
    .max(MAX_CONNECTORS)
    .optional(),
});
export type StateMessage = z.output<typeof stateSchema>;

/** `…/c/{k}/ack`: the hardware took a limit, or why it did not. */
export const ackSchema = z.object({
  v: versionSchema,
  boot: bootSchema.optional(),
  epoch: counterSchema,
  seq: counterSchema,
  result: z.enum(ACK_RESULTS),
  appliedA: currentASchema.optional(),
});
export type AckMessage = z.output<typeof ackSchema>;

/** `…/c/{k}/limit`: a leased grant. `limitA` per phase, 0 pauses; `thenA` applies when the lease ends. */
export const limitSchema = z.object({
  v: versionSchema,
  epoch: counterSchema,
  seq: counterSchema,
  // Empty for a charger that never named one.
  boot: z.string().max(64),
  // `hb` of the heartbeat from whose sending the charger counts `ttlS`; 0 for a charger that counts from receipt.
  ref: counterSchema,
  ttlS: z.number().min(0).max(MAX_LEASE_S),
  limitA: currentASchema,
  limitW: z.number().int().min(0).max(MAX_POWER_W),
  thenA: currentASchema,
  reason: z.enum(LIMIT_REASONS),
});
export type LimitMessage = z.output<typeof limitSchema>;

/** `…/sync`: send state and meter now. */
export const syncSchema = z.object({ v: versionSchema, epoch: counterSchema });
export type SyncMessage = z.output<typeof syncSchema>;
