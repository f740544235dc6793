// Answers bytes that are no HTTP request, or only part of one, with the envelope, and closes the connection.
import { randomUUID } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { DomainError, type ErrorCode } from '../../../machines/values/errors.js';
import type { Metrics } from '../../metrics.js';
import { errorEnvelope } from '../../wire/error-envelope.js';
import { toJson } from '../../wire/json.js';
import { toErrorDescription } from '../../wire/oauth.js';
import type { Connection, Connections, Exchange } from './connections.js';
import { sendRefusal } from './error-handler.js';
import type { RequestLog, Unanswered } from './exchange.js';

interface Unreadable {
  readonly status: number;
  /** As the metric names it. */
  readonly reason: 'malformed' | 'headers' | 'chunks' | 'late';
  readonly code: ErrorCode;
  readonly message: string;
}

const MALFORMED: Unreadable = {
  status: 400,
  reason: 'malformed',
  code: 'INVALID_REQUEST_BODY',
  message: 'This is not an HTTP request.',
};
const UNREADABLE: Readonly<Record<string, Unreadable>> = {
  HPE_HEADER_OVERFLOW: {
    status: 431,
    reason: 'headers',
    code: 'PAYLOAD_TOO_LARGE',
    message: 'The headers are larger than this service accepts.',
  },
  HPE_CHUNK_EXTENSIONS_OVERFLOW: {
    status: 413,
    reason: 'chunks',
    code: 'PAYLOAD_TOO_LARGE',
    message: 'The chunk extensions are larger than this service accepts.',
  },
  ERR_HTTP_REQUEST_TIMEOUT: {
    status: 408,
    reason: 'late',
    code: 'INVALID_REQUEST_BODY',
    message: 'The request did not arrive in time: send it again.',
  },
};

/** A listener for `clientError`. */
export function createUnreadableHandler(options: {
  readonly connections: Connections;
  readonly unanswered: Unanswered;
  readonly requestLog: RequestLog;
  readonly metrics: Metrics;
}): (error: NodeJS.ErrnoException, socket: Duplex) => void {
  const { connections, unanswered, requestLog, metrics } = options;

  function answer(
    connection: Connection,
    error: NodeJS.ErrnoException,
    brokenOff: Exchange | undefined,
  ): void {
    const unreadable = UNREADABLE[error.code ?? ''] ?? MALFORMED;
    const { status, reason, code, message } = unreadable;
    metrics.httpRefusals.inc({ reason });
    const response = brokenOff && unanswered.get(brokenOff.response);
    if (response !== undefined) {
      response.shouldKeepAlive = false;
      sendRefusal(response, new DomainError(code, message), status);
      return;
    }
    const requestId = randomUUID();
    connections.end(connection, textOf(unreadable, requestId));
    const { address } = connection;
    requestLog.add(undefined, { requestId, address, status, error: error.code }, 'unreadable request');
  }

  return (error, socket) => {
    const connection = connections.of(socket);
    if (connection === undefined || error.code === 'ECONNRESET') socket.destroy();
    else connection.breakOff((brokenOff) => answer(connection, error, brokenOff));
  };
}

/** A complete answer. The request may have been for the token endpoint, so it also has that endpoint's error fields. */
function textOf({ status, code, message }: Unreadable, requestId: string): string {
  const envelope = errorEnvelope(code, message, requestId);
  const body = toJson({ ...envelope, error_description: toErrorDescription(message) });
  return [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    'cache-control: no-store',
    `x-request-id: ${requestId}`,
    'connection: close',
    '',
    body,
  ].join('\r\n');
}
