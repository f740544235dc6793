// The log: one JSON line for each event on stderr, because stdout belongs to the output of commands.
import { pino, stdTimeFunctions } from 'pino';
import { systemClock } from './clock.js';
import { LineWriter } from './line-writer.js';
import type { LogMetrics } from './metrics.js';
import type { Clock } from './ports/clock.js';
import type { Log } from './ports/log.js';
import { withoutSecrets } from './secrets.js';
import { createTokenBucket, type TokenBucket } from './token-bucket.js';

const SECRETS = ['authorization', 'x-api-key', 'client_secret', 'clientSecret', 'password', 'mqttPassword'];

// Named places, because a wildcard would be searched in every field of every line.
const REDACTED = ['', 'headers', 'body', 'fields'].flatMap((place) =>
  SECRETS.map((name) => `${place}["${name}"]`),
);

/** A pipe takes this much at once, so that lines of several processes do not mix. */
const LINE_BYTES = 4_096;
/** Most characters of each text in a line that is too long: the first of these with which it fits. */
const TEXT_LENGTHS = [1_000, 300, 80] as const;
/** A path or a payload in the message of an error must not displace its stack. */
const STACK_LINE_LENGTH = 200;
const LIST_LENGTH = 20;

type Level = 'debug' | 'info' | 'warn' | 'error';

/**
 * Rates for lines of one kind, which is a level and a message. Requests have a line each up to 1,000 a second.
 * Errors have at most 86,400 lines a day, some 100 MB.
 */
const RATES: Readonly<Record<Level, Parameters<typeof createTokenBucket>[0]>> = {
  debug: { ratePerS: 1_000, burst: 10_000 },
  info: { ratePerS: 1_000, burst: 10_000 },
  warn: { ratePerS: 2, burst: 1_000 },
  error: { ratePerS: 1, burst: 100 },
};
/** Further kinds share one rate for each level: a message may contain anything. */
const KINDS = 500;

/** A log whose buffered lines can be written out before the process ends. */
export interface FlushableLog extends Log {
  /** Resolves when all lines are written; soon in any case, even if nothing can be written. */
  flush(): Promise<void>;
}

/**
 * A log with ISO times, at most 4,096 bytes in a line, a rate for each kind, and no secrets. Without `destination` it
 * writes to stderr without waiting: lines that cannot be written are dropped and counted. Call `flush` before exit.
 */
export function createLogger(options: {
  readonly level: string;
  readonly metrics?: LogMetrics;
  readonly clock?: Clock;
  readonly destination?: { write(line: string): void };
}): FlushableLog {
  const { level, metrics, clock = systemClock } = options;
  const stderr = options.destination === undefined ? stderrWriter() : undefined;
  const destination = options.destination ?? stderr;
  const rates = new KindRates(clock);
  const logger = pino(
    {
      level,
      base: null,
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (level) => ({ level }) },
      redact: REDACTED,
    },
    { write: (line) => destination?.write(bounded(withoutSecrets(line))) },
  );

  function stderrWriter(): LineWriter {
    return new LineWriter(process.stderr, {
      onDropped: (lines) => metrics?.logLinesDropped.inc(lines),
      onRecovered: (dropped) =>
        logger.warn({ dropped }, 'the log is written again; lines that could not be written were dropped'),
    });
  }

  function logAt(level: Level) {
    return (fields: object, message: string): void => {
      if (!logger.isLevelEnabled(level)) return;
      const notLogged = rates.take(level, message);
      if (notLogged === undefined) metrics?.logLinesLeftOut.inc();
      else logger[level](notLogged === 0 ? fields : { ...fields, notLogged }, message);
    };
  }

  return {
    debug: logAt('debug'),
    info: logAt('info'),
    warn: logAt('warn'),
    error: logAt('error'),
    flush: async () => stderr?.flush(),
  };
}

interface KindRate {
  readonly bucket: TokenBucket;
  leftOut: number;
}

class KindRates {
  readonly #clock: Clock;
  readonly #kinds = new Map<string, KindRate>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Number of omitted lines of this kind before this one; undefined if this one is omitted too. */
  take(level: Level, message: string): number | undefined {
    const kind = this.#kindOf(level, message);
    if (!kind.bucket.take(this.#clock.monotonicMs())) {
      kind.leftOut++;
      return undefined;
    }
    const { leftOut } = kind;
    kind.leftOut = 0;
    return leftOut;
  }

  #kindOf(level: Level, message: string): KindRate {
    const own = `${level} ${message}`;
    const name = this.#kinds.has(own) || this.#kinds.size < KINDS ? own : level;
    let kind = this.#kinds.get(name);
    if (kind === undefined) {
      kind = { bucket: createTokenBucket(RATES[level]), leftOut: 0 };
      this.#kinds.set(name, kind);
    }
    return kind;
  }
}

/** `line`, or the part of it that fits, as JSON again. */
function bounded(line: string): string {
  const bytes = Buffer.byteLength(line);
  if (bytes <= LINE_BYTES) return line;
  const { level, time, msg, ...fields }: Record<string, unknown> = JSON.parse(line);
  const { requestId, err } = fields;
  const attempts = [
    ...TEXT_LENGTHS.map((length) => ({ kept: fields, length })),
    { kept: { requestId, err }, length: 300 },
    { kept: { requestId }, length: 80 },
  ];
  for (const { kept, length } of attempts) {
    const short = Object.entries({ ...kept, msg }).map(([name, value]) => [name, shortened(value, length)]);
    const text = `${JSON.stringify({ level, time, ...Object.fromEntries(short), cutFromBytes: bytes })}\n`;
    if (Buffer.byteLength(text) <= LINE_BYTES) return text;
  }
  return `${JSON.stringify({ level, time, cutFromBytes: bytes })}\n`;
}

function shortened(value: unknown, length: number): unknown {
  if (typeof value === 'string') {
    const lines = value.split('\n');
    return cut(
      lines.length === 1 ? value : lines.map((line) => cut(line, STACK_LINE_LENGTH)).join('\n'),
      length,
    );
  }
  if (Array.isArray(value)) return value.slice(0, LIST_LENGTH).map((item) => shortened(item, length));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, shortened(item, length)]));
}

function cut(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length)}…`;
}
