// An endpoint: an operation of a feature with its description. One row serves the route and OpenAPI.
import type { z } from 'zod';
import type { Asked, Core, Operation, ParametersOf } from '../../actors/core.js';
import type { Scope } from '../../ports/records.js';
import type { EndpointDescription } from '../../wire/openapi.js';

export interface Endpoint<Context = Core> extends EndpointDescription, Operation<Context> {
  readonly scope: Scope;
  /** The operation returns the same object until the answer changes, so its serialized form may be cached. */
  readonly isAnswerStable?: boolean;
  /** Advice in the answer to a DELETE of the whole resource. */
  readonly insteadOfDelete?: string;
}

interface Definition<Context, Path extends string, Body extends z.ZodType, Query extends z.ZodObject>
  extends Omit<Endpoint<Context>, 'handle' | 'path' | 'requestSchema' | 'querySchema' | 'status'> {
  readonly path: Path;
  readonly status?: 201;
  readonly requestSchema?: Body;
  /** Every parameter may be left out. */
  readonly querySchema?: Query;
  handle(
    context: Context,
    asked: Asked<ParametersOf<Path>, z.output<Body>, z.output<Query>>,
  ): object | Promise<object>;
}

export function endpoint<
  Path extends string,
  Body extends z.ZodType,
  Query extends z.ZodObject,
  Context = Core,
>(definition: Definition<Context, Path, Body, Query>): Endpoint<Context> {
  return { status: 200, ...definition };
}

/** Fields of the extensions for operators. */
export const EXTENSION = { tag: 'operators', isExtension: true } as const;
