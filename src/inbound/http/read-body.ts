// Reads and checks a body. A refusal names the field and the rule.
import express, { type Request, type Response } from 'express';
import type { z } from 'zod';
import { DomainError } from '../../../machines/values/errors.js';
import { parameterMessage, plainRule, wrongParameter } from '../../wire/plain-errors.js';

const JSON_TYPES = ['application/json', '+json'];
const FORM_TYPE = 'application/x-www-form-urlencoded';
const ISSUES_SHOWN = 5;

/** Reads a request's body as plain data; a request without one gives an empty object. */
export type BodyReader = (request: Request, response: Response) => Promise<unknown>;

/** A reader of JSON, and with `form` of forms too. @throws DomainError UNSUPPORTED_MEDIA_TYPE */
export function createBodyReader(options: {
  readonly limitBytes: number;
  readonly form: boolean;
}): BodyReader {
  const always = () => true;
  const limit = options.limitBytes;
  const readJson = express.json({ limit, strict: false, type: always });
  const readForm = express.urlencoded({ limit, extended: false, type: always });

  return (request, response) => {
    if (!hasBody(request)) return Promise.resolve({});
    const isForm = options.form && Boolean(request.is(FORM_TYPE));
    if (!isForm && !request.is(JSON_TYPES)) {
      const accepted = options.form ? `${FORM_TYPE} or application/json` : 'application/json';
      throw new DomainError('UNSUPPORTED_MEDIA_TYPE', `Content-Type must be ${accepted}.`);
    }
    return new Promise((resolve, reject) => {
      (isForm ? readForm : readJson)(request, response, (error?: unknown) =>
        error === undefined ? resolve(request.body) : reject(error),
      );
    });
  };
}

function hasBody(request: Request): boolean {
  const { 'content-length': length, 'transfer-encoding': encoding } = request.headers;
  return encoding !== undefined || (length !== undefined && Number(length) > 0);
}

/** The body by `schema`, unknown fields left out. @throws DomainError INVALID_REQUEST_BODY naming each field. */
export function parseBody<S extends z.ZodType>(schema: S, body: unknown): z.output<S> {
  return parsed(schema, body, (place, rule) => `${place === '' ? 'body' : place}: ${rule}`);
}

/** The same for other data. `describe` makes the message of one issue; its place is empty for the whole. */
export function parsed<S extends z.ZodType>(
  schema: S,
  data: unknown,
  describe: (place: string, rule: string) => string,
): z.output<S> {
  const result = schema.safeParse(data, { error: plainRule });
  if (result.success) return result.data;
  const shown = result.error.issues
    .slice(0, ISSUES_SHOWN)
    .map((issue) => describe(issue.path.join('.'), issue.message));
  throw new DomainError('INVALID_REQUEST_BODY', shown.join('; '));
}

// Reads and checks the parameters of a query. A refusal names the parameter.

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
