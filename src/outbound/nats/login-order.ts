// Tells a login that a front told now from one that it told before: whatever comes twice ends no session.
import { boundedCache } from '../../bounded-cache.js';
import type { LoginMessage } from '../../wire/bus.js';

/** Fronts that are started again have another id; those that were heard of last are remembered. */
const FRONTS = 1_000;

export class LoginOrder {
  readonly #newest = boundedCache<number>(FRONTS);

  /** NATS keeps the order of what one front sends. */
  isNew({ front, login }: Pick<LoginMessage, 'front' | 'login'>): boolean {
    if (login <= (this.#newest.get(front) ?? 0)) return false;
    this.#newest.set(front, login);
    return true;
  }

  forget(): void {
    this.#newest.clear();
  }
}
