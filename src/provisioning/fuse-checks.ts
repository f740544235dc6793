// Checks the fuses of a location: feeders that do not exist or form a loop, ratings that no charger can use.
import { z } from 'zod';
import {
  type Connection,
  type Feeder,
  Fuses,
  nameOfCircuitPhase,
  PHASE_ROTATIONS,
} from '../../machines/power/fuses.js';
import { MINIMUM_CURRENT_A, MINIMUM_TENTHS_A, tenthsOfDcW } from '../../machines/values/units.js';
import { dcPowerSchema, efficiencySchema, phaseCurrentsSchema } from './field-schemas.js';
import { collect, type FieldPath, type FieldProblem, type Found } from './found-fields.js';

// Only the fields that these checks need: the schema of the file reports all other errors.
const connectionShape = z.object({ currentA: phaseCurrentsSchema(), voltageV: z.number().default(230) });
const feederShape = z.object({
  name: z.string(),
  currentA: phaseCurrentsSchema(),
  parent: z.string().nullable().default(null),
});
const acShape = z.object({
  powerType: z.literal('AC').optional(),
  phases: z.literal([1, 3]),
  rotation: z.enum(PHASE_ROTATIONS).optional(),
  voltageV: z.number().default(230),
  failsafeA: z.number().default(MINIMUM_CURRENT_A),
});
const dcShape = z
  .object({
    powerType: z.literal('DC'),
    voltageV: z.number().min(1).default(230),
    efficiency: efficiencySchema(),
    failsafeKw: dcPowerSchema(0).default(0),
  })
  .transform(({ voltageV, efficiency, failsafeKw }) => {
    const dc = { maxPowerKw: failsafeKw, minPowerKw: 0, efficiency };
    const failsafeA = tenthsOfDcW(1000 * failsafeKw, { voltageV, dc }) / 10;
    return { phases: 3 as const, rotation: undefined, voltageV, failsafeA, failsafeKw };
  });
const connectorShape = z.union([acShape, dcShape]);

/** All errors of the fuses of `location`, raw data of any shape, and of its chargers' places in them. */
export function fuseProblems(location: Found): readonly FieldProblem[] {
  const connectors = collect(location, ['chargers', '*', 'connectors', '*']);
  return [
    ...unknownFeeders(location),
    ...loops(location),
    ...connectors.flatMap(rotationProblems),
    ...ratingProblems(location),
  ];
}

function rotationProblems(connector: Found): readonly FieldProblem[] {
  const parsed = connectorShape.safeParse(connector.value);
  if (!parsed.success || parsed.data.rotation === undefined) return [];
  const { phases, rotation } = parsed.data;
  if (rotation.length === phases) return [];
  const must =
    phases === 1 ? 'one letter (R, S or T) with phases: 1' : 'three letters (RST, …) with phases: 3';
  return [{ path: [...connector.path, 'rotation'], message: `is ${rotation}; must be ${must}` }];
}

function unknownFeeders(location: Found): readonly FieldProblem[] {
  const names = collect(location, ['feeders', '*', 'name'])
    .map(({ value }) => value)
    .filter((value) => typeof value === 'string');
  const known = new Set(names);
  const named = [
    ...collect(location, ['feeders', '*', 'parent']),
    ...collect(location, ['chargers', '*', 'feeder']),
  ];
  const advice =
    known.size === 0 ? 'this location has no feeders' : `must be one of this location: ${names.join(', ')}`;
  return named
    .filter(({ value }) => typeof value === 'string' && !known.has(value))
    .map(({ path, value }) => ({ path, message: `is "${value}"; ${advice}` }));
}

function loops(location: Found): readonly FieldProblem[] {
  const parentOf = parentsOf(location);
  return collect(location, ['feeders', '*', 'parent']).flatMap((parent) => {
    const own = collect({ ...location, value: feederAt(location, parent.path) }, ['name'])[0]?.value;
    if (typeof own !== 'string' || typeof parent.value !== 'string') return [];
    const round = [own];
    let above: string | undefined = parent.value;
    while (above !== undefined && !round.includes(above)) {
      round.push(above);
      above = parentOf.get(above);
    }
    if (above !== own) return [];
    const message = `forms a circle: ${[...round, own].join(' under ')}; must end at the connection: leave one parent out`;
    return [{ path: parent.path, message }];
  });
}

function parentsOf(location: Found): ReadonlyMap<string, string> {
  const parents = new Map<string, string>();
  for (const feeder of collect(location, ['feeders', '*'])) {
    const name = collect(feeder, ['name'])[0]?.value;
    const parent = collect(feeder, ['parent'])[0]?.value;
    if (typeof name === 'string' && typeof parent === 'string') parents.set(name, parent);
  }
  return parents;
}

/** The feeder on the path of one of its fields. */
function feederAt(location: Found, path: FieldPath): unknown {
  return collect(location, ['feeders', '*']).find(({ path: own }) => own.every((step, i) => step === path[i]))
    ?.value;
}

/** Contradicting ratings; only fuses that parse are checked. */
function ratingProblems(location: Found): readonly FieldProblem[] {
  const connection = connectionShape.safeParse(collect(location, ['connection'])[0]?.value);
  const feeders = collect(location, ['feeders', '*']).map(({ value }) => feederShape.safeParse(value));
  const fuses = new Fuses(
    connection.success ? connection.data : null,
    feeders.flatMap(({ success, data }): Feeder[] => (success ? [data] : [])),
  );
  return collect(location, ['chargers', '*']).flatMap((charger) => {
    const feeder = collect(charger, ['feeder'])[0]?.value;
    return collect(charger, ['connectors', '*']).flatMap((connector) =>
      connectorProblems(connector, fuses, typeof feeder === 'string' ? feeder : null, connection.data),
    );
  });
}

function connectorProblems(
  connector: Found,
  fuses: Fuses,
  feeder: string | null,
  connection: Connection | undefined,
): readonly FieldProblem[] {
  const parsed = connectorShape.safeParse(connector.value);
  if (!parsed.success) return [];
  const { phases, rotation, voltageV, failsafeA } = parsed.data;
  const problems: FieldProblem[] = [];
  if (connection !== undefined && voltageV !== connection.voltageV) {
    const message = `is ${voltageV}; must be ${connection.voltageV}, the voltageV of the connection: amperes add up at one voltage`;
    problems.push({ path: [...connector.path, 'voltageV'], message });
  }
  for (const place of fuses.circuitPhasesOf({ phases, rotation: rotation ?? null, feeder })) {
    const circuitPhase = fuses.circuitPhases[place];
    if (circuitPhase === undefined) continue;
    const carriedA = circuitPhase.capacityTenthsA / 10;
    if (circuitPhase.capacityTenthsA < MINIMUM_TENTHS_A) {
      const wayOut =
        phases === 1 ? 'name a phase that has one' : 'a connector of three phases needs all of them';
      const message = `would load ${nameOfCircuitPhase(circuitPhase)}, which has no fuse; ${wayOut}`;
      const field = 'failsafeKw' in parsed.data ? 'powerType' : phases === 1 ? 'rotation' : 'phases';
      problems.push({ path: [...connector.path, field], message });
      break;
    }
    if (failsafeA > carriedA) {
      const isDc = 'failsafeKw' in parsed.data;
      const is = isDc ? `takes up to ${failsafeA} A from each phase` : `is ${failsafeA}`;
      const message = `${is}; must be at most the ${carriedA} A of ${nameOfCircuitPhase(circuitPhase)}`;
      problems.push({ path: [...connector.path, isDc ? 'failsafeKw' : 'failsafeA'], message });
      break;
    }
  }
  return problems;
}
