// Reads and checks the parameters of a query. A refusal names the parameter.
import type { z } from 'zod';
import { parameterMessage, wrongParameter } from '../../wire/plain-errors.js';
import { parsed } from './read-body.js';

/** The parameters of `schema`; others are ignored. @throws DomainError INVALID_REQUEST_BODY naming each. */
export function parseQuery<S extends z.ZodObject>(schema: S, text: string): z.output<S> {
  const given = new URLSearchParams(text);
  const known: Record<string, string> = {};
  for (const name of Object.keys(schema.shape)) {
    const values = given.getAll(name);
    if (values.length > 1) {
      throw wrongParameter(name, 'given more than once; give it once');
    }
    for (const value of values) known[name] = value;
  }
  return parsed(schema, known, parameterMessage);
}

/** The text after `?` in a request's target. */
export function queryOf(target: string): string {
  const mark = target.indexOf('?');
  return mark === -1 ? '' : target.slice(mark + 1);
}
