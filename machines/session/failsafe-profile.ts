// Fail-safe profile of one connector: its charger starts with it, and falls back to it while no lease applies.
import type { GatewayRequest } from './gateway-request.js';
import { limitIn, type Rate, type RateUnit } from './lease-schedule.js';

export type SetFailsafe = Extract<GatewayRequest, { readonly kind: 'setFailsafe' }>;

/** Start currents of connectors by connectorId, A per phase. */
export type Fallbacks = Readonly<Record<string, number>>;

/** Currents in A per phase. */
export class FailsafeProfile {
  readonly #spec: { readonly evse: number; readonly phases: 1 | 3 };
  readonly #changed: () => void;
  #mostA: number;

  /** @param currentA highest current that the profile allows, as far as known */
  constructor(
    spec: { readonly evse: number; readonly phases: 1 | 3 },
    currentA: number,
    changed: () => void,
  ) {
    this.#spec = spec;
    this.#mostA = currentA;
    this.#changed = changed;
  }

  /** Highest current that the profile may allow: until the charger answers, the larger of the old and the new one. */
  get mostA(): number {
    return this.#mostA;
  }

  /** The request counts all phases of the charger, regardless of its car. */
  requestOf(rate: Rate, unit: RateUnit, currentA: number): SetFailsafe {
    const { evse, phases } = this.#spec;
    return { kind: 'setFailsafe', evse, unit, limit: limitIn({ ...rate, unit, counted: phases }, currentA) };
  }

  /** The gateway sends that value to the charger now. */
  ask(currentA: number): void {
    this.#change(Math.max(this.#mostA, currentA));
  }

  /** The charger has accepted that value. */
  take(currentA: number): void {
    this.#change(currentA);
  }

  #change(mostA: number): void {
    if (mostA === this.#mostA) return;
    this.#mostA = mostA;
    this.#changed();
  }
}
