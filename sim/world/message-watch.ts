// What messages alone can show to be wrong: limits between 0 and 6 A, numbers that do not rise, grants taken that must not be.
import type { ConnectorAddress } from '../../machines/ids.js';
import { MINIMUM_CURRENT_A } from '../../machines/units.js';
import type { LimitMessage } from '../../src/wire/mqtt.js';
import type { ChargerMessage } from '../charger/charger-message.js';
import type { Violation } from './power-watch.js';

interface Numbered {
  readonly epoch: number;
  readonly seq: number;
}

export interface MessageWatch {
  limitLeft(connector: ConnectorAddress, limit: LimitMessage): void;
  saidByCharger(message: ChargerMessage): void;
}

export function createMessageWatch(report: (violation: Omit<Violation, 'atMs'>) => void): MessageWatch {
  /** Newest limit that left, and newest that was taken, by connector. */
  const left = new Map<string, Map<string, Numbered>>();
  const taken = new Map<string, Numbered & { readonly boot: string | undefined }>();
  const isNewer = (a: Numbered, b: Numbered) => a.epoch > b.epoch || (a.epoch === b.epoch && a.seq > b.seq);

  return {
    limitLeft({ controllerUuid, connectorId }, limit) {
      const target = () => `${controllerUuid}/${connectorId}`;
      if (limit.limitA !== 0 && limit.limitA < MINIMUM_CURRENT_A) {
        report({ invariant: 'P3', target: target(), detail: `${limit.limitA} A is between 0 and 6 A` });
      }
      const siblings = left.get(controllerUuid) ?? new Map<string, Numbered>();
      if (siblings.size === 0) left.set(controllerUuid, siblings);
      const before = siblings.get(connectorId);
      if (before !== undefined && !isNewer(limit, before)) {
        const detail = `grant ${limit.epoch}/${limit.seq} left after ${before.epoch}/${before.seq}`;
        report({ invariant: 'P7', target: target(), detail });
      }
      siblings.set(connectorId, limit);
    },
    saidByCharger(message) {
      if (message.kind !== 'ack' || message.body?.result !== 'APPLIED') return;
      const { body: ack, topic: target } = message;
      const before = taken.get(target);
      if (before !== undefined && before.boot === ack.boot && !isNewer(ack, before)) {
        const detail = `${ack.epoch}/${ack.seq} was taken after ${before.epoch}/${before.seq}`;
        report({ invariant: 'P7', target, detail });
      }
      taken.set(target, { epoch: ack.epoch, seq: ack.seq, boot: ack.boot });
    },
  };
}
