// A message of a charger, ready to be sent: by a broker's client, or in the same process.
import type { ConnectorId } from '../../machines/values/ids.js';
import type { AckMessage, MeterMessage, StateMessage } from '../../src/wire/mqtt.js';

interface Envelope {
  readonly topic: string;
  /** The bytes on the wire, as text. */
  readonly payload: string;
  readonly qos: 0 | 1;
  readonly retain: boolean;
}

/** `body` is what the payload says, where it is a message of the contract that the charger may send. */
export type ChargerMessage = Envelope &
  (
    | { readonly kind: 'state'; readonly body?: StateMessage | undefined }
    | {
        readonly kind: 'meter';
        readonly connectorId?: ConnectorId | undefined;
        readonly body?: MeterMessage | undefined;
      }
    | {
        readonly kind: 'ack';
        readonly connectorId?: ConnectorId | undefined;
        readonly body?: AckMessage | undefined;
      }
  );

/** Nothing of it is turned into text before somebody wants that: a hand-over never does. */
class Message<K extends string, B> {
  readonly kind: K;
  readonly topic: string;
  readonly connectorId: ConnectorId | undefined;
  readonly body: B;
  readonly qos: 0 | 1;
  readonly retain: boolean;
  readonly #textOf: (body: B) => string;
  #payload: string | undefined;

  constructor(
    { kind, topic, body, connectorId }: Said<K, B>,
    { qos, retain }: Pick<Envelope, 'qos' | 'retain'>,
    textOf: (body: B) => string = JSON.stringify,
  ) {
    this.kind = kind;
    this.topic = topic;
    this.connectorId = connectorId;
    this.body = body;
    this.qos = qos;
    this.retain = retain;
    this.#textOf = textOf;
  }

  get payload(): string {
    this.#payload ??= this.#textOf(this.body);
    return this.#payload;
  }
}

interface Said<K, B> {
  readonly kind: K;
  readonly topic: string;
  readonly body: B;
  readonly connectorId?: ConnectorId;
}

const VALUE = { qos: 0, retain: false } as const;
const ONCE_AT_LEAST = { qos: 1, retain: false } as const;
const KEPT = { qos: 1, retain: true } as const;

/** @param textOf the whole value as text, where that says more than `body`. */
export function meterValue(
  topic: string,
  connectorId: ConnectorId,
  body: MeterMessage,
  textOf?: (body: MeterMessage) => string,
): ChargerMessage {
  return new Message({ kind: 'meter' as const, topic, connectorId, body }, VALUE, textOf);
}

export function acknowledgement(topic: string, connectorId: ConnectorId, body: AckMessage): ChargerMessage {
  return new Message({ kind: 'ack' as const, topic, connectorId, body }, ONCE_AT_LEAST);
}

export function chargerState(topic: string, body: StateMessage): ChargerMessage {
  return new Message({ kind: 'state' as const, topic, body }, KEPT);
}

/** The same kind of message with other bytes, of which nobody knows whether they are one. */
export function withPayload({ kind, topic, qos, retain }: ChargerMessage, payload: string): ChargerMessage {
  return { kind, topic, qos, retain, payload };
}

/** The same bytes on another topic. */
export function onTopic({ kind, payload, qos, retain }: ChargerMessage, topic: string): ChargerMessage {
  return { kind, topic, qos, retain, payload };
}
