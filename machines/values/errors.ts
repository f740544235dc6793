// Rejections: the closed list of error codes, for every inbound path.

/** All codes of the contract's section 7 and of the decisions that complete it. */
export const ERROR_CODES = [
  'INVALID_REQUEST_BODY',
  'TARGET_INACTIVE',
  'CLUSTER_EMPTY',
  'CLUSTER_INACTIVE',
  'UNAUTHORIZED',
  'FEATURE_NOT_ENABLED',
  'INSUFFICIENT_SCOPE',
  'LOCATION_NOT_FOUND',
  'CHARGER_NOT_FOUND',
  'CLUSTER_NOT_FOUND',
  'PROFILE_NOT_FOUND',
  'SESSION_NOT_FOUND',
  'NOT_FOUND',
  'METHOD_NOT_ALLOWED',
  'REQUEST_IN_PROGRESS',
  'PRECONDITION_FAILED',
  'PAYLOAD_TOO_LARGE',
  'UNSUPPORTED_MEDIA_TYPE',
  'IDEMPOTENCY_KEY_REUSED',
  'RATE_LIMITED',
  'INTERNAL_ERROR',
  'SERVICE_UNAVAILABLE',
] as const;

export type ErrorCode = (typeof ERROR_CODES)[number];

/** A request that the domain refuses. Any other thrown error is a defect of Headroom. */
export class DomainError extends Error {
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string) {
    super(message);
    this.name = 'DomainError';
    this.code = code;
  }
}
