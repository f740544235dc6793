// The log: one JSON line an event on stderr, because stdout belongs to what the commands print.
import { type DestinationStream, destination as fileDestination, pino, stdTimeFunctions } from 'pino';
import type { Log } from './ports/log.js';

const SECRETS = ['authorization', 'x-api-key', 'client_secret', 'clientSecret', 'password', 'mqttPassword'];
const BUFFER_BYTES = 4096;
const FLUSH_EVERY_MS = 500;
const STDERR = 2;

// Named places, because a wildcard would be looked for in every field of every line.
const REDACTED = ['', 'headers', 'body', 'fields'].flatMap((place) =>
  SECRETS.map((name) => `${place}["${name}"]`),
);

/** A log whose buffered lines can be written out before the process ends. */
export interface FlushableLog extends Log {
  flush(): void;
}

/**
 * A logger with ISO times that never prints secrets. Without `destination` it writes to stderr through a buffer, so
 * that a request does not wait for its log line; call `flush` before exit.
 */
export function createLogger(options: {
  readonly level: string;
  readonly destination?: DestinationStream;
}): FlushableLog {
  const buffered =
    options.destination === undefined
      ? fileDestination({
          dest: STDERR,
          sync: false,
          minLength: BUFFER_BYTES,
          periodicFlush: FLUSH_EVERY_MS,
        })
      : undefined;
  const logger = pino(
    {
      level: options.level,
      base: null,
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (level) => ({ level }) },
      redact: REDACTED,
    },
    options.destination ?? buffered,
  );
  return {
    debug: (fields, message) => logger.debug(fields, message),
    info: (fields, message) => logger.info(fields, message),
    warn: (fields, message) => logger.warn(fields, message),
    error: (fields, message) => logger.error(fields, message),
    flush: () => buffered?.flushSync(),
  };
}
