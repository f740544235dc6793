// What messages alone can show to be wrong: limits between 0 and 6 A, numbers that do not rise, grants taken that must not be.
import { MINIMUM_CURRENT_A } from '../../machines/units.js';
import type { ChargerMessage } from '../charger/charger-message.js';
import type { Violation } from './power-watch.js';

interface Numbered {
  readonly epoch: number;
  readonly seq: number;
}

export interface MessageWatch {
  limitLeft(topic: string, payload: string): void;
  saidByCharger(message: ChargerMessage): void;
}

export function createMessageWatch(report: (violation: Omit<Violation, 'atMs'>) => void): MessageWatch {
  /** Newest limit that left, and newest that was taken, by topic of the connector. */
  const left = new Map<string, Numbered>();
  const taken = new Map<string, Numbered & { readonly boot: string }>();
  const isNewer = (a: Numbered, b: Numbered) => a.epoch > b.epoch || (a.epoch === b.epoch && a.seq > b.seq);

  return {
    limitLeft(topic, payload) {
      if (!topic.endsWith('/limit')) return;
      const limit = JSON.parse(payload);
      const target = topic.slice(0, -'/limit'.length);
      if (limit.limitA !== 0 && limit.limitA < MINIMUM_CURRENT_A) {
        report({ invariant: 'P3', target, detail: `${limit.limitA} A is between 0 and 6 A` });
      }
      const before = left.get(target);
      if (before !== undefined && limit.epoch === before.epoch && limit.seq === before.seq) {
        report({ invariant: 'P7', target, detail: `grant ${limit.epoch}/${limit.seq} left twice` });
      }
      left.set(target, { epoch: limit.epoch, seq: limit.seq });
    },
    saidByCharger({ kind, topic, payload }) {
      if (kind !== 'ack') return;
      const ack = JSON.parse(payload);
      if (ack.result !== 'APPLIED') return;
      const target = topic.slice(0, -'/ack'.length);
      const before = taken.get(target);
      if (before !== undefined && before.boot === ack.boot && !isNewer(ack, before)) {
        report({
          invariant: 'P7',
          target,
          detail: `${ack.epoch}/${ack.seq} was taken after ${before.epoch}/${before.seq}`,
        });
      }
      taken.set(target, { epoch: ack.epoch, seq: ack.seq, boot: ack.boot });
    },
  };
}
