// Turns every thrown error into an answer with the envelope and a status. It logs the service's own faults.
import { DomainError } from '../../../machines/values/errors.js';
import { toErrorDescription } from '../../features/tokens/contract.js';
import { issueToken } from '../../features/tokens/tokens.js';
import type { Log } from '../../ports/log.js';
import { StoreUnavailableError } from '../../ports/store.js';
import { errorEnvelope, HTTP_STATUS } from '../../wire/error-envelope.js';
import { type Exchange, largeBody, sendJson, toJson, UNREADABLE_BODY } from './exchange.js';
import { type Headers, NO_HEADERS, Refusal, retryAfter } from './refusal.js';

const STORE_WAIT_MS = 1000;

/** A function that answers every error with a refusal. */
export function createErrorHandler(log: Log): (error: unknown, exchange: Exchange) => void {
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

  return (error, exchange) => {
    const refusal = refusalOf(error, exchange.requestId);
    if (exchange.response.headersSent) exchange.response.destroy();
    else sendRefusal(exchange, refusal);
  };
}

/**
 * Answers with the envelope. A token request gets RFC 6749's `error_description` too. `status` replaces
 * the code's own status if HTTP has a closer one.
 */
export function sendRefusal(
  exchange: Exchange,
  refusal: DomainError,
  status: number = HTTP_STATUS[refusal.code],
): void {
  const envelope = errorEnvelope(refusal.code, refusal.message, exchange.requestId);
  const body =
    exchange.path === issueToken.path
      ? { ...envelope, error_description: toErrorDescription(refusal.message) }
      : envelope;
  sendJson(exchange, status, toJson(body), headersOf(refusal));
}

function headersOf(refusal: DomainError): Headers {
  return refusal instanceof Refusal ? refusal.headers : NO_HEADERS;
}

const PACKED_BODY = 'Content-Encoding: the body cannot be unpacked by it; leave it out and send plain JSON';
const ENCODED_BODY =
  'The body is encoded in a way this service does not read: send UTF-8 JSON, plain or in gzip, deflate or br.';

/**
 * Errors of body-parser have a status and are meant for the client.
 * Their messages quote the body and are not passed on.
 */
function refusalOfBodyParser(error: unknown): DomainError | undefined {
  if (!(error instanceof Error) || !('expose' in error) || !('status' in error)) return undefined;
  switch (error.status) {
    case 400:
      // Errors of zlib have a code.
      return new DomainError('INVALID_REQUEST_BODY', 'code' in error ? PACKED_BODY : UNREADABLE_BODY);
    case 413:
      return new DomainError('PAYLOAD_TOO_LARGE', largeBody('limit' in error ? Number(error.limit) : 0));
    case 415:
      return new DomainError('UNSUPPORTED_MEDIA_TYPE', ENCODED_BODY);
    default:
      return undefined;
  }
}
