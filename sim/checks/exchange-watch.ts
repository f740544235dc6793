// Follows what chargers say and what of it the service hears: keeps the books of what was taken, and tells when a charger
// took what it must not (P7).
import type { ChargerAddress } from '../../machines/ids.js';
import type { MeterMessage, StateMessage } from '../../src/wire/mqtt.js';
import { ackSchema, meterSchema } from '../../src/wire/mqtt.js';
import type { ChargerMessage } from '../charger/charger-message.js';
import type { OutletState, VirtualCharger } from '../charger/virtual-charger.js';
import { type ConnectorBook, isOlder, type Numbered } from './connector-book.js';
import type { Reached } from './reached.js';
import type { Report } from './report.js';
import type { SiteBooks } from './site-book.js';

export interface ExchangeWatch {
  /** The charger says it now; whether it arrives is another matter. */
  said(charger: VirtualCharger, message: ChargerMessage): void;
  /** It reaches the service now. */
  heard(from: ChargerAddress, message: ChargerMessage): void;
}

type ConnectorMessage = Exclude<ChargerMessage, { kind: 'state' }>;

interface LastWords {
  readonly boot: string | undefined;
  readonly seq: number;
}

/** The slowest clock of a charger: its seconds last this much longer. */
const SLOWEST = 1.02;
const ROUNDING_MS = 1;

export function createExchangeWatch(options: {
  readonly books: SiteBooks;
  readonly monotonicMs: () => number;
  readonly reached: Reached;
  readonly report: Report;
}): ExchangeWatch {
  const { books, monotonicMs, reached, report } = options;
  const taken = new Map<ConnectorBook, Numbered & { readonly boot: string | undefined }>();
  const lastWords = new Map<ConnectorBook, LastWords>();
  const lastBoot = new Map<ConnectorBook, string>();

  function violate(book: ConnectorBook, detail: string): void {
    report({ invariant: 'P7', target: book.facts.key, detail });
  }

  /** Never one that is older than another it took, of another boot, or with a lease that counts from later than it may. */
  function judgeTaken(
    book: ConnectorBook,
    outlet: OutletState | undefined,
    ack: Numbered & { boot?: string | undefined },
  ) {
    const before = taken.get(book);
    if (before !== undefined && before.boot === ack.boot && !isOlder(before, ack))
      violate(book, `${ack.epoch}/${ack.seq} was taken after ${before.epoch}/${before.seq}`);
    taken.set(book, { epoch: ack.epoch, seq: ack.seq, boot: ack.boot });
    const given = book.given(ack);
    if (given === undefined) return;
    if (given.boot !== ack.boot)
      violate(book, `${ack.epoch}/${ack.seq} was taken by ${ack.boot}, and is for ${given.boot}`);
    const applied = outlet?.holder.applied;
    if (applied?.seq !== ack.seq || applied.epoch !== ack.epoch || book.lease !== 'heartbeat') return;
    const saidAtMs = book.said.atMs(given.boot, given.ref) ?? 0;
    const latestMs = saidAtMs + 1000 * given.ttlS * SLOWEST + ROUNDING_MS;
    if (applied.endsAtMs > latestMs)
      violate(book, `the lease of ${ack.epoch}/${ack.seq} lasts ${applied.endsAtMs - latestMs} ms too long`);
  }

  /** What has a body is about a connector of its charger; of anything else only the topic tells. */
  function bookOf(
    { controllerUuid }: ChargerAddress,
    { body, connectorId, topic }: ConnectorMessage,
  ): ConnectorBook | undefined {
    // Topics are long, and each of them is made twice: to compare them costs more than two short look-ups.
    if (body === undefined || connectorId === undefined) return books.byTopic(topic);
    return books.byId(controllerUuid, connectorId);
  }

  function noteOwn(charger: VirtualCharger, { connectors = [] }: StateMessage): void {
    for (const { id, lease, keepsThen } of connectors) {
      const book = books.byId(charger.address.controllerUuid, id);
      if (book === undefined) continue;
      book.lease = lease;
      book.isForgetful = keepsThen !== true;
    }
  }

  function noteWords(book: ConnectorBook, { boot, seq = 0 }: MeterMessage): void {
    const before = lastWords.get(book);
    if (before !== undefined && before.boot === boot && before.seq > 0 && seq === 0)
      reached.note('leaseExpired');
    if (before?.boot !== boot || before?.seq !== seq) lastWords.set(book, { boot, seq });
  }

  function hearMeter(book: ConnectorBook, meter: MeterMessage): void {
    const { boot = '', hb, epoch = 0, seq = 0 } = meter;
    const nowMs = monotonicMs();
    const isNewBoot = lastBoot.get(book) !== boot;
    const isOver = isNewBoot && book.heard.isOver(boot);
    if (isOver) reached.note('oldBootHeard');
    if (hb === undefined) book.isReadOnly = true;
    else if (!book.heard.note(boot, hb, nowMs)) {
      reached.note('heartbeatOvertaken');
      return;
    }
    if (isNewBoot) lastBoot.set(book, boot);
    book.hear(nowMs, isNewBoot);
    book.draw(drawnA(book, meter), nowMs);
    if (seq === 0) return;
    if (book.told?.epoch === epoch && book.told.seq === seq && isOlder(book.holds, { epoch, seq }))
      reached.note('lostAckHealed');
    book.take({ epoch, seq }, nowMs);
  }

  return {
    said(charger, message) {
      if (message.kind === 'state') {
        if (message.body !== undefined) noteOwn(charger, message.body);
        return;
      }
      if (message.body === undefined) return;
      const book = bookOf(charger.address, message);
      if (book === undefined) return;
      if (message.kind === 'meter') {
        const { boot = '', hb } = message.body;
        if (hb !== undefined) book.said.note(boot, hb, monotonicMs());
        noteWords(book, message.body);
        return;
      }
      const { result } = message.body;
      if (result === 'STALE') reached.note('staleGrantRefused');
      if (result === 'EXPIRED') reached.note('expiredGrantRefused');
      if (result !== 'APPLIED') return;
      const outlet = charger.outlets.find(({ spec }) => spec.connectorId === message.connectorId);
      judgeTaken(book, outlet, message.body);
    },
    heard(from, message) {
      if (message.kind === 'state') {
        if (message.body?.online === false) reached.note('lastWillHeard');
        return;
      }
      const book = bookOf(from, message);
      if (book === undefined) return;
      if (message.kind === 'meter') {
        const meter = message.body ?? read(meterSchema, message.payload);
        if (meter !== undefined) hearMeter(book, meter);
        return;
      }
      const ack = message.body ?? read(ackSchema, message.payload);
      if (ack?.result !== 'APPLIED') return;
      if (book.told !== undefined && isOlder(ack, book.told)) reached.note('lateAck');
      book.take(ack, monotonicMs());
    },
  };
}

/** The most loaded phase, or what the power comes to on all of them. */
function drawnA({ facts }: ConnectorBook, { powerW, currentA }: MeterMessage): number {
  let mostA = powerW / facts.wattsPerA;
  if (currentA === undefined) return mostA;
  for (const phaseA of currentA) if (phaseA > mostA) mostA = phaseA;
  return mostA;
}

/** What is no message of the contract is none the service can have understood. */
function read<T>(
  schema: { safeParse(value: unknown): { data?: T | undefined } },
  payload: string,
): T | undefined {
  try {
    return schema.safeParse(JSON.parse(payload)).data;
  } catch {
    return undefined;
  }
}
