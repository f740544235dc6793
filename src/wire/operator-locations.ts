// Answers about the present state of locations for operators: the list,
// and one location live. Extensions of the contract.
import { z } from 'zod';
import { LINKS, THROTTLES } from '../../machines/power/connector.machine.js';
import { GRID_PHASES } from '../../machines/power/fuses.js';
import { LIMIT_REASONS } from '../../machines/power/grant.js';
import { CHARGING_STATUSES } from '../../machines/power/meter-ledger.js';
import { operatorLimitSchema } from './grid-operator.js';
import { alarmSchema } from './operator-history.js';
import { drawnPowerShape } from './operator-power.js';
import { peakShavingSchema } from './peak-shaving.js';
import { instantSchema, profileViewSchema } from './rest.js';
import { siteMeterSchema } from './site-meter.js';

const operatingStatusSchema = z.enum(['ACTIVE', 'INACTIVE']);

/** The rule that sets a grid limit. */
export const gridLimitCauseSchema = z
  .discriminatedUnion('kind', [
    z.object({ kind: z.literal('permanentLimit') }),
    z.object({
      kind: z.literal('profile'),
      priority: z.number().int(),
      startTime: instantSchema,
      endTime: instantSchema,
    }),
    z.object({ kind: z.literal('clusterShare'), clusterId: z.string() }),
    z.object({ kind: z.literal('operatorLimit') }),
    z.object({ kind: z.literal('peakShaving') }),
    z.object({ kind: z.literal('building') }),
    z.object({ kind: z.literal('physicalConnection') }),
  ])
  .meta({ id: 'GridLimitCause' });
export type GridLimitCause = z.output<typeof gridLimitCauseSchema>;

export const locationSummarySchema = z
  .object({
    locationId: z.string(),
    name: z.string(),
    status: operatingStatusSchema,
    permanentLimitKw: z.number(),
    effectiveLimitKw: z.number(),
    gridLimitKw: z.number().meta({
      description:
        "What is enforced: the smallest of effective limit, cluster shares, the grid operator's limit, what peak shaving leaves and the physical connection, or what the building leaves of it.",
    }),
    ...drawnPowerShape,
    connectors: z.number().int(),
    silentConnectors: z.number().int(),
    lockedConnectors: z.number().int(),
    openAlarms: z.number().int(),
  })
  .meta({ id: 'LocationSummary' });
export type LocationSummary = z.output<typeof locationSummarySchema>;

export const locationListSchema = z
  .object({
    locations: z.array(locationSummarySchema),
    count: z.number().int().meta({ description: 'Locations of the tenant, those of other pages included.' }),
    nextCursor: z.string().nullable(),
  })
  .meta({ id: 'LocationList' });
export type LocationList = z.output<typeof locationListSchema>;

const fusePhaseSchema = z.object({
  phase: z.enum(GRID_PHASES),
  ratedA: z.number().meta({ description: 'What the fuse carries on this phase; 0 where it has none.' }),
  reservedA: z.number().meta({ description: 'The most that connectors may be entitled to on it.' }),
  measuredA: z.number().meta({
    description:
      'What connectors report on it. A current of which nobody knows on which phase it is counts on each.',
  }),
  isFull: z.boolean().meta({ description: 'It keeps a connector from more.' }),
});

/** The connection or a feeder, phase by phase. */
export const fuseLiveSchema = z
  .object({
    feeder: z.string().nullable().meta({ description: 'Its name; null for the connection.' }),
    parent: z
      .string()
      .nullable()
      .meta({ description: 'The feeder that it hangs on; null where that is the connection.' }),
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
        'A DC connector keeps to a power: its `limitA` is what that takes from each phase at most, and its kW are what it takes from the grid.',
    }),
    link: z.enum(LINKS),
    throttle: z.enum(THROTTLES).meta({
      description:
        'What it is given beside what its car wants: `free` all of it, or no car is there; `limited` less; `minimum` 6 A, though it wants more; `paused` nothing.',
    }),
    chargingStatus: z.enum(CHARGING_STATUSES).nullable(),
    lockLimitKw: z
      .number()
      .nullable()
      .meta({ description: 'Limit of its lock; null where it is not locked.' }),
    limitA: z.number().nullable().meta({ description: 'A per phase; null before the first limit.' }),
    limitKw: z.number().nullable(),
    limitPhases: z.number().int().nullable().meta({
      description:
        'So many of its phases, from the first on, its limit is for while the others are lent; null where it is for all.',
    }),
    isPhaseSwitched: z.boolean().meta({
      description: 'Its charger was told to use fewer phases than its car would, because that serves more.',
    }),
    actualKw: z.number(),
    isEstimated: z.boolean().meta({
      description: 'It is silent: `actualKw` is its last reading, at most what it may still draw.',
    }),
    reservedKw: z.number().meta({ description: 'The most it may be entitled to draw.' }),
    reason: z.enum(LIMIT_REASONS),
    fullFuse: z
      .object({ feeder: z.string().nullable(), phase: z.enum(GRID_PHASES) })
      .nullable()
      .meta({
        description:
          'The phase of the connection (`feeder` null) or of a feeder that is full and so keeps it from more; null where none does.',
      }),
    explanation: z.string().meta({ description: 'The reason as a sentence.' }),
    heartbeatS: z.number().meta({ description: 'How often its charger is expected to report, s.' }),
    leaseTtlS: z.number().meta({ description: 'How long a limit lasts without renewal, s.' }),
    leaseLeftSeconds: z.number().nullable(),
    lastHeardSecondsAgo: z.number().nullable(),
  })
  .meta({ id: 'ConnectorLive' });
export type ConnectorLive = z.output<typeof connectorLiveSchema>;

export const locationLiveSchema = z
  .object({
    locationId: z.string(),
    name: z.string(),
    status: operatingStatusSchema,
    at: instantSchema,
    gridLimitKw: z.number(),
    gridLimitCause: gridLimitCauseSchema,
    operatorLimit: operatorLimitSchema
      .nullable()
      .meta({ description: "The grid operator's limit; null where no operator may limit the location." }),
    siteMeter: siteMeterSchema
      .nullable()
      .meta({ description: 'What the building takes and leaves; null where the location has no meter.' }),
    peakShaving: peakShavingSchema.nullable().meta({
      description:
        'What is used of the average that the tariff bills, and what it leaves; null where none is limited.',
    }),
    effectiveLimitKw: z.number(),
    permanentLimitKw: z.number(),
    budgetKw: z.number().meta({
      description: 'What may be promised now: the lowest grid limit for as long as a promise can last.',
    }),
    reservedKw: z.number().meta({ description: 'The sum of what connectors may be entitled to draw.' }),
    ...drawnPowerShape,
    fuses: z.array(fuseLiveSchema).meta({
      description: 'The connection, where its current is provisioned, then the feeders.',
    }),
    connectors: z.array(connectorLiveSchema),
    alarms: z.array(alarmSchema).meta({ description: 'Open alarms.' }),
  })
  .meta({ id: 'LocationLive' });
export type LocationLive = z.output<typeof locationLiveSchema>;

export const connectorSchedulesSchema = z
  .object({
    controllerUuid: z.string(),
    connectorId: z.string(),
    locationId: z.string(),
    lockLimitKw: z.number().nullable(),
    profiles: z.array(profileViewSchema),
  })
  .meta({ id: 'ConnectorSchedules' });
export type ConnectorSchedules = z.output<typeof connectorSchedulesSchema>;
