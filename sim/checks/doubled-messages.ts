// Delivers again what was delivered, in another order, and sees that nobody holds anything else afterwards (P8).
import { z } from 'zod';
import { buildTopic } from '../../src/wire/topics.js';
import type { ChargerMessage } from '../charger/charger-message.js';
import type { ChargerRun } from '../world/charger-run.js';
import type { Ask } from './inquiry.js';
import type { Reached } from './reached.js';
import type { Report } from './report.js';
import type { SiteBooks } from './site-book.js';

export interface DoubledMessages {
  /** It reached the service now. */
  heard(message: ChargerMessage): void;
  /** What was heard before was heard by somebody who is gone. */
  forget(): void;
  /** Everything that the location's chargers and the service told each other last is told again. */
  tellAgain(locationId: string): Promise<void>;
}

const offlineSchema = z.object({
  connectors: z.array(z.object({ controllerUuid: z.string(), link: z.string() })),
});

function isOffline(live: unknown, controllerUuid: string): boolean {
  const read = offlineSchema.safeParse(live);
  if (!read.success) return true;
  return read.data.connectors.some(
    (each) => each.controllerUuid === controllerUuid && each.link === 'offline',
  );
}

/** A counted message says by itself how old it is; so many of each connector are told again. */
const COUNTED_KEPT = 3;

export function createDoubledMessages(options: {
  readonly books: SiteBooks;
  readonly runs: readonly ChargerRun[];
  /** The service hears it at once; undefined where what carries messages cannot do that. */
  readonly deliver: ((run: ChargerRun, message: ChargerMessage) => void) | undefined;
  readonly ask: Ask;
  readonly reached: Reached;
  readonly report: Report;
}): DoubledMessages {
  const { books, runs, deliver, ask, reached, report } = options;
  /** By topic. */
  const counted = new Map<string, ChargerMessage[]>();

  function toChargers(locationId: string): void {
    for (const run of runs) {
      if (run.charger.address.locationId !== locationId || !run.isConnected) continue;
      run.wake();
      const before = JSON.stringify(run.charger.limits());
      for (const { spec, holder } of run.charger.outlets) {
        const book = books.byId(run.charger.address.controllerUuid, spec.connectorId);
        const { epoch, seq } = holder.applied;
        for (const number of [seq, seq - 1]) {
          const given = book?.given({ epoch, seq: number });
          if (given !== undefined) run.wire.receiver.limit(spec.connectorId, given);
        }
      }
      const after = JSON.stringify(run.charger.limits());
      const target = run.charger.address.controllerUuid;
      if (before !== after)
        report({
          invariant: 'P8',
          target,
          detail: `it held ${before}, and after the same limits again ${after}`,
        });
    }
  }

  async function toService(locationId: string): Promise<void> {
    if (deliver === undefined) return;
    const tenantUuid = books.sites.get(locationId)?.tenantUuid ?? '';
    const path = `/locations/${locationId}/live`;
    const before = await ask({ method: 'GET', path }, tenantUuid);
    for (const run of runs) {
      if (run.charger.address.locationId !== locationId) continue;
      const { address, connectors } = run.charger;
      // One whose connection broke said goodbye by its last will: that it is there would be news.
      if (run.isConnected && !isOffline(before.body, address.controllerUuid)) {
        for (const message of counted.get(buildTopic({ ...address, kind: 'state' })) ?? [])
          deliver(run, message);
      }
      for (const { connectorId } of connectors) {
        for (const kind of ['ack', 'meter'] as const) {
          const kept = counted.get(buildTopic({ ...address, kind, connectorId })) ?? [];
          for (const message of kept.toReversed()) deliver(run, message);
        }
      }
    }
    const after = await ask({ method: 'GET', path }, tenantUuid);
    reached.note('doubledDelivery');
    if (JSON.stringify(before.body) === JSON.stringify(after.body)) return;
    const detail = `the service held ${JSON.stringify(before.body)}, and after the same messages again ${JSON.stringify(after.body)}`;
    report({ invariant: 'P8', target: locationId, detail });
  }

  return {
    heard(message) {
      const { topic } = message;
      if (message.body === undefined) return;
      // After a goodbye the state before it would be news.
      if (message.kind === 'state' && !message.body.online) {
        counted.delete(topic);
        return;
      }
      if (message.kind === 'meter' && message.body.hb === undefined) return;
      let kept = counted.get(topic);
      if (kept === undefined) {
        kept = [];
        counted.set(topic, kept);
      }
      // Of another start of the charger it would not be the same message again, but one of a boot that is over.
      if (kept[0]?.body?.boot !== message.body.boot) kept.length = 0;
      kept.push(message);
      if (kept.length > COUNTED_KEPT) kept.shift();
    },
    forget() {
      counted.clear();
    },
    async tellAgain(locationId) {
      toChargers(locationId);
      await toService(locationId);
    },
  };
}
