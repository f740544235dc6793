// One location now, for operators: its limit, its fuses and its connectors.
import { z } from 'zod';
import { LIMIT_REASONS, THROTTLES } from '../../../machines/ledger/grant.js';
import { LINKS } from '../../../machines/power/connector.machine.js';
import { GRID_PHASES } from '../../../machines/power/fuses.js';
import { CHARGING_STATUSES } from '../../../machines/values/charging-status.js';
import { SESSION_STATES } from '../../../machines/values/session-state.js';
import { gridLimitCauseSchema } from '../../wire/limit-cause.js';
import { drawnPowerShape, instantSchema, operatingStatusSchema } from '../../wire/rest.js';

const fusePhaseSchema = z.object({
  phase: z.enum(GRID_PHASES),
  ratedA: z.number().meta({ description: 'Rating of the fuse on this phase; 0 without a fuse.' }),
  reservedA: z.number().meta({ description: 'Sum of the entitlements of connectors on this phase.' }),
  measuredA: z.number().meta({
    description:
      'Current that connectors report on this phase. A current whose phase is unknown counts on each.',
  }),
  isFull: z.boolean().meta({ description: 'It keeps a connector from a higher limit.' }),
});

/** The connection or a feeder, phase by phase. */
export const fuseLiveSchema = z
  .object({
    feeder: z.string().nullable().meta({ description: 'Its name; null for the connection.' }),
    parent: z
      .string()
      .nullable()
      .meta({ description: 'The feeder above it; null if that is the connection.' }),
    phases: z.array(fusePhaseSchema),
  })
  .meta({ id: 'FuseLive' });
export type FuseLive = z.output<typeof fuseLiveSchema>;

const connectorLiveSchema = z
  .object({
    controllerUuid: z.string(),
    connectorId: z.string(),
    status: operatingStatusSchema,
    powerType: z.enum(['AC', 'DC']).meta({
      description:
        'A DC connector keeps to a power: its `limitA` is the highest current that this takes from each phase, and its kW are taken from the grid.',
    }),
    link: z.enum(LINKS),
    throttle: z.enum(THROTTLES).meta({
      description:
        'Limit against the demand of its car: `free` covers it, or there is no car; `limited` is less; `minimum` is 6 A, though the car needs more; `paused` is nothing.',
    }),
    ocppState: z.enum(SESSION_STATES).nullable().meta({
      description:
        'State behind the OCPP gateway, on the way to a lease; null for other chargers and while it is offline.',
    }),
    whyNoLease: z.string().nullable().meta({
      description: "Its gateway's reason against its lease, as in the alarm NO_LEASE; null without one.",
    }),
    chargingStatus: z.enum(CHARGING_STATUSES).nullable(),
    socPercent: z.number().nullable().meta({
      description: "State of charge of its car's battery, %; null if its charger does not report it.",
    }),
    lockLimitKw: z.number().nullable().meta({ description: 'Limit of its lock; null if it is not locked.' }),
    limitA: z.number().nullable().meta({ description: 'A per phase; null before the first limit.' }),
    limitKw: z.number().nullable(),
    limitPhases: z.number().int().nullable().meta({
      description:
        'Number of its phases that the limit is for, counted from the first, while the others are reallocated; null if it is for all.',
    }),
    isPhaseSwitched: z.boolean().meta({
      description: 'Its limit is for fewer phases than its car would use, because that serves more.',
    }),
    actualKw: z.number(),
    isEstimated: z.boolean().meta({
      description: 'It is silent: `actualKw` is its last reading, at most its entitlement.',
    }),
    reservedKw: z.number().meta({ description: 'Its entitlement.' }),
    reason: z.enum(LIMIT_REASONS),
    fullFuse: z
      .object({ feeder: z.string().nullable(), phase: z.enum(GRID_PHASES) })
      .nullable()
      .meta({
        description:
          'The full phase of the connection (`feeder` null) or of a feeder that keeps it from a higher limit; null if none does.',
      }),
    explanation: z.string().meta({ description: 'The reason as a sentence.' }),
    heartbeatS: z.number().meta({ description: "Expected interval of its charger's reports, s." }),
    leaseTtlS: z.number().meta({ description: 'Validity of a limit without renewal, s.' }),
    leaseLeftSeconds: z.number().nullable(),
    lastHeardSecondsAgo: z.number().nullable(),
  })
  .meta({ id: 'ConnectorLive' });
export type ConnectorLive = z.output<typeof connectorLiveSchema>;

/** The location, its limit in force and the cause. */
export const limitShape = {
  locationId: z.string(),
  name: z.string(),
  status: operatingStatusSchema,
  at: instantSchema,
  gridLimitKw: z.number(),
  gridLimitCause: gridLimitCauseSchema,
};

/** Its own limits, and the division of its power. */
export const divisionShape = {
  effectiveLimitKw: z.number(),
  permanentLimitKw: z.number(),
  budgetKw: z.number().meta({
    description: 'Power that may be granted now: the limit in force, or a lower one that begins within 15 s.',
  }),
  reservedKw: z.number().meta({ description: 'Sum of the entitlements of its connectors.' }),
  ...drawnPowerShape,
  fuses: z.array(fuseLiveSchema).meta({
    description: 'The connection, if its current is provisioned, then the feeders.',
  }),
  connectors: z.array(connectorLiveSchema),
};
