// Schema of the faults in a scenario, each kind with its own strengths.
import { z } from 'zod';
import type { ControllerUuid, LocationId } from '../../machines/values/ids.js';
import { GROUP_RULE, idSchema, listSchema } from '../../src/provisioning/field-schemas.js';
import { FAULT_KINDS } from '../log/trace-event.js';
import { durationRangeSchema, momentSchema, numberRangeSchema } from './moment.js';

// Predefined sets of faults for `faults: light` and `faults: heavy`, in the notation of a scenario.
const UNTIL = { until: '-8m' };

/** An ordinary bad day: mobile links, a restart, an update. */
const LIGHT = [
  { kind: 'loss', share: [0, 0.03], ...UNTIL },
  { kind: 'duplication', share: [0, 0.01], ...UNTIL },
  { kind: 'delay', upTo: ['0s', '2s'], ...UNTIL },
  { kind: 'partition', for: ['10s', '5m'], every: ['4h', '24h'], ...UNTIL },
  { kind: 'reboot', every: ['12h', '48h'], ...UNTIL },
  { kind: 'serviceCrash', for: ['2s', '30s'], every: ['8h', '24h'], ...UNTIL },
  { kind: 'clockDrift', share: [-0.005, 0.005] },
  { kind: 'gatewayCrash', for: ['2s', '30s'], every: ['8h', '24h'], ...UNTIL },
];

/** All faults at once and often, more than at any real site. A site that passes withstands ordinary faults as well. */
const HEAVY = [
  { kind: 'loss', share: [0, 0.3], ...UNTIL },
  { kind: 'duplication', share: [0, 0.2], ...UNTIL },
  { kind: 'delay', upTo: ['0s', '20s'], ...UNTIL },
  { kind: 'hold', share: [0, 0.1], upTo: ['10s', '3m'], ...UNTIL },
  { kind: 'partition', for: ['5s', '10m'], every: ['10m', '2h'], ...UNTIL },
  { kind: 'partition', direction: 'up', for: ['5s', '5m'], every: ['20m', '4h'], ...UNTIL },
  { kind: 'partition', direction: 'down', for: ['5s', '5m'], every: ['20m', '4h'], ...UNTIL },
  { kind: 'reboot', every: ['15m', '4h'], ...UNTIL },
  { kind: 'serviceCrash', for: ['1s', '3m'], every: ['15m', '2h'], ...UNTIL },
  { kind: 'brokerRestart', for: ['1s', '30s'], every: ['30m', '4h'], ...UNTIL },
  { kind: 'databaseBusy', for: ['1s', '40s'], every: ['20m', '2h'], ...UNTIL },
  { kind: 'clockDrift', share: [-0.02, 0.02] },
  { kind: 'gatewayCrash', for: ['1s', '3m'], every: ['15m', '2h'], ...UNTIL },
];

export const FAULT_LEVELS = { none: [], light: LIGHT, heavy: HEAVY };
export type FaultLevel = keyof typeof FAULT_LEVELS;

const HOUR_MS = 3_600_000;
const FAULT_RULE = `must be one of ${[...FAULT_KINDS, 'clockDrift'].join(', ')}`;

const windowFields = { from: momentSchema.optional(), until: momentSchema.optional() };
const chargerFields = {
  locations: listSchema(idSchema<LocationId>()).optional(),
  chargers: listSchema(idSchema<ControllerUuid>()).optional(),
};
const linkFields = {
  ...chargerFields,
  link: z.enum(['charger', 'broker'], 'must be charger or broker').default('charger'),
};
/** An episode shorter than a second would end before it has an effect. */
const everyFields = { every: durationRangeSchema(1000).optional() };
const upToSchema = durationRangeSchema(0, HOUR_MS);

function faultSchema<K extends string, F extends z.core.$ZodShape>(kind: K, fields: F) {
  return z.strictObject({ kind: z.literal(kind), ...windowFields, ...fields }, GROUP_RULE);
}

function episodeSchema<K extends string>(kind: K) {
  return faultSchema(kind, { for: durationRangeSchema(1000), ...everyFields });
}

const oneFaultSchema = z.discriminatedUnion(
  'kind',
  [
    faultSchema('loss', { ...linkFields, share: numberRangeSchema(0, 1) }),
    faultSchema('duplication', { ...linkFields, share: numberRangeSchema(0, 1) }),
    faultSchema('delay', { ...linkFields, upTo: upToSchema }),
    faultSchema('hold', { ...linkFields, share: numberRangeSchema(0, 1), upTo: upToSchema }),
    faultSchema('partition', {
      ...linkFields,
      ...everyFields,
      for: durationRangeSchema(1000),
      direction: z.enum(['both', 'up', 'down'], 'must be both, up or down').default('both'),
    }),
    faultSchema('reboot', { ...chargerFields, ...everyFields }),
    episodeSchema('serviceCrash'),
    episodeSchema('brokerRestart'),
    episodeSchema('databaseBusy'),
    episodeSchema('gatewayCrash'),
    z.strictObject(
      { kind: z.literal('clockDrift'), ...chargerFields, share: numberRangeSchema(-0.02, 0.02) },
      GROUP_RULE,
    ),
  ],
  FAULT_RULE,
);

/** A list of faults, or the name of a level. */
export const faultsSchema = z.preprocess(
  (value) =>
    typeof value === 'string' && Object.hasOwn(FAULT_LEVELS, value)
      ? Reflect.get(FAULT_LEVELS, value)
      : value,
  z
    .array(oneFaultSchema, `must be a list of faults, or one of ${Object.keys(FAULT_LEVELS).join(', ')}`)
    .default([]),
);
export type FaultEntry = z.output<typeof oneFaultSchema>;
/** A fault as the scenario writes it. */
export type FaultInput = z.input<typeof oneFaultSchema>;
