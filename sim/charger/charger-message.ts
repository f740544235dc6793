// A charger's message, ready for an MQTT client or for delivery within the process.
import type { ConnectorId } from '../../machines/values/ids.js';
import type { EpochMs } from '../../machines/values/time.js';
import { toInstant } from '../../src/wire/instants.js';
import {
  type AckMessage,
  ackSchema,
  type MeterMessage,
  meterSchema,
  type StateMessage,
  stateSchema,
} from '../../src/wire/mqtt.js';
import { parseTopic } from '../../src/wire/topics.js';

interface Envelope {
  readonly topic: string;
  /** The bytes on the wire, as text. */
  readonly payload: string;
  readonly qos: 0 | 1;
  readonly retain: boolean;
}

/** `body` is the parsed payload of a message that matches the contract and that the charger may send. */
export type ChargerMessage = Envelope &
  (
    | { readonly kind: 'state'; readonly body: StateMessage }
    | { readonly kind: 'meter'; readonly connectorId: ConnectorId; readonly body: MeterMessage }
    | { readonly kind: 'ack'; readonly connectorId: ConnectorId; readonly body: AckMessage }
    | { readonly kind: 'state' | 'meter' | 'ack'; readonly body?: undefined }
  );

/** The payload becomes text on first use only: a delivery within the process never needs the text. */
class Message<K extends string, C extends ConnectorId | undefined, B extends object> {
  readonly kind: K;
  readonly topic: string;
  readonly connectorId: C;
  readonly body: B;
  readonly qos: 0 | 1;
  readonly retain: boolean;
  readonly #saidAtMs: EpochMs | undefined;
  #payload: string | undefined;

  constructor(kind: K, topic: string, connectorId: C, body: B, how: How, saidAtMs?: EpochMs) {
    this.kind = kind;
    this.topic = topic;
    this.connectorId = connectorId;
    this.body = body;
    this.qos = how.qos;
    this.retain = how.retain;
    this.#saidAtMs = saidAtMs;
  }

  get payload(): string {
    const { body } = this;
    this.#payload ??= JSON.stringify(
      this.#saidAtMs === undefined ? body : { ...body, at: toInstant(this.#saidAtMs) },
    );
    return this.#payload;
  }
}

type How = Pick<Envelope, 'qos' | 'retain'>;
const VALUE: How = { qos: 0, retain: false };
const ONCE_AT_LEAST: How = { qos: 1, retain: false };
const KEPT: How = { qos: 1, retain: true };

/** `saidAtMs` becomes `at`, which is for human readers only; undefined leaves `at` out. */
export function meterValue(
  topic: string,
  connectorId: ConnectorId,
  body: MeterMessage,
  saidAtMs: EpochMs | undefined,
): ChargerMessage {
  return new Message('meter' as const, topic, connectorId, body, VALUE, saidAtMs);
}

export function acknowledgement(topic: string, connectorId: ConnectorId, body: AckMessage): ChargerMessage {
  return new Message('ack' as const, topic, connectorId, body, ONCE_AT_LEAST);
}

export function chargerState(topic: string, body: StateMessage): ChargerMessage {
  return new Message('state' as const, topic, undefined, body, KEPT);
}

/**
 * Builds the message that was published for a charger.
 * @param to `topic` parsed, if the caller has it already
 * @throws on a topic or a body that the contract does not allow a charger
 */
export function publishedMessage(topic: string, body: object, to = parseTopic(topic)): ChargerMessage {
  if (to?.kind === 'state') return chargerState(topic, stateSchema.parse(body));
  if (to?.kind === 'meter') return meterValue(topic, to.connectorId, meterSchema.parse(body), undefined);
  if (to?.kind === 'ack') return acknowledgement(topic, to.connectorId, ackSchema.parse(body));
  throw new Error(`no charger may publish on ${topic}`);
}

/** The same kind of message with other bytes, which may not be a valid message. */
export function withPayload({ kind, topic, qos, retain }: ChargerMessage, payload: string): ChargerMessage {
  return { kind, topic, qos, retain, payload };
}

export function onTopic({ kind, payload, qos, retain }: ChargerMessage, topic: string): ChargerMessage {
  return { kind, topic, qos, retain, payload };
}
