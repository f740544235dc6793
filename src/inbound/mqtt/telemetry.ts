// Parses reports of chargers and passes them to the ledgers. A bad
// message is dropped and counted, and affects no other.
import type { z } from 'zod';
import type { RecordResult } from '../../../machines/power/meter-ledger.js';
import type { ChargerAddress } from '../../../machines/values/ids.js';
import { boundedCache } from '../../bounded-cache.js';
import { SITE_MESSAGES } from '../../features/site-messages.js';
import type { Metrics, Tally } from '../../metrics.js';
import type { Clock } from '../../ports/clock.js';
import type { Log } from '../../ports/log.js';
import type { ConnectorMeter, TelemetryHandler, TopicMemo } from '../../ports/telemetry.js';
import { createRareLog, type RareLog } from '../../rare-log.js';
import { ackSchema, meterSchema, readingOf, stateSchema } from '../../wire/mqtt.js';
import { plainRule } from '../../wire/plain-errors.js';
import { quickCheckOf } from '../../wire/quick-check.js';
import {
  PREFIX_LEVELS,
  parseSiteTopic,
  parseTopic,
  type SiteKind,
  type SiteTopic,
} from '../../wire/topics.js';

// An external broker may accept longer messages than the embedded one.
const PAYLOAD_LIMIT_BYTES = 16_384;
const CACHED_TOPICS = 100_000;
const NONE: TopicMemo = {};

type Kind = 'meter' | 'state' | 'ack' | SiteKind;
type Result = 'accepted' | 'malformed' | 'unknown' | 'stale';

/**
 * Receives every message of a bus. It never throws. Unusable messages are
 * counted, and logged once a minute for each charger.
 */
export class Telemetry {
  readonly #sink: TelemetryHandler;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #metrics: Metrics;
  readonly #rareLog: RareLog;
  /** For a bus without memos. It holds existing connectors only, so that invented ones displace none. */
  readonly #memos = boundedCache<TopicMemo>(CACHED_TOPICS);
  readonly #acceptedMeters: Tally;
  readonly #acceptedAcks: Tally;

  constructor(options: {
    readonly sink: TelemetryHandler;
    readonly clock: Clock;
    readonly log: Log;
    readonly metrics: Metrics;
  }) {
    this.#sink = options.sink;
    this.#clock = options.clock;
    this.#log = options.log;
    this.#metrics = options.metrics;
    this.#rareLog = createRareLog(options.clock);
    const { mqttMessages } = options.metrics;
    this.#acceptedMeters = mqttMessages.tally({ kind: 'meter', result: 'accepted' });
    this.#acceptedAcks = mqttMessages.tally({ kind: 'ack', result: 'accepted' });
  }

  receive(topic: string, payload: Buffer, memo?: TopicMemo): void {
    try {
      const { known } = memo ?? this.#memos.get(topic) ?? NONE;
      if (known?.connector.isCurrent !== true) this.#read(topic, payload, memo);
      else if (known.kind === 'meter') this.#readMeter(known.connector, topic, payload);
      else this.#readAck(known.connector, topic, payload);
    } catch (error) {
      this.#rareLog('defect', () => this.#log.error({ err: error, topic }, 'telemetry failed'));
    }
  }

  #count(kind: Kind, result: Result): void {
    this.#metrics.mqttMessages.inc({ kind, result });
  }

  #drop(topic: string, kind: Kind, schema: z.ZodType, payload: Buffer): void {
    this.#count(kind, 'malformed');
    const charger = topic.split('/', PREFIX_LEVELS).join('/');
    this.#rareLog(charger, () => {
      const problem = problemOf(schema, payload);
      this.#log.warn({ charger, kind, problem }, 'malformed message dropped');
    });
  }

  #readMeter(meter: ConnectorMeter, topic: string, payload: Buffer): void {
    const message = readMeterMessage(payload);
    if (message === undefined) {
      this.#drop(topic, 'meter', meterSchema, payload);
    } else if (meter.record(readingOf(message), this.#clock.monotonicMs()) === 'refused') {
      this.#count('meter', 'stale');
    } else {
      this.#acceptedMeters.inc();
    }
  }

  #readState(charger: ChargerAddress, topic: string, payload: Buffer): void {
    const { data, error } = stateSchema.safeParse(parseJson(payload));
    if (error !== undefined) {
      this.#drop(topic, 'state', stateSchema, payload);
    } else {
      const { tenantUuid, locationId, controllerUuid } = charger;
      this.#count('state', resultOf(this.#sink.recordState(tenantUuid, locationId, controllerUuid, data)));
    }
  }

  #readAck(meter: ConnectorMeter, topic: string, payload: Buffer): void {
    const message = readAckMessage(payload);
    if (message === undefined) this.#drop(topic, 'ack', ackSchema, payload);
    else if (meter.acknowledge(message, this.#clock.monotonicMs()) === 'refused') this.#count('ack', 'stale');
    else this.#acceptedAcks.inc();
  }

  #readSite({ kind, tenantUuid, locationId }: SiteTopic, topic: string, payload: Buffer): void {
    const { data, error } = SITE_MESSAGES[kind].schema.safeParse(parseJson(payload));
    if (error !== undefined) this.#drop(topic, kind, SITE_MESSAGES[kind].schema, payload);
    else this.#count(kind, resultOf(this.#sink.recordSite(kind, tenantUuid, locationId, data)));
  }

  #read(topic: string, payload: Buffer, memo: TopicMemo | undefined): void {
    const ofSite = parseSiteTopic(topic);
    if (ofSite !== undefined) {
      this.#readSite(ofSite, topic, payload);
      return;
    }
    const parsed = parseTopic(topic);
    if (parsed?.kind === 'state') {
      this.#readState(parsed, topic, payload);
    } else if (parsed?.kind === 'meter' || parsed?.kind === 'ack') {
      const { kind, tenantUuid, locationId, controllerUuid, connectorId } = parsed;
      const connector = this.#sink.connectorMeter(tenantUuid, locationId, controllerUuid, connectorId);
      if (connector === undefined) {
        if (memo === undefined) this.#memos.delete(topic);
        else delete memo.known;
        this.#count(kind, 'unknown');
      } else {
        const known = { kind, connector };
        if (memo === undefined) this.#memos.set(topic, { known });
        else memo.known = known;
        if (kind === 'meter') this.#readMeter(connector, topic, payload);
        else this.#readAck(connector, topic, payload);
      }
    }
  }
}

/** Undefined for a message that the schema refuses. */
function readerOf<S extends z.ZodObject>(schema: S): (payload: Buffer) => z.output<S> | undefined {
  const isPlain = quickCheckOf(schema);
  return (payload) => {
    const message = parseJson(payload);
    return isPlain(message) ? message : schema.safeParse(message).data;
  };
}

const readMeterMessage = readerOf(meterSchema);
const readAckMessage = readerOf(ackSchema);

/** Returns undefined, which no schema accepts, if `payload` is too long or not JSON. */
function parseJson(payload: Buffer): unknown {
  if (payload.length > PAYLOAD_LIMIT_BYTES) return undefined;
  try {
    return JSON.parse(payload.toString());
  } catch {
    return undefined;
  }
}

function problemOf(schema: z.ZodType, payload: Buffer): string {
  const message = parseJson(payload);
  if (message === undefined) return `message: must be JSON of at most ${PAYLOAD_LIMIT_BYTES} bytes`;
  const [issue] = schema.safeParse(message, { error: plainRule }).error?.issues ?? [];
  return `${issue?.path.join('.') || 'message'}: ${issue?.message}`;
}

function resultOf(result: RecordResult | undefined): Result {
  if (result === undefined) return 'unknown';
  return result === 'refused' ? 'stale' : 'accepted';
}
