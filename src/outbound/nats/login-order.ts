// Separates new login announcements of a front from repeated ones, which must end no session.
import { boundedCache } from '../../bounded-cache.js';
import type { LoginMessage } from '../../wire/bus.js';

/** A front has a new id after each start; the latest ids are remembered. */
const FRONTS = 1_000;

export class LoginOrder {
  readonly #newest = boundedCache<number>(FRONTS);

  /** NATS keeps the order of one front's messages. */
  isNew({ front, login }: Pick<LoginMessage, 'front' | 'login'>): boolean {
    if (login <= (this.#newest.get(front) ?? 0)) return false;
    this.#newest.set(front, login);
    return true;
  }

  forget(): void {
    this.#newest.clear();
  }
}
