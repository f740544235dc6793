// Schema of the grid in a scenario: lines with a source, a resistance and the load of other consumers.
import { z } from 'zod';
import type { LocationId } from '../../machines/values/ids.js';
import type { FieldPath, FieldProblem } from '../../src/provisioning/cross-checks.js';
import { GROUP_RULE, idSchema, listSchema, numberSchema } from '../../src/provisioning/field-schemas.js';
import { type Moment, momentSchema, resolveMoment, type ScenarioSpan } from './moment.js';
import type { GridLine } from './scenario.js';
import { type SitePlan, unknownName } from './site-plan.js';

const MOST_BASE_KW = 100_000;
const BASE_RULE = `must be a number from 0 to ${MOST_BASE_KW}, in kW, or a list of { at, kw }`;
const kwSchema = numberSchema(0, MOST_BASE_KW, 'kW');

const gridLineSchema = z.strictObject(
  {
    name: idSchema<string>(),
    locations: listSchema(idSchema<LocationId>()).optional(),
    sourceVoltageV: numberSchema(50, 1000, 'V between phase and neutral').default(230),
    resistanceOhm: numberSchema(0, 10, 'ohm for each phase'),
    baseKw: z
      .union(
        [kwSchema, z.array(z.strictObject({ at: momentSchema, kw: kwSchema }, GROUP_RULE)).min(1)],
        BASE_RULE,
      )
      .default(0),
  },
  GROUP_RULE,
);
export const gridSchema = listSchema(gridLineSchema).default([]);
type GridLineEntry = z.output<typeof gridLineSchema>;

/** The lines with their locations, and with the moments of their base load as instants. */
export function gridOf(
  lines: readonly GridLineEntry[],
  { locations: all }: SitePlan,
  span: ScenarioSpan,
): readonly GridLine[] {
  return lines.map(({ name, locations, sourceVoltageV, resistanceOhm, baseKw }) => {
    const base =
      typeof baseKw === 'number'
        ? [{ fromMs: span.startsAtMs, kw: baseKw }]
        : baseKw.map(({ at, kw }) => ({ fromMs: resolveMoment(at, span), kw }));
    return {
      name,
      sourceVoltageV,
      resistanceOhm,
      locationIds: locations ?? [...all],
      base: base.sort((a, b) => a.fromMs - b.fromMs),
    };
  });
}

/**
 * Problems of the lines, such as a location on two of them. `outside` returns the problem of a moment outside the run.
 */
export function gridProblems(
  lines: readonly GridLineEntry[],
  plan: SitePlan,
  outside: (moment: Moment, path: FieldPath) => readonly FieldProblem[],
): readonly FieldProblem[] {
  const names = new Set<string>();
  const feeds = new Map<string, string>();
  return lines.flatMap(({ name, locations, baseKw }, i) => {
    const path = ['grid', i];
    const isTaken = names.has(name);
    names.add(name);
    const fed = [...new Set(locations ?? plan.locations)].flatMap((locationId) => {
      const other = feeds.get(locationId);
      feeds.set(locationId, name);
      if (other === undefined) return [];
      const message = `has ${locationId}, which ${other} feeds already; a location is on one line`;
      return [{ path: [...path, 'locations'], message }];
    });
    const steps = typeof baseKw === 'number' ? [] : baseKw;
    return [
      ...(isTaken
        ? [{ path: [...path, 'name'], message: `"${name}" is used already; it must be unique` }]
        : []),
      ...(locations ?? []).flatMap((id, l) => unknownName(id, plan.locations, [...path, 'locations', l])),
      ...fed,
      ...steps.flatMap(({ at }, s) => outside(at, [...path, 'baseKw', s, 'at'])),
    ];
  });
}
