// Checks plain messages without zod, which takes longer than all other work on a heartbeat but its sockets and its rows.
// Every check follows from the schema, and a message that is not plain is left to zod.
import { z } from 'zod';

type Check = (value: unknown) => boolean;

/**
 * A check that accepts a message only if `schema` does and returns it unchanged. It accepts neither a message with an
 * unknown field nor one with a field of a kind that is missing below: such a message may be valid all the same.
 */
export function quickCheckOf<S extends z.ZodObject>(schema: S): (message: unknown) => message is z.output<S> {
  // A rule about several fields needs zod.
  if ((schema.def.checks ?? []).length > 0) return (_): _ is z.output<S> => false;
  const checks = new Map<string, Check>();
  const required = new Set<string>();
  for (const [name, field] of Object.entries(schema.shape)) {
    const isOptional = field instanceof z.ZodOptional;
    const check = checkOf(isOptional ? field.unwrap() : field);
    if (check !== undefined) checks.set(name, check);
    if (!isOptional) required.add(name);
  }
  return (message): message is z.output<S> => {
    if (!isRecord(message)) return false;
    let missing = required.size;
    for (const name of Object.keys(message)) {
      if (checks.get(name)?.(message[name]) !== true) return false;
      if (required.has(name)) missing--;
    }
    return missing === 0;
  };
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Undefined for a kind of schema that needs zod. */
function checkOf(schema: z.core.$ZodType): Check | undefined {
  if (schema instanceof z.ZodNumber) return numberCheckOf(schema.def.checks ?? []);
  if (schema instanceof z.ZodString) return textCheckOf(schema.def.checks ?? []);
  if (schema instanceof z.ZodBoolean) return (value) => typeof value === 'boolean';
  if (schema instanceof z.ZodTuple) return tupleCheckOf(schema);
  const isChoice =
    schema instanceof z.ZodLiteral || schema instanceof z.ZodEnum || schema instanceof z.ZodUnion;
  const { values } = schema._zod;
  if (!isChoice || values === undefined || (schema.def.checks ?? []).length > 0) return undefined;
  const allowed: ReadonlySet<unknown> = values;
  return (value) => allowed.has(value);
}

function numberCheckOf(rules: readonly z.core.$ZodCheck<never>[]): Check | undefined {
  let [least, most, isWhole] = [-Number.MAX_VALUE, Number.MAX_VALUE, false];
  for (const rule of rules) {
    if (rule instanceof z.core.$ZodCheckNumberFormat && rule._zod.def.format === 'safeint') isWhole = true;
    else if (rule instanceof z.core.$ZodCheckGreaterThan && rule._zod.def.inclusive)
      least = Math.max(least, Number(rule._zod.def.value));
    else if (rule instanceof z.core.$ZodCheckLessThan && rule._zod.def.inclusive)
      most = Math.min(most, Number(rule._zod.def.value));
    else return undefined;
  }
  return (value) =>
    typeof value === 'number' && value >= least && value <= most && (!isWhole || Number.isSafeInteger(value));
}

function textCheckOf(rules: readonly z.core.$ZodCheck<never>[]): Check | undefined {
  let [least, most] = [0, Number.MAX_SAFE_INTEGER];
  for (const rule of rules) {
    if (rule instanceof z.core.$ZodCheckMinLength) least = Math.max(least, rule._zod.def.minimum);
    else if (rule instanceof z.core.$ZodCheckMaxLength) most = Math.min(most, rule._zod.def.maximum);
    else return undefined;
  }
  return (value) => typeof value === 'string' && value.length >= least && value.length <= most;
}

function tupleCheckOf({ def }: z.ZodTuple): Check | undefined {
  const items = def.items.flatMap((item) => checkOf(item) ?? []);
  if (items.length < def.items.length || def.rest !== null || (def.checks ?? []).length > 0) return undefined;
  return (value) =>
    Array.isArray(value) && value.length === items.length && items.every((check, i) => check(value[i]));
}
