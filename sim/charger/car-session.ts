// A virtual charger names each visit of a car. The limits for a visit end with that visit.
import type { AckResult } from '../../machines/power/grant.js';
import type { LimitMessage } from '../../src/wire/mqtt.js';
import type { CarNote } from './car.js';
import type { GrantHolder } from './grant-holder.js';
import type { Outlet } from './outlet.js';
import type { ChargerTraits } from './traits.js';

interface CarSessionOptions {
  readonly traits: ChargerTraits;
  readonly boot: string;
  readonly onCar: (note: CarNote) => void;
}

export class CarSession {
  readonly #holder: GrantHolder;
  readonly #options: CarSessionOptions;
  readonly #outlet: () => Outlet;
  #boot: string;
  #visits = 0;
  #isCarThere = false;

  constructor(holder: GrantHolder, options: CarSessionOptions, outlet: () => Outlet) {
    this.#holder = holder;
    this.#options = options;
    this.#outlet = outlet;
    this.#boot = options.boot;
  }

  /** Undefined without a car, and for a charger without `endsWithSession`. */
  get id(): string | undefined {
    if (!this.#isCarThere || !this.#options.traits.endsWithSession) return undefined;
    return `${this.#boot.slice(0, 40)}-${this.#visits}`;
  }

  onCar(note: CarNote): void {
    this.#isCarThere = note.what === 'arrived';
    if (this.#isCarThere) this.#visits++;
    else this.#end();
    this.#options.onCar(note);
  }

  onMorePhases(): void {
    if ((this.#holder.applied.reallocated?.phases ?? 3) < this.#outlet().phases) this.#end();
  }

  /** Returns the reason to refuse a limit for a session, or undefined if the charger accepts the limit. */
  refuses(limit: Pick<LimitMessage, 'session' | 'phases'>): AckResult | undefined {
    if (limit.session === undefined) return undefined;
    if (limit.session !== this.id) return 'STALE';
    const { switchesPhases } = this.#options.traits;
    return !switchesPhases && (limit.phases ?? 3) < this.#outlet().phases ? 'REJECTED' : undefined;
  }

  restart(boot: string): void {
    this.#boot = boot;
    this.#visits++;
  }

  /**
   * A limit for the session ends with it. The contactor opens whether or not the charger is online (power-safety.md).
   */
  #end(): void {
    if (this.#holder.endSession()) this.#outlet().cut();
  }
}
