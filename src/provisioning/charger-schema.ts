// A charger in the provisioning file: its connectors, AC and DC, its heartbeat and its lease.
import { z } from 'zod';
import type { LeaseTiming } from '../../machines/ledger/grant.js';
import { PHASE_ROTATIONS } from '../../machines/power/fuses.js';
import type { ConnectorId, ControllerUuid } from '../../machines/values/ids.js';
import { MINIMUM_CURRENT_A, tenthsOfDcW } from '../../machines/values/units.js';
import { CONNECTOR_FIELDS } from '../features/provisioned-fields.js';
import {
  dcPowerSchema,
  efficiencySchema,
  FEEDER_RULE,
  GROUP_RULE,
  idSchema,
  listSchema,
  numberSchema,
  secretSchema,
  statusSchema,
  wholeSchema,
} from './field-schemas.js';

const FAILSAFE_RULE = `must be 0, or from ${MINIMUM_CURRENT_A} up to maxCurrentA, in A per phase`;
const ROTATION_RULE =
  'must be RST, RTS, SRT, STR, TRS or TSR with three phases, R, S or T with one; leave it out if it is unknown';

const POWER_TYPE_RULE = 'must be AC or DC; AC if left out';

/** Rating of a connector, V between phase and neutral and A per phase. */
export const ratingFields = {
  phases: z.literal([1, 3], 'must be 1 or 3'),
  voltageV: numberSchema(50, 1000, 'V between phase and neutral').default(230),
  maxCurrentA: numberSchema(MINIMUM_CURRENT_A, 1000, 'A per phase'),
  failsafeA: z
    .number(FAILSAFE_RULE)
    .refine((currentA) => currentA === 0 || currentA >= MINIMUM_CURRENT_A, FAILSAFE_RULE)
    .default(MINIMUM_CURRENT_A),
};

/** For AC and DC alike. */
const commonFields = {
  neverPause: z.boolean('must be true or false').default(false),
  operatorMayPause: z.boolean('must be true or false').default(false),
  ...CONNECTOR_FIELDS,
};

const acConnectorSchema = z.strictObject(
  {
    connectorId: idSchema<ConnectorId>(),
    powerType: z.literal('AC').optional(),
    ...ratingFields,
    rotation: z.enum(PHASE_ROTATIONS, ROTATION_RULE).optional(),
    ...commonFields,
    status: statusSchema(),
  },
  GROUP_RULE,
);

/** CCS has at most 1000 V. A lower voltage gives less power for the same current. */
const MOST_DC_VOLTAGE_V = 1000;

/** A DC connector loads all phases alike and has no 6 A floor: its rating is in kW at the car. */
const dcConnectorSchema = z.strictObject(
  {
    connectorId: idSchema<ConnectorId>(),
    powerType: z.literal('DC'),
    voltageV: ratingFields.voltageV,
    maxPowerKw: dcPowerSchema(0.1),
    minPowerKw: dcPowerSchema(0).default(0),
    efficiency: efficiencySchema(),
    failsafeKw: dcPowerSchema(0).default(0),
    maxVoltageV: numberSchema(50, 1500, 'V at the car').default(MOST_DC_VOLTAGE_V),
    ...commonFields,
    status: statusSchema(),
  },
  GROUP_RULE,
);

/** For a DC connector, all other code counts with the current that it draws from each phase. */
const connectorSchema = z
  .discriminatedUnion('powerType', [acConnectorSchema, dcConnectorSchema], {
    error: ({ code }) => (code === 'invalid_union' ? POWER_TYPE_RULE : GROUP_RULE),
  })
  .transform((connector) => {
    if (connector.powerType !== 'DC') {
      const { powerType: _, ...rating } = connector;
      return { ...rating, dc: null, output: undefined };
    }
    const {
      powerType: _,
      maxPowerKw,
      minPowerKw,
      efficiency,
      failsafeKw,
      maxVoltageV,
      ...common
    } = connector;
    const { voltageV } = common;
    const dc = { maxPowerKw, minPowerKw, efficiency };
    return {
      ...common,
      phases: 3 as const,
      maxCurrentA: tenthsOfDcW(1000 * maxPowerKw, { voltageV, dc }) / 10,
      failsafeA: tenthsOfDcW(1000 * failsafeKw, { voltageV, dc }) / 10,
      rotation: undefined,
      dc,
      /** For a gateway, which gives limits in W or A to the charger. */
      output: { failsafeW: 1000 * failsafeKw, maxVoltageV },
    };
  });

/** For a charger, or for all chargers of a location without their own: both fields or neither (`timingProblems`). */
export const timingFields = {
  heartbeatS: wholeSchema(1, 3_600).optional(),
  leaseTtlS: wholeSchema(3, 86_400).optional(),
};

export function timingOf({
  heartbeatS,
  leaseTtlS,
}: {
  heartbeatS?: number | undefined;
  leaseTtlS?: number | undefined;
}): LeaseTiming | undefined {
  if (heartbeatS === undefined || leaseTtlS === undefined) return undefined;
  return { heartbeatMs: 1000 * heartbeatS, ttlMs: 1000 * leaseTtlS };
}

export const chargerSchema = z
  .strictObject(
    {
      controllerUuid: idSchema<ControllerUuid>(),
      mqttPassword: secretSchema().optional(),
      feeder: z.string(FEEDER_RULE).optional(),
      ...timingFields,
      connectors: listSchema(connectorSchema).min(1, 'must name at least one connector'),
    },
    GROUP_RULE,
  )
  .transform(({ heartbeatS, leaseTtlS, ...charger }) =>
    withTiming(charger, timingOf({ heartbeatS, leaseTtlS })),
  );

/** @param timing left out of the result if undefined */
export function withTiming<T extends object>(
  entry: T,
  timing: LeaseTiming | undefined,
): T & { timing?: LeaseTiming } {
  return timing === undefined ? entry : { ...entry, timing };
}
