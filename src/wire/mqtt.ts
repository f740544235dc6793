// JSON messages from and to chargers. Every field has bounds and unknown fields are ignored, so that a broken field
// costs only its message. The AsyncAPI document contains the descriptions, for charger makers.
import { z } from 'zod';
import { ACK_RESULTS, LEASE_KINDS, LIMIT_REASONS } from '../../machines/ledger/grant.js';
import type { MeterReading } from '../../machines/power/meter-ledger.js';
import { CHARGING_STATUSES } from '../../machines/values/charging-status.js';
import { SESSION_STATES } from '../../machines/values/session-state.js';
import { chargingPreferencesSchema, needOfPreferences } from './charging-preferences.js';

// Wide enough for a megawatt charger, and for a car that feeds back.
const MAX_POWER_W = 10_000_000;
const MAX_CURRENT_A = 10_000;
const MAX_VOLTAGE_V = 10_000;
const MAX_LEASE_S = 1_000_000;
const MAX_CONNECTORS = 100;

const powerWSchema = z.number().int().min(0).max(MAX_POWER_W);

const versionSchema = z.literal(1).optional().describe('Version of the message format.');
const bootSchema = z.string().min(1).max(64);
const counterSchema = z.number().int().min(0).max(Number.MAX_SAFE_INTEGER);
const currentASchema = z.number().min(0).max(MAX_CURRENT_A);
// A phase may read below zero for a car that feeds back.
const phaseCurrentASchema = z.number().min(-MAX_CURRENT_A).max(MAX_CURRENT_A);
const phaseVoltageVSchema = z.number().min(0).max(MAX_VOLTAGE_V);

const sessionSchema = z.string().min(1).max(64);
const phaseCountSchema = z.union([z.literal(1), z.literal(2), z.literal(3)]);

const ownBootSchema = bootSchema.optional().describe('New at every start of the charger, such as a UUID.');

/** `…/c/{k}/meter`: a heartbeat with the numbers of one connector. A simple charger sends `powerW` alone. */
export const meterSchema = z.object({
  v: versionSchema,
  boot: ownBootSchema,
  hb: counterSchema
    .optional()
    .describe('Rises by one per heartbeat of the connector and starts again with each boot.'),
  // Readings are distinguished by `boot` and `hb`, never by the charger's clock: kept as text.
  at: z
    .string()
    .max(64)
    .optional()
    .describe("Instant by the charger's clock, RFC 3339 in UTC. Not interpreted."),
  status: z.enum(CHARGING_STATUSES).optional().describe('Status of the connector, in the words of OCPP 1.6.'),
  session: sessionSchema
    .optional()
    .describe(
      'New whenever a car is plugged in, and never used again, such as a UUID; left out without a car.',
    ),
  idTag: z
    .string()
    .min(1)
    .max(255)
    .optional()
    .describe(
      'Identifier that authorized the session, such as an RFID card. The last one of a session counts.',
    ),
  // Never below 0: one faulty charger would hide the power of the others.
  powerW: powerWSchema.describe('Power drawn now, W; of a DC connector, W at the car.'),
  currentA: z
    .tuple([phaseCurrentASchema, phaseCurrentASchema, phaseCurrentASchema])
    .optional()
    .describe('Current of each phase, A; 0 for a phase that is not connected.'),
  voltageV: z
    .tuple([phaseVoltageVSchema, phaseVoltageVSchema, phaseVoltageVSchema])
    .optional()
    .describe('Voltage of each phase, V; 0 for a phase that is not connected.'),
  energyWh: counterSchema.optional().describe('Energy register of the connector, Wh.'),
  socPercent: z.number().min(0).max(100).optional().describe("State of charge of the car's battery, %."),
  epoch: counterSchema.optional().describe('epoch of the limit in force; 0 without a lease.'),
  seq: counterSchema.optional().describe('seq of the limit in force; 0 without a lease.'),
  limitA: currentASchema.optional().describe('Limit in force, A per phase; from an AC connector.'),
  limitW: powerWSchema.optional().describe('Limit in force, W at the car; from a DC connector.'),
  leaseLeftS: z
    .number()
    .min(0)
    .max(MAX_LEASE_S)
    .optional()
    .describe('Remaining time of that lease, s; left out without a lease.'),
  chargingPreferences: chargingPreferencesSchema
    .optional()
    .describe(
      'Needs of the car, as it or its driver declared them. They replace the last ones; left out, those count further.',
    ),
  // For a charger whose lease clock others set: the service has to reserve for it before that happens.
  isEndOpen: z
    .boolean()
    .optional()
    .describe(
      'Its limits may last longer than their leases: they count until a newer limit was taken. Answered with a limit once that is on disk.',
    ),
});
export type MeterMessage = z.output<typeof meterSchema>;

/** The message for the domain, with the declared need in its units. */
export function readingOf(message: MeterMessage): MeterReading {
  const { chargingPreferences } = message;
  // Most messages declare nothing, and need no copy.
  return chargingPreferences === undefined
    ? message
    : { ...message, need: needOfPreferences(chargingPreferences) };
}

const ofEveryConnector = {
  id: z.string().min(1).max(128).describe('connectorId, as provisioned.'),
  lease: z
    .enum(LEASE_KINDS)
    .describe('Begin of a lease: heartbeat (sending of the heartbeat ref), receipt (of the limit), or none.'),
  whyNoLease: z
    .string()
    .max(200)
    .optional()
    .describe('Reason for lease: none, if that is worth an alarm; from a gateway that found it out.'),
  // A newer gateway may have further states: they count as none, and the rest of its message counts.
  ocppState: z
    .string()
    .max(64)
    .transform((text) => SESSION_STATES.find((state) => state === text))
    .optional()
    .describe(
      `State of the connector behind an OCPP gateway, for people: ${SESSION_STATES.join(', ')}. Others are ignored.`,
    ),
  // The charger keeps the newest `thenA` over a restart and reports it as `failsafeA`: nothing else is reserved for it.
  keepsThen: z
    .boolean()
    .optional()
    .describe('The charger keeps the newest thenA (DC: thenW) over a restart.'),
};

const acStateSchema = z.object({
  ...ofEveryConnector,
  powerType: z.literal('AC').optional().describe('AC if left out.'),
  phases: z.literal([1, 3]).describe('Phases that are connected.'),
  // Phases that its car does not use may be reallocated: the next car gets nothing before a grant for it.
  endsWithSession: z
    .boolean()
    .optional()
    .describe(
      'A limit with a session ends by itself, at once and offline too, when that session ends or its car uses another phase.',
    ),
  switchesPhases: z
    .boolean()
    .optional()
    .describe(
      'With endsWithSession: the charger lets a car use no more phases than its limit has, counted from the first. Before it offers fewer, it opens its contactor and switches.',
    ),
  minA: currentASchema.describe('Lowest current it can offer a car, A per phase.'),
  maxA: currentASchema.describe('Highest current of the hardware, A per phase.'),
  failsafeA: currentASchema.describe(
    'Fail-safe after a restart, A per phase: as configured or, with keepsThen, the newest thenA.',
  ),
});

const dcStateSchema = z.object({
  ...ofEveryConnector,
  powerType: z.literal('DC'),
  minW: powerWSchema.describe('Lowest power it can offer a car, W.'),
  maxW: powerWSchema.describe('Highest power of the hardware, W at the car.'),
  failsafeW: powerWSchema.describe(
    'Fail-safe after a restart, W at the car: as configured or, with keepsThen, the newest thenW.',
  ),
});

/** `…/state`: a charger came or, in its last will, was lost; then `online: false` alone is enough. */
export const stateSchema = z.object({
  v: versionSchema,
  online: z.boolean().describe('False in the goodbye and in the last will.'),
  boot: ownBootSchema,
  seqNo: counterSchema
    .optional()
    .describe('Rises with each state of a boot: an older or equal one changes nothing.'),
  firmware: z.string().max(128).optional().describe('Name and version of the firmware.'),
  connectors: z
    .array(z.discriminatedUnion('powerType', [acStateSchema, dcStateSchema]))
    .max(MAX_CONNECTORS)
    .optional()
    .describe('Every connector of the charger.'),
});
export type StateMessage = z.output<typeof stateSchema>;

/** `…/c/{k}/ack`: the hardware took a limit, or the reason against it. */
export const ackSchema = z.object({
  v: versionSchema,
  boot: ownBootSchema,
  epoch: counterSchema.describe('epoch of the limit that it answers.'),
  seq: counterSchema.describe('seq of the limit that it answers.'),
  result: z
    .enum(ACK_RESULTS)
    .describe(
      'APPLIED: the hardware took it. STALE: of another boot or session, or not newer. EXPIRED: its lease had ended. REJECTED: the hardware cannot take it.',
    ),
  appliedA: currentASchema.optional().describe('Limit in force of an AC connector, A per phase.'),
  appliedW: powerWSchema.optional().describe('Limit in force of a DC connector, W at the car.'),
});
export type AckMessage = z.output<typeof ackSchema>;

/** `…/c/{k}/limit`: a leased grant. `limitA` per phase, 0 pauses; `thenA` applies when the lease ends. */
export const limitSchema = z.object({
  v: versionSchema,
  epoch: counterSchema.describe('Rises with every start of the service.'),
  seq: counterSchema.describe('Rises with every limit of a connector inside an epoch.'),
  // Empty for a charger that never named one.
  boot: z
    .string()
    .max(64)
    .describe('boot of the charger that the limit is for; empty if the charger sends none.'),
  // `hb` of the heartbeat from whose sending the charger counts `ttlS`; 0 for a charger that counts from receipt.
  ref: counterSchema.describe('hb of the heartbeat that it answers; 0 if the charger sends none.'),
  ttlS: z.number().min(0).max(MAX_LEASE_S).describe('Duration of the lease, s.'),
  limitA: currentASchema.describe(
    'Limit, A per phase, whole tenths: 0 (pause) or at least 6. To a DC connector, which keeps to limitW, the current that it may take from each phase.',
  ),
  limitW: powerWSchema.describe(
    'Power at that current, W; for display. To a DC connector the limit: W at the car, 0 (pause) or at least its minimum.',
  ),
  thenA: currentASchema.describe(
    'Limit after the end of the lease, A per phase: 0 or at least 6. A DC connector keeps to thenW.',
  ),
  thenW: powerWSchema
    .optional()
    .describe('To a DC connector: limit after the end of the lease, W at the car.'),
  session: sessionSchema
    .optional()
    .describe(
      'The limit holds for this session alone and ends with it; then the connector is at 0. To chargers with endsWithSession.',
    ),
  phases: phaseCountSchema
    .optional()
    .describe(
      'With session: limitA and thenA are for this many phases of the connector, counted from the first. No current may flow on others.',
    ),
  reason: z.enum(LIMIT_REASONS).describe('Reason of the limit.'),
});
export type LimitMessage = z.output<typeof limitSchema>;

/** `…/sync`: send state and meter now. */
export const syncSchema = z.object({
  v: versionSchema,
  epoch: counterSchema.describe('epoch of the service that asks.'),
});
export type SyncMessage = z.output<typeof syncSchema>;
