// The fail-safe profile of one connector: what its charger starts with, and falls back to where no lease says otherwise.
import type { GatewayRequest } from './gateway-request.js';
import { limitIn, type Rate, type RateUnit } from './lease-schedule.js';

export type SetFailsafe = Extract<GatewayRequest, { readonly kind: 'setFailsafe' }>;

/** What connectors start with, by connectorId, A per phase. */
export type Fallbacks = Readonly<Record<string, number>>;

/** Currents in A per phase. */
export class FailsafeProfile {
  readonly #spec: { readonly evse: number; readonly phases: 1 | 3 };
  readonly #changed: () => void;
  #mostA: number;

  /** @param currentA what it allows at the most, as far as is known */
  constructor(
    spec: { readonly evse: number; readonly phases: 1 | 3 },
    currentA: number,
    changed: () => void,
  ) {
    this.#spec = spec;
    this.#mostA = currentA;
    this.#changed = changed;
  }

  /** What it allows at the most: while the charger has not answered, the larger of what it had and what it is to have. */
  get mostA(): number {
    return this.#mostA;
  }

  /** As the charger is asked for it: on all of its phases, whatever its car uses. */
  requestOf(rate: Rate, unit: RateUnit, currentA: number): SetFailsafe {
    const { evse, phases } = this.#spec;
    return { kind: 'setFailsafe', evse, unit, limit: limitIn({ ...rate, unit, counted: phases }, currentA) };
  }

  /** The charger is asked for that now. */
  ask(currentA: number): void {
    this.#change(Math.max(this.#mostA, currentA));
  }

  /** The charger has taken it. */
  take(currentA: number): void {
    this.#change(currentA);
  }

  #change(mostA: number): void {
    if (mostA === this.#mostA) return;
    this.#mostA = mostA;
    this.#changed();
  }
}
