// An endpoint: an operation of a feature with its description. One row serves the route and OpenAPI.
import type { z } from 'zod';
import type { Asked, Core, Operation, ParametersOf } from '../../actors/core.js';
import type { Scope } from '../../ports/records.js';
import type { EndpointDescription } from '../../wire/openapi.js';

/** A value of a row; null is an empty one. */
export type CsvCell = string | number | boolean | null;

/** The answer as CSV, for a request that accepts it. */
export interface CsvForm<View = never> {
  readonly columns: readonly string[];
  rows(view: View): readonly Readonly<Record<string, CsvCell>>[];
}

export interface Endpoint<Context = Core> extends EndpointDescription, Operation<Context> {
  readonly scope: Scope;
  /** The operation returns the same object until the answer changes, so its serialized form may be cached. */
  readonly isAnswerStable?: boolean;
  /** Advice in the answer to a DELETE of the whole resource. */
  readonly insteadOfDelete?: string;
  readonly csv?: CsvForm;
  readonly entityTagOf?: (view: never) => string;
}

/** An answer has the shape that OpenAPI describes. */
type AnswerBy<View extends z.ZodType> = z.output<View> & object;

interface Definition<
  Context,
  Path extends string,
  Body extends z.ZodType,
  Query extends z.ZodObject,
  View extends z.ZodType,
> extends Omit<
    Endpoint<Context>,
    'handle' | 'path' | 'requestSchema' | 'querySchema' | 'responseSchema' | 'status' | 'csv' | 'entityTagOf'
  > {
  readonly path: Path;
  readonly status?: 201;
  readonly requestSchema?: Body;
  /** Every parameter may be left out. */
  readonly querySchema?: Query;
  readonly responseSchema: View;
  readonly csv?: CsvForm<z.output<View>>;
  /** The `ETag` of the answer: it changes with all that requests can change. */
  readonly entityTagOf?: (view: z.output<View>) => string;
  handle(
    context: Context,
    asked: Asked<ParametersOf<Path>, z.output<Body>, z.output<Query>>,
  ): AnswerBy<View> | Promise<AnswerBy<View>>;
}

export function endpoint<
  Path extends string,
  Body extends z.ZodType,
  Query extends z.ZodObject,
  View extends z.ZodType,
  Context = Core,
>(definition: Definition<Context, Path, Body, Query, View>): Endpoint<Context> {
  return { status: 200, ...definition };
}

/** Fields of the extensions for operators. */
export const EXTENSION = { tag: 'operators', isExtension: true } as const;
