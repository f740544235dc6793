// Keeps one virtual charger going in a world: wakes it when it has something to do, and puts what it says on its wire.
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus';
import type { RandomGenerator } from 'pure-rand/types/RandomGenerator';
import type { ChargerMessage } from '../charger/charger-message.js';
import type { VirtualCharger } from '../charger/virtual-charger.js';
import { seedFor } from '../scenario/draw.js';
import type { Agenda, Happening } from './agenda.js';
import { type Receiver, Wire } from './wire.js';

/** What a world has to know of a charger, whatever it speaks. */
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
  /** Where another speaks for it: whether that is, or wants to be, connected. */
  readonly isWanted?: boolean;
  /** Between it and who speaks for it. */
  readonly line?: Wire;
  /** By how much it may draw more than it was told before that shows, A per phase. */
  readonly unforeseenA?: number;
  /** Who speaks for it does not trust its clock. */
  readonly isClockDoubted?: boolean;
}

export class ChargerRun implements Happening {
  readonly charger: WorldCharger;
  /** Between the broker and the charger, or who speaks for it. */
  readonly wire: Wire;
  /** When it tries to connect, and the like: drawn for it alone, so that nobody else changes it. */
  readonly luck: RandomGenerator;
  readonly #agenda: Agenda;
  readonly #monotonicMs: () => number;
  readonly #wallMs: () => number;
  readonly #say: (run: ChargerRun, message: ChargerMessage) => void;
  readonly #onChange: (run: ChargerRun) => void;
  #boots = 1;
  #plannedMs = Number.POSITIVE_INFINITY;

  constructor(options: {
    readonly charger: WorldCharger;
    readonly agenda: Agenda;
    readonly seed: number;
    readonly monotonicMs: () => number;
    readonly wallMs: () => number;
    /** It says this now. */
    readonly say: (run: ChargerRun, message: ChargerMessage) => void;
    /** Its draw, limit or status may have changed. */
    readonly onChange: (run: ChargerRun) => void;
  }) {
    const { address } = options.charger;
    this.charger = options.charger;
    this.luck = xoroshiro128plus(seedFor(options.seed, 'charger', address.controllerUuid));
    this.#agenda = options.agenda;
    this.#monotonicMs = options.monotonicMs;
    this.#wallMs = options.wallMs;
    this.#say = options.say;
    this.#onChange = options.onChange;
    const isOrdered = options.charger.line !== undefined;
    this.wire = new Wire({ ...options, address, receiver: this.#createReceiver(), isOrdered });
  }

  get isConnected(): boolean {
    return this.wire.isUp;
  }

  /** Whether it wants to be connected to the broker. */
  get isWanted(): boolean {
    return this.charger.isWanted ?? true;
  }

  /** Its wires, the charger's own first. */
  get wires(): readonly Wire[] {
    const { line } = this.charger;
    return line === undefined ? [this.wire] : [line, this.wire];
  }

  /** The link comes up, by itself or again: the charger says that it is there. */
  connect(): void {
    this.wire.isUp = true;
    this.charger.connected(this.#monotonicMs());
    this.wake();
  }

  /** The link is gone until `connect`. */
  disconnect(): void {
    this.wire.isUp = false;
  }

  reboot(): void {
    this.charger.reboot(`boot-${++this.#boots}`, this.#monotonicMs());
    this.wake();
  }

  /** Takes its messages now, whatever was planned. */
  wake(): void {
    const nowMs = this.#monotonicMs();
    if (this.wire.isUp) {
      const messages = this.charger.takeMessages(nowMs, this.#wallMs());
      for (const message of messages) this.#say(this, message);
    } else this.charger.advance(nowMs);
    this.#onChange(this);
    this.#plan(nowMs);
  }

  /** It has something to do now, unless it planned otherwise since. */
  happen(): void {
    if (this.#plannedMs !== this.#monotonicMs()) return;
    this.#plannedMs = Number.POSITIVE_INFINITY;
    this.wake();
  }

  #plan(nowMs: number): void {
    let dueMs = Math.ceil(this.charger.nextDueMs(nowMs));
    // Without a link its messages wait, and its cars go on.
    if (dueMs <= nowMs) dueMs = nowMs + (this.wire.isUp ? 1 : 1_000);
    if (dueMs >= this.#plannedMs && this.#plannedMs > nowMs) return;
    this.#plannedMs = dueMs;
    this.#agenda.at(dueMs, this);
  }

  #createReceiver(): Receiver {
    const { charger } = this;
    return {
      limit: (connectorId, limit) => {
        if (charger.takesLimits) charger.receiveLimit(connectorId, limit, this.#monotonicMs());
      },
      sync: () => {
        if (charger.takesLimits) charger.receiveSync(this.#monotonicMs());
      },
      answer: () => {
        if (charger.takesLimits) this.wake();
      },
    };
  }
}
