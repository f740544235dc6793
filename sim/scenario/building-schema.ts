// Schema of the buildings in a scenario: their load, the power that they feed back, and the faults of their meters.
import { dirname, resolve } from 'node:path';
import { z } from 'zod';
import type { LocationId } from '../../machines/values/ids.js';
import type { EpochMs } from '../../machines/values/time.js';
import type { TimeZone } from '../../machines/values/time-zone.js';
import type { FieldPath, FieldProblem } from '../../src/provisioning/cross-checks.js';
import {
  GROUP_RULE,
  idSchema,
  listSchema,
  numberSchema,
  textSchema,
  wholeSchema,
} from '../../src/provisioning/field-schemas.js';
import { UnusableFileError } from '../../src/provisioning/parse-yaml.js';
import type { ProvisioningFile } from '../../src/provisioning/provisioning-schema.js';
import { readCsv } from '../sessions/csv-table.js';
import { durationSchema, type Moment, momentSchema, resolveMoment, type ScenarioSpan } from './moment.js';
import type { Building } from './scenario.js';
import { fromMsOf, timeZoneSchema, writtenTimeSchema } from './session-schema.js';

const MOST_KW = 100_000;
const SECOND_MS = 1000;
const BASE_RULE = `must be a number from 0 to ${MOST_KW}, in kW, or a list of { at, kw }`;
const kwSchema = numberSchema(0, MOST_KW, 'kW');
const METER_FAULTS = ['lost', 'stuck', 'signSwapped', 'tenth', 'jumped'] as const;

/** A recorded load; the instant `from` of the file coincides with the start of the run. */
const csvSchema = z
  .strictObject(
    {
      file: textSchema(1000),
      from: writtenTimeSchema.optional(),
      timeZone: timeZoneSchema.optional(),
    },
    GROUP_RULE,
  )
  .transform(({ from, ...csv }, context) => ({ ...csv, fromMs: fromMsOf(from, csv.timeZone, context) }));

const buildingSchema = z.strictObject(
  {
    location: idSchema<LocationId>(),
    baseKw: z
      .union(
        [kwSchema, z.array(z.strictObject({ at: momentSchema, kw: kwSchema }, GROUP_RULE)).min(1, BASE_RULE)],
        BASE_RULE,
      )
      .optional(),
    csv: csvSchema.optional(),
    lift: z
      .strictObject(
        { kw: kwSchema, lasts: durationSchema(SECOND_MS), tripsPerHour: wholeSchema(1, 600) },
        GROUP_RULE,
      )
      .optional(),
    peaks: listSchema(
      z.strictObject(
        {
          kw: kwSchema,
          from: momentSchema,
          until: momentSchema,
          lasts: durationSchema(SECOND_MS),
          every: durationSchema(SECOND_MS),
        },
        GROUP_RULE,
      ),
    ).default([]),
    pv: z.strictObject({ kw: kwSchema, from: momentSchema, until: momentSchema }, GROUP_RULE).optional(),
    meterEvery: durationSchema(SECOND_MS).default(5 * SECOND_MS),
    meterFaults: listSchema(
      z.strictObject(
        {
          kind: z.enum(METER_FAULTS, `must be one of ${METER_FAULTS.join(', ')}`),
          from: momentSchema,
          for: durationSchema(SECOND_MS),
        },
        GROUP_RULE,
      ),
    ).default([]),
  },
  GROUP_RULE,
);
export const buildingsSchema = listSchema(buildingSchema).default([]);
type BuildingEntry = z.output<typeof buildingSchema>;

/** The buildings with all moments as instants, and with the provisioned data of their meters. */
export function buildingsOf(
  entries: readonly BuildingEntry[],
  provision: ProvisioningFile,
  span: ScenarioSpan,
  path: string,
): readonly Building[] {
  return entries.flatMap(({ location, baseKw = 0, csv, lift, peaks, pv, meterEvery, meterFaults }) => {
    const metered = meteredAt(provision, location);
    if (metered === undefined) return [];
    const base =
      csv !== undefined
        ? recordedBase(csv, path, span)
        : typeof baseKw === 'number'
          ? [{ fromMs: span.startsAtMs, kw: baseKw }]
          : baseKw.map(({ at, kw }) => ({ fromMs: resolveMoment(at, span), kw }));
    const during = <T extends { readonly from: Moment; readonly until: Moment }>({
      from,
      until,
      ...rest
    }: T) => ({
      ...rest,
      fromMs: resolveMoment(from, span),
      untilMs: resolveMoment(until, span),
    });
    return [
      {
        ...metered,
        locationId: location,
        base: [...base].sort((a, b) => a.fromMs - b.fromMs),
        lift: lift && {
          kw: lift.kw,
          lastsMs: lift.lasts,
          everyMs: Math.round(3_600_000 / lift.tripsPerHour),
        },
        peaks: peaks.map((peak) => {
          const { lasts, every, ...rest } = during(peak);
          return { ...rest, lastsMs: lasts, everyMs: every };
        }),
        pv: pv && during(pv),
        meterEveryMs: meterEvery,
        meterFaults: meterFaults.map(({ kind, from, for: lastsMs }) => {
          const fromMs = resolveMoment(from, span);
          return { kind, fromMs, untilMs: fromMs + lastsMs };
        }),
      },
    ];
  });
}

/** From `fromMs` on the building draws `kw`; a negative value feeds power back. */
interface LoadStep {
  readonly fromMs: EpochMs;
  readonly kw: number;
}

const COLUMNS = { time: ['time'], kW: ['kW'] } as const;

/**
 * The load of a building from a CSV file: each line has a time and a power that applies until the next line.
 * @param timeZone of times without an offset
 * @throws UnusableFileError with up to twenty problems, each with its line and, if one column is wrong, with the
 * column.
 */
export function readBuildingFile(path: string, timeZone: TimeZone | undefined): readonly LoadStep[] {
  let fromMs: EpochMs = Number.NEGATIVE_INFINITY;
  return readCsv(path, {
    columns: COLUMNS,
    needed: ['time', 'kW'],
    timeZone,
    content: 'line',
    lineOf(fields): LoadStep {
      fromMs = fields.instantAfter('time', fromMs, '{} must be later than the line before');
      return { fromMs, kw: fields.number('kW', -MOST_KW, MOST_KW, 'kW') };
    },
  });
}

/**
 * The steps of the file that fall into the run, moved to its instants. The last step before the start becomes the
 * first.
 */
function recordedBase(
  { file, fromMs, timeZone }: z.output<typeof csvSchema>,
  path: string,
  { startsAtMs, endsAtMs }: ScenarioSpan,
): readonly LoadStep[] {
  const shiftMs = fromMs === undefined ? 0 : startsAtMs - fromMs;
  const filePath = resolve(dirname(path), file);
  const steps = readBuildingFile(filePath, timeZone).map((step) => ({
    ...step,
    fromMs: step.fromMs + shiftMs,
  }));
  const first = steps.findLastIndex((step) => step.fromMs <= startsAtMs);
  if (first < 0)
    throw new UnusableFileError([
      `${filePath}: begins only after the scenario; name with "from" the instant of the file that is the start`,
    ]);
  return steps.slice(first).filter((step) => step.fromMs < endsAtMs);
}

function meteredAt(provision: ProvisioningFile, locationId: string) {
  for (const { tenantUuid, locations } of provision.tenants) {
    const found = locations.find((location) => location.locationId === locationId);
    if (found?.siteMeter === undefined || found.gridLimitKw === undefined) continue;
    const { maxBuildingKw, reserveKw, pvRaisesHeadroom } = found.siteMeter;
    const { gridLimitKw } = found;
    return {
      tenantUuid,
      connectionKw: gridLimitKw,
      maxBuildingKw,
      leastReserveKw: reserveKw[0],
      pvRaisesHeadroom,
    };
  }
  return undefined;
}

/** `outside` returns the problem of a moment outside the run. */
export function buildingProblems(
  entries: readonly BuildingEntry[],
  provision: ProvisioningFile,
  outside: (moment: Moment, path: FieldPath) => readonly FieldProblem[],
): readonly FieldProblem[] {
  const seen = new Set<string>();
  return entries.flatMap(({ location, baseKw = 0, csv, peaks, pv, meterFaults }, i) => {
    const path = ['buildings', i];
    const isTwice = seen.has(location);
    seen.add(location);
    const isMetered = meteredAt(provision, location) !== undefined;
    const steps = typeof baseKw === 'number' ? [] : baseKw;
    return [
      ...(isMetered
        ? []
        : [
            {
              path: [...path, 'location'],
              message: `is ${location}; must be a location with siteMeter and gridLimitKw`,
            },
          ]),
      ...(csv !== undefined && entries[i]?.baseKw !== undefined
        ? [
            {
              path: [...path, 'baseKw'],
              message: "must be left out beside csv: the file has the building's power",
            },
          ]
        : []),
      ...(isTwice ? [{ path: [...path, 'location'], message: `${location} has a building already` }] : []),
      ...steps.flatMap(({ at }, s) => outside(at, [...path, 'baseKw', s, 'at'])),
      ...peaks.flatMap(({ from, until }, p) => [
        ...outside(from, [...path, 'peaks', p, 'from']),
        ...outside(until, [...path, 'peaks', p, 'until']),
      ]),
      ...(pv === undefined
        ? []
        : [...outside(pv.from, [...path, 'pv', 'from']), ...outside(pv.until, [...path, 'pv', 'until'])]),
      ...meterFaults.flatMap(({ from }, f) => outside(from, [...path, 'meterFaults', f, 'from'])),
    ];
  });
}
