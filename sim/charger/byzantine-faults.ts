// Byzantine faults: the false and additional messages of a misbehaving charger. Messages of an honest charger pass
// unchanged.
import type { ChargerAddress, ControllerUuid } from '../../machines/values/ids.js';
import type { MeterMessage } from '../../src/wire/mqtt.js';
import { topicPrefixOf } from '../../src/wire/topics.js';
import { type ChargerMessage, onTopic, withPayload } from './charger-message.js';
import type { Misbehaviour } from './traits.js';

interface ByzantineFaults {
  /** Returns the meter value as the charger reports it. */
  meter(message: MeterMessage): MeterMessage;
  /** False for a charger that reports `powerW` and nothing else. */
  readonly tellsTime: boolean;
  /** Appends to `sent` the message, nothing, or the message and others. */
  tell(message: ChargerMessage, sent: ChargerMessage[]): void;
}

const SAYING_MORE: readonly Misbehaviour[] = ['garbage', 'flood', 'old-boot', 'others-ids'];
const IMPOSSIBLE_W = 9_999_999;
const FALLS_FROM_WH = 1_000_000_000;
const FLOOD = 100;
const GARBAGE = [
  '',
  'powerW=7',
  '{"powerW":',
  'null',
  '[]',
  '{}',
  '{"powerW":"7"}',
  '{"powerW":-1}',
  '{"powerW":1e99}',
  '{"v":2,"powerW":7}',
  '{"powerW":7,"hb":1.5}',
  '{"powerW":7,"status":"Asleep"}',
  '"\\ud800"',
  '\u0000',
  '{"__proto__":{"powerW":7}}',
  `{"a":${'['.repeat(2000)}${']'.repeat(2000)}}`,
  'x'.repeat(8000),
];

export function createByzantineFaults(
  address: ChargerAddress,
  misbehaviours: readonly Misbehaviour[],
): ByzantineFaults {
  const kinds = new Set(misbehaviours);
  const other = { ...address, controllerUuid: `${address.controllerUuid}-other` as ControllerUuid };
  const isTalkative = SAYING_MORE.some((kind) => kinds.has(kind));
  let values = 0;
  let said = 0;

  function meter(message: MeterMessage): MeterMessage {
    if (kinds.size === 0) return message;
    values++;
    if (kinds.has('power-only')) return { powerW: message.powerW };
    const { hb = 0, energyWh = 0 } = message;
    return {
      ...message,
      ...(kinds.has('impossible-power') ? { powerW: IMPOSSIBLE_W } : {}),
      ...(kinds.has('backward-counters')
        ? { energyWh: FALLS_FROM_WH - energyWh, hb: values % 3 === 0 ? Math.max(0, hb - 2) : hb }
        : {}),
      ...(kinds.has('no-ack') ? { epoch: 0, seq: 0 } : {}),
    };
  }

  function isMute({ kind }: ChargerMessage): boolean {
    return (kinds.has('no-ack') && kind === 'ack') || (kinds.has('power-only') && kind !== 'meter');
  }

  function* besides(message: ChargerMessage): Generator<ChargerMessage> {
    const { kind, topic } = message;
    if (kinds.has('garbage')) yield withPayload(message, GARBAGE[said % GARBAGE.length] ?? '');
    if (kind !== 'meter') return;
    if (kinds.has('flood')) for (let i = 0; i < FLOOD; i++) yield message;
    if (said % 2 === 0) return;
    if (kinds.has('old-boot')) {
      yield withPayload(
        message,
        JSON.stringify({ ...JSON.parse(message.payload), boot: 'a boot that is over' }),
      );
    }
    if (kinds.has('others-ids')) {
      yield onTopic(message, topic.replace(topicPrefixOf(address), topicPrefixOf(other)));
    }
  }

  return {
    meter,
    tellsTime: !kinds.has('power-only'),
    tell(message, sent) {
      if (kinds.size > 0 && isMute(message)) return;
      sent.push(message);
      if (!isTalkative) return;
      said++;
      sent.push(...besides(message));
    },
  };
}
