// What chargers report, from bytes to the ledgers: a bad message is dropped and counted, and nothing else is lost.
import { LRUCache } from 'lru-cache';
import type { z } from 'zod';
import type { RecordResult } from '../../../machines/power/meter-ledger.js';
import type { ChargerAddress, ConnectorAddress } from '../../../machines/values/ids.js';
import type { Metrics } from '../../metrics.js';
import type { Clock } from '../../ports/clock.js';
import type { Log } from '../../ports/log.js';
import type { ConnectorMeter, MeterSink } from '../../ports/telemetry.js';
import { createRareLog } from '../../rare-log.js';
import { ackSchema, meterSchema, stateSchema } from '../../wire/mqtt.js';
import { PREFIX_LEVELS, parseTopic } from '../../wire/topics.js';

// An external broker may carry longer ones than the embedded one takes.
const PAYLOAD_LIMIT_BYTES = 16_384;
const CACHED_TOPICS = 50_000;

type Result = 'accepted' | 'malformed' | 'unknown' | 'stale';

/** The way in for every message of a bus. It never throws; what it cannot use is counted, and logged once a minute per charger. */
export function createTelemetry(options: {
  readonly sink: MeterSink;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
}): (topic: string, payload: Buffer) => void {
  const { sink, clock, log, metrics } = options;
  const rareLog = createRareLog(clock);
  // Only topics of connectors that exist, so that made-up ones push nothing out.
  const meters = new LRUCache<string, ConnectorMeter>({ max: CACHED_TOPICS });
  const accepted = metrics.mqttMessages.labels({ kind: 'meter', result: 'accepted' });

  function count(kind: 'meter' | 'state' | 'ack', result: Result): void {
    metrics.mqttMessages.inc({ kind, result });
  }

  function drop(topic: string, kind: 'meter' | 'state' | 'ack', { issues: [issue] }: z.ZodError): void {
    count(kind, 'malformed');
    const charger = topic.split('/', PREFIX_LEVELS).join('/');
    const problem = `${issue?.path.join('.')}: ${issue?.message}`;
    rareLog(charger, () => log.warn({ charger, kind, problem }, 'malformed message dropped'));
  }

  function readMeter(meter: ConnectorMeter, topic: string, payload: Buffer): void {
    const { data, error } = meterSchema.safeParse(parseJson(payload));
    if (error !== undefined) {
      drop(topic, 'meter', error);
    } else if (meter.record(data, clock.monotonicMs()) === 'refused') {
      count('meter', 'stale');
    } else {
      accepted.inc();
    }
  }

  function readState(charger: ChargerAddress, topic: string, payload: Buffer): void {
    const { data, error } = stateSchema.safeParse(parseJson(payload));
    if (error !== undefined) {
      drop(topic, 'state', error);
    } else {
      const { tenantUuid, locationId, controllerUuid } = charger;
      count('state', resultOf(sink.recordState(tenantUuid, locationId, controllerUuid, data)));
    }
  }

  function readAck(connector: ConnectorAddress, topic: string, payload: Buffer): void {
    const { data, error } = ackSchema.safeParse(parseJson(payload));
    if (error !== undefined) {
      drop(topic, 'ack', error);
    } else {
      const { tenantUuid, locationId, controllerUuid, connectorId } = connector;
      count('ack', resultOf(sink.recordAck(tenantUuid, locationId, controllerUuid, connectorId, data)));
    }
  }

  function read(topic: string, payload: Buffer): void {
    const parsed = parseTopic(topic);
    if (parsed?.kind === 'state') {
      readState(parsed, topic, payload);
    } else if (parsed?.kind === 'ack') {
      readAck(parsed, topic, payload);
    } else if (parsed?.kind === 'meter') {
      const { tenantUuid, locationId, controllerUuid, connectorId } = parsed;
      const meter = sink.connectorMeter(tenantUuid, locationId, controllerUuid, connectorId);
      if (meter === undefined) {
        meters.delete(topic);
        count('meter', 'unknown');
      } else {
        meters.set(topic, meter);
        readMeter(meter, topic, payload);
      }
    }
  }

  return (topic, payload) => {
    try {
      const meter = meters.get(topic);
      if (meter?.isCurrent === true) readMeter(meter, topic, payload);
      else read(topic, payload);
    } catch (error) {
      rareLog('defect', () => log.error({ err: error, topic }, 'telemetry failed'));
    }
  };
}

/** undefined, which neither schema accepts, where `payload` is too long or no JSON. */
function parseJson(payload: Buffer): unknown {
  if (payload.length > PAYLOAD_LIMIT_BYTES) return undefined;
  try {
    return JSON.parse(payload.toString());
  } catch {
    return undefined;
  }
}

function resultOf(result: RecordResult | undefined): Result {
  if (result === undefined) return 'unknown';
  return result === 'refused' ? 'stale' : 'accepted';
}
