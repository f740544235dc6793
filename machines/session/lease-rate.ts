// How a charger takes limits, as far as it has shown: in amperes or watts, in tenths or whole ones, on how many phases.
import type { ChargerAbilities } from './gateway-request.js';
import type { CountedPhases, LeaseSchedule, Rate, RateUnit } from './lease-schedule.js';

export class LeaseRate {
  readonly #rated: { readonly phases: 1 | 3; readonly voltageV: number };
  #unit: RateUnit | undefined;
  #stepA: 0.1 | 1 = 0.1;
  #phasesInUse: CountedPhases = 0;
  #isUnitTaken = false;
  #areTenthsTaken = false;

  constructor(rated: { readonly phases: 1 | 3; readonly voltageV: number }) {
    this.#rated = rated;
  }

  /** @param abilities undefined: not known yet */
  of(abilities: ChargerAbilities | undefined): Rate {
    const { voltageV, phases } = this.#rated;
    const unit = this.#unit ?? (abilities?.units.includes('A') === false ? 'W' : 'A');
    // Watts say nothing of phases: a car on one of three would draw all of them there.
    const inWatts = phases === 1 ? 1 : this.#phasesInUse;
    return { unit, stepA: this.#stepA, voltageV, phases, counted: unit === 'W' ? inWatts : 0 };
  }

  /** Another car: it may use one phase or all. */
  forgetCar(): void {
    this.#phasesInUse = 0;
  }

  /** The car uses so many now; 0 where it draws nothing, or does not say. */
  noteCar(phasesInUse: CountedPhases): void {
    if (phasesInUse > 0) this.#phasesInUse = phasesInUse;
  }

  /** It started anew: it may take limits in another unit. That it rounds is remembered. */
  restart(): void {
    this.#unit = undefined;
    this.#isUnitTaken = false;
    this.#areTenthsTaken = false;
  }

  /** It took these limits. */
  took(unit: RateUnit, limits: readonly number[]): void {
    this.#unit ??= unit;
    if (unit !== this.#unit) return;
    this.#isUnitTaken = true;
    if (unit === 'A' && !limits.every(Number.isInteger)) this.#areTenthsTaken = true;
  }

  /** It has taken limits in that unit since its start: what it refuses now, it refuses for another reason. */
  get isUnitTaken(): boolean {
    return this.#isUnitTaken;
  }

  /** It refused that: whether it may take the same in whole amperes, or in W. */
  adapts({ unit, limit, thenLimit }: LeaseSchedule): boolean {
    const isWhole = Number.isInteger(limit) && Number.isInteger(thenLimit);
    if (unit === 'A' && !isWhole && this.#stepA !== 1 && !this.#areTenthsTaken) {
      this.#stepA = 1;
    } else if (unit === 'A' && !this.#isUnitTaken) {
      this.#unit = 'W';
      this.#stepA = 0.1;
    } else return false;
    return true;
  }

  /** It showed more than it was told, by less than an ampere: from now on it is told whole ones. False where it is already. */
  roundsDown({ unit }: LeaseSchedule): boolean {
    if (unit !== 'A' || this.#stepA === 1) return false;
    this.#stepA = 1;
    return true;
  }
}
