// A failed request, with the fields of the error envelope.
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

/** The error of an answer that is not 2xx. */
export async function errorOf(response: Response): Promise<ApiError> {
  const envelope: unknown = await response.json().catch(() => undefined);
  const error = isEnvelope(envelope) ? envelope.error : undefined;
  if (error !== undefined) return new ApiError(response.status, error.code, error.message, error.requestId);
  return new ApiError(
    response.status,
    'UNREADABLE',
    `A proxy between this page and the service answered ${response.status}.`,
  );
}

/** Converts any thrown value. */
export function asApiError(thrown: unknown): ApiError {
  if (thrown instanceof ApiError) return thrown;
  return new ApiError(0, 'UNREACHABLE', 'The service does not answer.');
}

interface Envelope {
  readonly error: { readonly code: ErrorCode; readonly message: string; readonly requestId: string };
}

function isEnvelope(value: unknown): value is Envelope {
  if (typeof value !== 'object' || value === null || !('error' in value)) return false;
  const { error } = value;
  return typeof error === 'object' && error !== null && 'code' in error && 'message' in error;
}
