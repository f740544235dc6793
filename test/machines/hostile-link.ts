// One direction of a connection that loses, doubles, delays, reorders and cuts off messages, or holds them and releases
// them late.
import type { Agenda, Dice } from './agenda.js';

export type LinkMode = 'open' | 'cut' | 'held';

export class HostileLink<M> {
  mode: LinkMode = 'open';
  /** While open, the link loses, doubles and delays messages. */
  isNoisy = false;
  readonly #agenda: Agenda;
  readonly #dice: Dice;
  readonly #deliver: (message: M) => void;
  #held: M[] = [];

  constructor(agenda: Agenda, dice: Dice, deliver: (message: M) => void) {
    this.#agenda = agenda;
    this.#dice = dice;
    this.#deliver = deliver;
  }

  send(message: M): void {
    if (this.mode === 'held') this.#held.push(message);
    if (this.mode !== 'open' || (this.isNoisy && this.#dice.isOneIn(10))) return;
    this.#post(message, this.isNoisy && this.#dice.isOneIn(8) ? 20_000 : 400);
    if (this.isNoisy && this.#dice.isOneIn(8)) this.#post(message, 30_000);
  }

  open(): void {
    this.mode = 'open';
    for (const message of this.#held) this.#post(message, 2_000);
    this.#held = [];
  }

  #post(message: M, withinMs: number): void {
    this.#agenda.after(1 + this.#dice.below(withinMs), () => this.#deliver(message));
  }
}
