// Delivers messages a second time, in another order, and checks that no limit or state changes by that (P8).
import { z } from 'zod';
import { buildTopic } from '../../src/wire/topics.js';
import type { ChargerMessage } from '../charger/charger-message.js';
import type { ChargerRun } from '../world/charger-run.js';
import type { Report } from '../world/power-watch.js';
import type { Ask } from './inquiry.js';
import type { Reached } from './reached.js';
import type { SiteBooks } from './site-book.js';

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

/** Only messages with a number show their age; this many of each connector are repeated. */
const COUNTED_KEPT = 3;

export class DoubledMessages {
  readonly #books: SiteBooks;
  readonly #runs: readonly ChargerRun[];
  readonly #deliver: ((run: ChargerRun, message: ChargerMessage) => void) | undefined;
  readonly #ask: Ask;
  readonly #reached: Reached;
  readonly #report: Report;
  /** By topic. */
  readonly #counted = new Map<string, ChargerMessage[]>();
  /** Boot in the charger's last state, by the topic of that state. */
  readonly #boots = new Map<string, string | undefined>();

  constructor(options: {
    readonly books: SiteBooks;
    readonly runs: readonly ChargerRun[];
    /** Delivers the message to the service at once; undefined if the carrier cannot do that. */
    readonly deliver: ((run: ChargerRun, message: ChargerMessage) => void) | undefined;
    readonly ask: Ask;
    readonly reached: Reached;
    readonly report: Report;
  }) {
    this.#books = options.books;
    this.#runs = options.runs;
    this.#deliver = options.deliver;
    this.#ask = options.ask;
    this.#reached = options.reached;
    this.#report = options.report;
  }

  /** The message reaches the service now. */
  received(message: ChargerMessage): void {
    const { topic } = message;
    if (message.body === undefined) return;
    if (message.kind === 'state') this.#boots.set(topic, message.body.boot);
    // After a goodbye, a repetition of the state before it would be news.
    if (message.kind === 'state' && !message.body.online) {
      this.#counted.delete(topic);
      return;
    }
    if (message.kind === 'meter' && message.body.hb === undefined) return;
    let kept = this.#counted.get(topic);
    if (kept === undefined) {
      kept = [];
      this.#counted.set(topic, kept);
    }
    // After another start of the charger the repetition would not be the same message, but one of a past boot.
    if (kept[0]?.body?.boot !== message.body.boot) kept.length = 0;
    kept.push(message);
    if (kept.length > COUNTED_KEPT) kept.shift();
  }

  /** Forgets all messages: the service that received them is gone. */
  forget(): void {
    this.#counted.clear();
    this.#boots.clear();
  }

  /** Repeats the last messages between the location's chargers and the service, in both directions. */
  async tellAgain(locationId: string): Promise<void> {
    this.#toChargers(locationId);
    await this.#toService(locationId);
  }

  #toChargers(locationId: string): void {
    for (const run of this.#runs) {
      if (run.charger.address.locationId !== locationId || !run.isConnected) continue;
      run.wake();
      const before = JSON.stringify(run.charger.limits());
      for (const { spec, holder } of run.charger.outlets) {
        const book = this.#books.byId(run.charger.address.controllerUuid, spec.connectorId);
        const { epoch, seq } = holder.applied;
        for (const number of [seq, seq - 1]) {
          const given = book?.given({ epoch, seq: number });
          if (given === undefined) continue;
          run.wire.receiver.limit(spec.connectorId, given);
          run.wire.receiver.answer();
        }
      }
      const after = JSON.stringify(run.charger.limits());
      const target = run.charger.address.controllerUuid;
      if (before !== after)
        this.#report({
          invariant: 'P8',
          target,
          detail: `it held ${before}, and after the same limits again ${after}`,
        });
    }
  }

  async #toService(locationId: string): Promise<void> {
    if (this.#deliver === undefined) return;
    const tenantUuid = this.#books.sites.get(locationId)?.tenantUuid ?? '';
    const path = `/locations/${locationId}/live`;
    const before = await this.#ask({ method: 'GET', path }, tenantUuid);
    for (const run of this.#runs) {
      if (run.charger.address.locationId !== locationId) continue;
      const { address, connectors } = run.charger;
      const stateTopic = buildTopic({ ...address, kind: 'state' });
      // A message of a past boot: if the newer boot is silent, the service takes the sender's boot for the running
      // one.
      const isOver = ({ body }: ChargerMessage) =>
        this.#boots.has(stateTopic) && body?.boot !== this.#boots.get(stateTopic);
      // The last will of a broken connection is a goodbye, so a repeated online state would be news.
      if (run.isConnected && !isOffline(before.body, address.controllerUuid)) {
        for (const message of this.#counted.get(stateTopic) ?? []) this.#deliver(run, message);
      }
      for (const { connectorId } of connectors) {
        for (const kind of ['ack', 'meter'] as const) {
          const kept = this.#counted.get(buildTopic({ ...address, kind, connectorId })) ?? [];
          for (const message of kept.toReversed()) if (!isOver(message)) this.#deliver(run, message);
        }
      }
    }
    const after = await this.#ask({ method: 'GET', path }, tenantUuid);
    this.#reached.note('doubledDelivery');
    if (JSON.stringify(before.body) === JSON.stringify(after.body)) return;
    const detail = `the service held ${JSON.stringify(before.body)}, and after the same messages again ${JSON.stringify(after.body)}`;
    this.#report({ invariant: 'P8', target: locationId, detail });
  }
}
