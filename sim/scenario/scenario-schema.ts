// Schema of the scenario file, with bounds and defaults. Each error message states the rule for its field.
import { z } from 'zod';
import { GROUP_RULE, listSchema, textSchema, wholeSchema } from '../../src/provisioning/field-schemas.js';
import { provisioningSchema } from '../../src/provisioning/provisioning-schema.js';
import { actionSchema } from './action-schema.js';
import { buildingsSchema } from './building-schema.js';
import { LARGEST_SEED } from './draw.js';
import { expectationSchema } from './expectation-schema.js';
import { faultsSchema } from './fault-schema.js';
import { gridSchema } from './grid-schema.js';
import { durationSchema, localInstantSchema } from './moment.js';
import { ocppSchema } from './ocpp-schema.js';
import { TRANSPORTS } from './scenario.js';
import { sessionsSchema, vehicleSchema } from './session-schema.js';
import { sitesSchema } from './site-generator.js';

const SECOND_MS = 1000;

export const scenarioSchema = z.strictObject(
  {
    name: textSchema(200),
    seed: wholeSchema(0, LARGEST_SEED).default(1),
    start: localInstantSchema,
    duration: durationSchema(SECOND_MS),
    meterPeriod: durationSchema(SECOND_MS).default(10 * SECOND_MS),
    transport: z.enum(TRANSPORTS, `must be one of ${TRANSPORTS.join(', ')}`).default('inProcess'),
    provision: provisioningSchema.optional(),
    sites: sitesSchema.optional(),
    ocpp: ocppSchema,
    keepsThen: z.boolean('must be true or false').default(true),
    endsWithSession: z.boolean('must be true or false').default(false),
    switchesPhases: z.boolean('must be true or false').default(false),
    grid: gridSchema,
    buildings: buildingsSchema,
    sessions: sessionsSchema,
    vehicles: listSchema(vehicleSchema).min(1, 'must name at least one class').optional(),
    actions: listSchema(actionSchema).default([]),
    faults: faultsSchema,
    expect: listSchema(expectationSchema).default([]),
  },
  `${GROUP_RULE}, beginning with "name:"`,
);
export type ScenarioFile = z.output<typeof scenarioSchema>;
