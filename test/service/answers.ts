// The check of every answer: the exact shape of its endpoint, or the error envelope.
import { expect } from 'vitest';
import type { z } from 'zod';
import type { ErrorCode } from '../../machines/values/errors.js';
import { errorEnvelopeSchema, HTTP_STATUS } from '../../src/wire/error-envelope.js';
import type { Answer } from './running-service.js';

const INSTANT_FIELD = /"(?:\w+Time|\w+At)":"([^"]*)"/g;
const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** The body, exactly of `schema`. A schema drops unknown fields, so the parsed body must equal the whole. */
function exactly<S extends z.ZodType>(body: unknown, schema: S): z.output<S> {
  const parsed = schema.safeParse(body);
  expect(parsed.error?.issues, JSON.stringify(body)).toBeUndefined();
  expect(body).toStrictEqual(parsed.data);
  for (const [, text] of JSON.stringify(body).matchAll(INSTANT_FIELD)) expect(text).toMatch(INSTANT);
  return schema.parse(body);
}

/** The body of a success, which must fit `schema`. */
export function bodyOf<S extends z.ZodType>(answer: Answer, schema: S, status = 200): z.output<S> {
  expect(answer.status, JSON.stringify(answer.body)).toBe(status);
  expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8');
  expect(answer.headers.get('x-request-id')).toMatch(UUID);
  return exactly(answer.body, schema);
}

/** The message of a failure, after checks of its envelope (section 7), status and request id. */
export function refusalOf(answer: Answer, code: ErrorCode): string {
  const { error } = exactly(answer.body, errorEnvelopeSchema);
  expect({ status: answer.status, code: error.code }, error.message).toEqual({
    status: HTTP_STATUS[code],
    code,
  });
  expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8');
  expect(error.requestId).toBe(answer.headers.get('x-request-id'));
  expect(error.message).not.toBe('');
  return error.message;
}
