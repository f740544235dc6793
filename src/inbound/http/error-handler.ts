// Turns every thrown error into an answer with the envelope and a status. It logs the service's own faults.
import type { NextFunction, Request } from 'express';
import { DomainError, type ErrorCode } from '../../../machines/values/errors.js';
import { toErrorDescription } from '../../features/tokens/contract.js';
import { issueToken } from '../../features/tokens/tokens.js';
import type { Log } from '../../ports/log.js';
import { StoreUnavailableError } from '../../ports/store.js';
import { errorEnvelope, HTTP_STATUS } from '../../wire/error-envelope.js';
import { type Answer, sendJson, toJson } from './exchange.js';
import { type Headers, NO_HEADERS, Refusal, retryAfter } from './refusal.js';

const STORE_WAIT_MS = 1000;

/** Express's last handler: it answers every error with a refusal. */
export function createErrorHandler(log: Log) {
  function refusalOf(error: unknown, requestId: string): DomainError {
    if (error instanceof DomainError) return error;
    if (error instanceof StoreUnavailableError) {
      log.warn({ requestId, err: error }, 'store unavailable');
      return new Refusal(
        'SERVICE_UNAVAILABLE',
        error.isOutcomeUnknown
          ? 'The database failed while it stored this change: check for the change before you send it again.'
          : 'Nothing can be stored now, and nothing was changed: try again later.',
        retryAfter(STORE_WAIT_MS),
      );
    }
    const unreadable = refusalOfBodyParser(error);
    if (unreadable !== undefined) return unreadable;
    log.error({ requestId, err: error }, 'request failed');
    return new DomainError('INTERNAL_ERROR', 'The service failed: report it with this requestId.');
  }

  // Express recognizes an error handler by its four parameters.
  return (error: unknown, _request: Request, response: Answer, _next: NextFunction): void => {
    const refusal = refusalOf(error, response.locals.requestId);
    if (response.headersSent) response.destroy();
    else sendRefusal(response, refusal);
  };
}

/**
 * Answers with the envelope. A token request gets RFC 6749's `error_description` too. `status` replaces
 * the code's own status if HTTP has a closer one.
 */
export function sendRefusal(
  response: Answer,
  refusal: DomainError,
  status: number = HTTP_STATUS[refusal.code],
): void {
  const envelope = errorEnvelope(refusal.code, refusal.message, response.locals.requestId);
  const body =
    response.req.path === issueToken.path
      ? { ...envelope, error_description: toErrorDescription(refusal.message) }
      : envelope;
  sendJson(response, status, toJson(body), headersOf(refusal));
}

function headersOf(refusal: DomainError): Headers {
  return refusal instanceof Refusal ? refusal.headers : NO_HEADERS;
}

const OF_STATUS: Readonly<Record<number, readonly [ErrorCode, string]>> = {
  400: ['INVALID_REQUEST_BODY', 'body: cannot be read; send valid JSON'],
  413: ['PAYLOAD_TOO_LARGE', 'The body is larger than this service accepts.'],
  415: [
    'UNSUPPORTED_MEDIA_TYPE',
    'The body is encoded in a way this service does not read: send UTF-8 JSON.',
  ],
};

/**
 * Errors of body-parser have a status and are meant for the client.
 * Their messages quote the body and are not passed on.
 */
function refusalOfBodyParser(error: unknown): DomainError | undefined {
  if (!(error instanceof Error) || !('expose' in error) || !('status' in error)) return undefined;
  const known = typeof error.status === 'number' ? OF_STATUS[error.status] : undefined;
  return known && new DomainError(...known);
}
