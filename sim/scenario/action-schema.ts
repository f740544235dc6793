// Schema of a REST call in a scenario: an operation of the API by name, checked as far as possible before the run.
import { z } from 'zod';
import type { TenantUuid } from '../../machines/values/ids.js';
import { ENDPOINTS } from '../../src/features/endpoints.js';
import type { FieldPath, FieldProblem } from '../../src/provisioning/cross-checks.js';
import { GROUP_RULE, idSchema, textSchema, wholeSchema } from '../../src/provisioning/field-schemas.js';
import { suggest } from '../../src/provisioning/parse-yaml.js';
import { toInstant } from '../../src/wire/instants.js';
import type { EndpointDescription } from '../../src/wire/openapi.js';
import { plainRule } from '../../src/wire/plain-errors.js';
import { momentSchema, parseMoment, resolveMoment, type ScenarioSpan } from './moment.js';

const TEXTS_RULE = 'must be a group of fields with texts';

export const OPERATIONS: ReadonlyMap<string, EndpointDescription> = new Map(
  ENDPOINTS.map((endpoint) => [endpoint.operationId, endpoint]),
);

const textsSchema = z.record(z.string(), textSchema(1000), TEXTS_RULE).default({});

export const actionSchema = z.strictObject(
  {
    at: momentSchema,
    call: textSchema(100),
    tenant: idSchema<TenantUuid>().optional(),
    params: textsSchema,
    query: textsSchema,
    body: z.unknown().optional(),
    status: wholeSchema(200, 599).optional(),
    as: z
      .string()
      .regex(/^[a-z]\w*$/i, 'must be a word')
      .optional(),
  },
  GROUP_RULE,
);
export type ActionEntry = z.output<typeof actionSchema>;
/** A call as the scenario writes it. */
export type ActionInput = z.input<typeof actionSchema>;

/** Splits a value `$name.field`, a reference to a field of the answer kept as `name`. */
export function parseKept(value: string): { readonly name: string; readonly field: string } | undefined {
  const [, name, field] = /^\$(\w+)\.(\w+)$/.exec(value) ?? [];
  return name === undefined || field === undefined ? undefined : { name, field };
}

/** The request body. Instants in it may have any form that a scenario allows for a moment. */
export function bodyAt(body: unknown, span: ScenarioSpan): unknown {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return body;
  const timed = ['startTime', 'endTime'].flatMap((field) => {
    const value: unknown = Reflect.get(body, field);
    const moment = typeof value === 'string' ? parseMoment(value) : undefined;
    return moment === undefined ? [] : [[field, toInstant(resolveMoment(moment, span))]];
  });
  return { ...body, ...Object.fromEntries(timed) };
}

function paramNames({ path }: EndpointDescription): readonly string[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name ?? '');
}

function paramProblems(endpoint: EndpointDescription, { params }: ActionEntry): readonly FieldProblem[] {
  const names = paramNames(endpoint);
  const missing = names
    .filter((name) => !Object.hasOwn(params, name))
    .map((name) => ({ path: ['params', name], message: `is missing; ${endpoint.path} needs it` }));
  const unknown = Object.keys(params)
    .filter((name) => !names.includes(name))
    .map((name) => ({
      path: ['params', name],
      message: `is no parameter of ${endpoint.path}; ${suggest(name, names)}`,
    }));
  return [...missing, ...unknown];
}

function schemaProblems(
  schema: z.ZodType | undefined,
  value: unknown,
  field: string,
): readonly FieldProblem[] {
  const issues = schema?.safeParse(value, { error: plainRule }).error?.issues ?? [];
  return issues.map(({ path, message }) => ({
    path: [field, ...path.filter((step) => typeof step !== 'symbol')],
    message: `would be refused: ${message}; add "status: 400" if that is intended`,
  }));
}

/** The contract requires the service to ignore an unknown query field. In a scenario such a field is a misspelling. */
function queryProblems(
  { querySchema, path }: EndpointDescription,
  { query }: ActionEntry,
): readonly FieldProblem[] {
  const known = Object.keys(querySchema?.shape ?? {});
  return Object.keys(query)
    .filter((name) => !known.includes(name))
    .map((name) => ({
      path: ['query', name],
      message: `is no query parameter of ${path}; ${suggest(name, known)}`,
    }));
}

/** Problems of `action` on its own; their paths are relative to it. */
export function actionProblems(action: ActionEntry, span: ScenarioSpan): readonly FieldProblem[] {
  const endpoint = OPERATIONS.get(action.call);
  if (endpoint === undefined) {
    const path: FieldPath = ['call'];
    return [
      { path, message: `is no operation of the interface; ${suggest(action.call, [...OPERATIONS.keys()])}` },
    ];
  }
  const problems = [...paramProblems(endpoint, action), ...queryProblems(endpoint, action)];
  const isRefusalMeant = (action.status ?? endpoint.status) >= 400;
  if (isRefusalMeant) return problems;
  if (action.body !== undefined && endpoint.requestSchema === undefined) {
    return [...problems, { path: ['body'], message: `is no field of ${action.call}; leave it out` }];
  }
  return [
    ...problems,
    ...schemaProblems(endpoint.requestSchema, bodyAt(action.body, span), 'body'),
    ...schemaProblems(endpoint.querySchema, action.query, 'query'),
  ];
}
