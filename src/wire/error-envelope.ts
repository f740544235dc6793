// The one error envelope of section 7, and the one table from code to HTTP status.
import { z } from 'zod';
import { ERROR_CODES, type ErrorCode } from '../../machines/values/errors.js';

export const errorEnvelopeSchema = z
  .object({
    error: z.object({ code: z.enum(ERROR_CODES), message: z.string(), requestId: z.uuid() }),
  })
  .meta({ id: 'ErrorEnvelope' });
export type ErrorEnvelope = z.output<typeof errorEnvelopeSchema>;

export const HTTP_STATUS = {
  INVALID_REQUEST_BODY: 400,
  TARGET_INACTIVE: 400,
  CLUSTER_EMPTY: 400,
  CLUSTER_INACTIVE: 400,
  UNAUTHORIZED: 401,
  FEATURE_NOT_ENABLED: 403,
  INSUFFICIENT_SCOPE: 403,
  LOCATION_NOT_FOUND: 404,
  CHARGER_NOT_FOUND: 404,
  CLUSTER_NOT_FOUND: 404,
  PROFILE_NOT_FOUND: 404,
  SESSION_NOT_FOUND: 404,
  NOT_FOUND: 404,
  METHOD_NOT_ALLOWED: 405,
  REQUEST_IN_PROGRESS: 409,
  PRECONDITION_FAILED: 412,
  PAYLOAD_TOO_LARGE: 413,
  UNSUPPORTED_MEDIA_TYPE: 415,
  IDEMPOTENCY_KEY_REUSED: 422,
  RATE_LIMITED: 429,
  INTERNAL_ERROR: 500,
  SERVICE_UNAVAILABLE: 503,
} as const satisfies Record<ErrorCode, number>;

export function errorEnvelope(code: ErrorCode, message: string, requestId: string): ErrorEnvelope {
  return { error: { code, message, requestId } };
}
