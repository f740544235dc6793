// A failed request, with the fields of the error envelope.
import { HeadroomError } from '../../client/headroom.js';
import type { ErrorCode } from '../../machines/values/errors.js';

/** `UNREACHABLE`: no answer at all. `UNREADABLE`: the answer does not come from this service. */
export type ApiErrorCode = ErrorCode | 'UNREACHABLE' | 'UNREADABLE';

export class ApiError extends Error {
  /** 0 if there was no answer. */
  readonly status: number;
  readonly code: ApiErrorCode;
  readonly requestId: string | undefined;
  /** The invalid field of the request body, such as `limitKw`. */
  readonly field: string | undefined;

  constructor(status: number, code: ApiErrorCode, message: string, requestId?: string) {
    super(message);
    this.name = 'ApiError';
    this.status = status;
    this.code = code;
    this.requestId = requestId;
    this.field = code === 'INVALID_REQUEST_BODY' ? /^([\w.[\]]+): /.exec(message)?.[1] : undefined;
  }
}

/** Converts any thrown value. */
export function asApiError(thrown: unknown): ApiError {
  if (thrown instanceof ApiError) return thrown;
  if (!(thrown instanceof HeadroomError) || thrown.status === 0)
    return new ApiError(0, 'UNREACHABLE', 'The service does not answer.');
  const { status, code, message, requestId } = thrown;
  return code === 'UNKNOWN_ANSWER'
    ? new ApiError(status, 'UNREADABLE', `A proxy between this page and the service answered ${status}.`)
    : new ApiError(status, code as ErrorCode, message, requestId);
}
