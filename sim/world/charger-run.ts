// Drives one virtual charger in a world: wakes it at its due instants, and puts its messages on its wire.
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus';
import type { RandomGenerator } from 'pure-rand/types/RandomGenerator';
import type { ChargerMessage } from '../charger/charger-message.js';
import type { VirtualCharger } from '../charger/virtual-charger.js';
import { seedFor } from '../scenario/draw.js';
import type { Agenda, Happening } from './agenda.js';
import { type Receiver, Wire } from './wire.js';

/** The world's side of a charger, the same for MQTT and OCPP. */
export interface WorldCharger
  extends Pick<
    VirtualCharger,
    | 'address'
    | 'connectors'
    | 'takesLimits'
    | 'outlets'
    | 'advance'
    | 'supply'
    | 'nextDueMs'
    | 'connected'
    | 'receiveLimit'
    | 'receiveSync'
    | 'takeMessages'
    | 'lastWill'
    | 'reboot'
    | 'limits'
    | 'physicalPowerW'
  > {
  /** For a charger behind the gateway: its gateway session is connected to the broker, or is about to be. */
  readonly isWanted?: boolean;
  /** Wire between the charger and the gateway. */
  readonly line?: Wire;
  /** Excess of its draw over the limit sent to it, before any report shows the excess; A per phase. */
  readonly unforeseenA?: number;
  /** The gateway treats its clock as unreliable. */
  readonly isClockDoubted?: boolean;
}

interface ChargerRunOptions {
  readonly charger: WorldCharger;
  readonly agenda: Agenda;
  readonly seed: number;
  /** The charger sends the message now. */
  readonly said: (run: ChargerRun, message: ChargerMessage) => void;
  /** Its draw, limit, state or connection may have changed. */
  readonly changed: (run: ChargerRun) => void;
}

export class ChargerRun implements Happening {
  readonly charger: WorldCharger;
  /** Wire between the broker and the charger or its gateway. */
  readonly wire: Wire;
  /** Random numbers for this charger alone, for example for its reconnects, so that no other charger changes them. */
  readonly luck: RandomGenerator;
  readonly #options: ChargerRunOptions;
  readonly #agenda: Agenda;
  #boots = 1;
  #plannedMs = Number.POSITIVE_INFINITY;

  constructor(options: ChargerRunOptions) {
    const { charger, agenda, seed } = options;
    const { address, line } = charger;
    this.#options = options;
    this.#agenda = agenda;
    this.charger = charger;
    this.luck = xoroshiro128plus(seedFor(seed, 'charger', address.controllerUuid));
    this.wire = new Wire({
      agenda,
      seed,
      address,
      receiver: this.#createReceiver(),
      isOrdered: line !== undefined,
    });
  }

  get isConnected(): boolean {
    return this.wire.isUp;
  }

  /** True if it is to be connected to the broker. */
  get isWanted(): boolean {
    return this.charger.isWanted ?? true;
  }

  /** Its wires; the charger's own comes first. */
  get wires(): readonly Wire[] {
    const { line } = this.charger;
    return line === undefined ? [this.wire] : [line, this.wire];
  }

  /** The connection comes up, for the first time or again, and the charger reports its state. */
  connect(): void {
    this.wire.isUp = true;
    this.charger.connected(this.#agenda.monotonicMs());
    this.wake();
  }

  /** The connection is down until `connect`. */
  disconnect(): void {
    this.wire.isUp = false;
  }

  reboot(): void {
    this.charger.reboot(`boot-${++this.#boots}`, this.#agenda.monotonicMs());
    this.wake();
  }

  /** Takes its messages now, regardless of the plan. */
  wake(): void {
    const nowMs = this.#agenda.monotonicMs();
    if (this.wire.isUp) {
      const messages = this.charger.takeMessages(nowMs, this.#agenda.nowMs());
      for (const message of messages) this.#options.said(this, message);
    } else this.charger.advance(nowMs);
    this.#options.changed(this);
    this.#plan(nowMs);
  }

  /** Wakes the charger, unless the plan has changed since. */
  happen(): void {
    if (this.#plannedMs !== this.#agenda.monotonicMs()) return;
    this.#plannedMs = Number.POSITIVE_INFINITY;
    this.wake();
  }

  #plan(nowMs: number): void {
    let dueMs = Math.ceil(this.charger.nextDueMs(nowMs));
    // Without a connection its messages wait, and its cars go on.
    if (dueMs <= nowMs) dueMs = nowMs + (this.wire.isUp ? 1 : 1_000);
    if (dueMs >= this.#plannedMs && this.#plannedMs > nowMs) return;
    this.#plannedMs = dueMs;
    this.#agenda.at(dueMs, this);
  }

  #createReceiver(): Receiver {
    const { charger } = this;
    return {
      limit: (connectorId, limit) => {
        if (charger.takesLimits) charger.receiveLimit(connectorId, limit, this.#agenda.monotonicMs());
      },
      sync: () => {
        if (charger.takesLimits) charger.receiveSync(this.#agenda.monotonicMs());
      },
      answer: () => {
        if (charger.takesLimits) this.wake();
      },
    };
  }
}
