// Follows the messages that chargers send and those of them that the service receives. Records the limits that
// chargers took, and reports a limit that a charger must not take (P7).

import type { LeaseKind } from '../../machines/ledger/grant.js';
import type { ChargerAddress } from '../../machines/values/ids.js';
import type { LimitMessage, MeterMessage, StateMessage } from '../../src/wire/mqtt.js';
import { ackSchema, meterSchema } from '../../src/wire/mqtt.js';
import type { ChargerMessage } from '../charger/charger-message.js';
import type { OutletState } from '../charger/virtual-charger.js';
import type { WorldCharger } from '../world/charger-run.js';
import type { CheckedWorld } from './checked-world.js';
import type { ConnectorBook } from './connector-book.js';
import { isOlder, leaseMsOf, type Numbered } from './connector-book.js';

type ConnectorMessage = Exclude<ChargerMessage, { kind: 'state' }>;

/** Rounding error of a charger's own calculation. */
const ROUNDING_MS = 1;

type ExchangeWatchWorld = Pick<CheckedWorld, 'books' | 'monotonicMs' | 'reached' | 'report'>;

/** A reading that the service takes as the newest one of its connector. */
interface TakenReading {
  readonly book: ConnectorBook;
  readonly meter: MeterMessage;
  /** Its charger has started again since. */
  readonly isOfOldBoot: boolean;
}

export class ExchangeWatch {
  readonly #world: ExchangeWatchWorld;
  readonly #spokenFor = new Set<string>();
  /** Last lease kind that the gateway sent for these chargers, received or not. */
  readonly #saidLease = new Map<ConnectorBook, LeaseKind>();

  constructor(world: ExchangeWatchWorld) {
    this.#world = world;
  }

  /** The charger sends the message now; its arrival is another event. */
  said(charger: WorldCharger, message: ChargerMessage): void {
    if (message.kind === 'state') {
      // A gateway's state for a charger changes with the charger's behaviour. The service has only the states that it
      // received.
      if (charger.line !== undefined) this.#noteSaid(charger.address, message.body);
      else if (message.body !== undefined) this.#noteOwn(charger.address, message.body);
      return;
    }
    if (message.body === undefined) return;
    const book = this.#bookOf(charger.address, message);
    if (book === undefined) return;
    if (message.kind === 'meter') {
      const { boot = '', hb } = message.body;
      if (hb !== undefined) book.said.note(boot, hb, this.#world.monotonicMs());
      this.#noteWords(book, message.body);
      return;
    }
    const { result } = message.body;
    if (result === 'STALE') this.#world.reached.note('staleGrantRefused');
    const session = book.given(message.body)?.session;
    if (result === 'STALE' && session !== undefined && session !== book.sessions.in(message.body.boot)?.id)
      this.#world.reached.note('sessionOver');
    if (result === 'EXPIRED') this.#world.reached.note('expiredGrantRefused');
    if (result !== 'APPLIED') return;
    const outlet = charger.outlets.find(({ spec }) => spec.connectorId === message.connectorId);
    this.#judgeTaken(book, outlet, message.body, charger.line !== undefined);
  }

  /** The message reaches the service now. */
  received(from: ChargerAddress, message: ChargerMessage): TakenReading | undefined {
    if (message.kind === 'state') {
      if (message.body?.online === false) this.#receiveWill(from);
      if (message.body !== undefined && this.#spokenFor.has(from.controllerUuid))
        this.#noteOwn(from, message.body);
      return undefined;
    }
    const book = this.#bookOf(from, message);
    if (book === undefined) return undefined;
    if (message.kind === 'meter') {
      const meter = message.body ?? read(meterSchema, message.payload);
      return meter && this.#receiveMeter(book, meter);
    }
    const ack = message.body ?? read(ackSchema, message.payload);
    if (ack?.result !== 'APPLIED') return undefined;
    if (book.sent !== undefined && isOlder(ack, book.sent)) this.#world.reached.note('lateAck');
    book.noteApplied(ack, this.#world.monotonicMs());
    return undefined;
  }

  #receiveWill({ controllerUuid }: ChargerAddress): void {
    this.#world.reached.note('lastWillHeard');
    for (const book of this.#world.books.ofCharger(controllerUuid)) book.signOff();
  }

  #violate(book: ConnectorBook, detail: string): void {
    this.#world.report({ invariant: 'P7', target: book.facts.key, detail });
  }

  /**
   * A charger must not take a limit of another boot, or one that is older than a limit it took. The lease of a limit
   * must not count from too late.
   */
  #judgeTaken(
    book: ConnectorBook,
    outlet: OutletState | undefined,
    ack: Numbered & { boot?: string | undefined },
    isSpokenFor: boolean,
  ) {
    const before = book.taken;
    if (before !== undefined && before.boot === ack.boot && !isOlder(before, ack))
      this.#violate(book, `${ack.epoch}/${ack.seq} was applied after ${before.epoch}/${before.seq}`);
    book.taken = ack;
    const given = book.given(ack);
    if (given === undefined) return;
    if (given.boot !== ack.boot)
      this.#violate(
        book,
        `${ack.epoch}/${ack.seq} was applied by boot ${ack.boot}, and is for ${given.boot}`,
      );
    if (given.session !== undefined && given.session !== outlet?.session)
      this.#violate(
        book,
        `${ack.epoch}/${ack.seq} was applied, and is for session ${given.session}, which has ended`,
      );
    const applied = outlet?.holder.applied;
    if (applied?.seq !== ack.seq || applied.epoch !== ack.epoch) return;
    if ((this.#saidLease.get(book) ?? book.lease) !== 'heartbeat') return;
    let latestMs = latestEndMs(book, given);
    // A gateway's acknowledgement may be late: by then the gateway may have sent a newer limit, which ends later.
    if (isSpokenFor && applied.endsAtMs > latestMs)
      for (const newer of book.givenAfter(given)) latestMs = Math.max(latestMs, latestEndMs(book, newer));
    if (applied.endsAtMs > latestMs)
      this.#violate(
        book,
        `the lease of ${ack.epoch}/${ack.seq} lasts ${applied.endsAtMs - latestMs} ms too long`,
      );
  }

  /** A message with a body is about a connector of its charger; any other message has only its topic. */
  #bookOf({ controllerUuid }: ChargerAddress, message: ConnectorMessage): ConnectorBook | undefined {
    // Comparing topics costs more than two short look-ups: topics are long, and each exists as two strings.
    if (message.body === undefined) return this.#world.books.byTopic(message.topic);
    return this.#world.books.byId(controllerUuid, message.connectorId);
  }

  #noteSaid(
    { controllerUuid }: ChargerAddress,
    { connectors = [] }: StateMessage = { v: 1, online: true },
  ): void {
    this.#spokenFor.add(controllerUuid);
    for (const { id, lease } of connectors) {
      const book = this.#world.books.byId(controllerUuid, id);
      if (book !== undefined) this.#saidLease.set(book, lease);
    }
  }

  #noteOwn({ controllerUuid }: ChargerAddress, { connectors = [] }: StateMessage): void {
    for (const own of connectors) {
      const book = this.#world.books.byId(controllerUuid, own.id);
      if (book === undefined) continue;
      book.receivedLeaseKind.receive(own.lease, this.#world.monotonicMs());
      book.isForgetful = own.keepsThen !== true;
      if (own.powerType !== 'DC') book.startsWithA = own.failsafeA;
      book.switchesPhases = own.powerType !== 'DC' && own.switchesPhases === true;
    }
  }

  #noteWords(book: ConnectorBook, { boot, seq = 0 }: MeterMessage): void {
    if (book.saidBoot === boot && book.saidSeq > 0 && seq === 0) this.#world.reached.note('leaseExpired');
    book.saidBoot = boot;
    book.saidSeq = seq;
  }

  #receiveMeter(book: ConnectorBook, meter: MeterMessage): TakenReading | undefined {
    const { boot = '', hb, epoch = 0, seq = 0, limitA = 0, isEndOpen } = meter;
    const nowMs = this.#world.monotonicMs();
    const isNewBoot = book.receivedBoot !== boot;
    const isOver = isNewBoot && book.received.isOver(boot);
    if (isOver) this.#world.reached.note('oldBootHeard');
    if (hb === undefined) book.isReadOnly = true;
    else if (!book.received.note(boot, hb, nowMs)) {
      this.#world.reached.note('heartbeatOvertaken');
      book.sessions.noteLate(boot, meter.session);
      return undefined;
    }
    if (isNewBoot) book.receivedBoot = boot;
    book.receive(nowMs, isNewBoot);
    book.draw(drawnA(book, meter), nowMs);
    book.sessions.note(boot, meter.session, phasesOf(meter));
    if (seq > 0 && limitA > 0) book.drawOn(phasesOf(meter), meter.session, nowMs);
    if (seq > 0) this.#noteApplied(book, { epoch, seq });
    if (isEndOpen === true) book.openEnd(nowMs);
    return { book, meter, isOfOldBoot: isOver };
  }

  #noteApplied(book: ConnectorBook, { epoch, seq }: Numbered): void {
    if (book.sent?.epoch === epoch && book.sent.seq === seq && isOlder(book.holds, { epoch, seq }))
      this.#world.reached.note('lostAckHealed');
    book.noteApplied({ epoch, seq }, this.#world.monotonicMs());
  }
}

/** Latest end of a limit's lease, by the slowest clock. */
function latestEndMs({ said }: ConnectorBook, { boot, ref, ttlS }: LimitMessage): number {
  return (said.atMs(boot, ref) ?? 0) + leaseMsOf({ ttlS }) + ROUNDING_MS;
}

/** Current of the most loaded phase, or of the power on all phases, if that is more. */
function drawnA({ facts }: ConnectorBook, { powerW, currentA }: MeterMessage): number {
  const { wattsPerA, efficiency = 1 } = facts;
  let mostA = powerW / efficiency / wattsPerA;
  if (currentA === undefined) return mostA;
  for (const phaseA of currentA) if (phaseA > mostA) mostA = phaseA;
  return mostA;
}

/** Number of phases up to the last one that carries more than a meter's noise. */
function phasesOf({ currentA = [0, 0, 0] }: MeterMessage): number {
  return currentA.findLastIndex((phaseA) => phaseA >= 1) + 1;
}

/** The service cannot use a payload that is no message of the contract. */
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
