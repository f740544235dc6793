// Format in which a charger takes limits, as far as it has shown: amperes or watts, step and number of phases.
import type { DcOutput } from './dc-output.js';
import type { ChargerAbilities } from './gateway-request.js';
import type { CountedPhases, LeaseSchedule, Rate, RateUnit } from './lease-schedule.js';

interface RatedConnector {
  readonly phases: 1 | 3;
  readonly voltageV: number;
  readonly dc?: DcOutput | undefined;
}

export class LeaseRate {
  readonly #rated: RatedConnector;
  #unit: RateUnit | undefined;
  #stepA: 0.1 | 1 = 0.1;
  #phasesInUse: CountedPhases = 0;
  #isUnitTaken = false;
  #areTenthsTaken = false;

  constructor(rated: RatedConnector) {
    this.#rated = rated;
  }

  /** @param abilities undefined: not read yet */
  of(abilities: ChargerAbilities | undefined): Rate {
    const { voltageV, phases, dc } = this.#rated;
    const [usual, other] = this.units;
    const unit = this.#unit ?? (abilities?.units.includes(usual) === false ? other : usual);
    if (dc !== undefined) return { unit, stepA: this.#stepA, voltageV, phases, counted: 0, dc };
    // Watts do not name phases: a car on one of three phases would draw all of them there.
    const inWatts = phases === 1 ? 1 : this.#phasesInUse;
    return { unit, stepA: this.#stepA, voltageV, phases, counted: unit === 'W' ? inWatts : 0 };
  }

  /** The unit that a charger with both gets, and the other one. */
  get units(): readonly [RateUnit, RateUnit] {
    return this.#rated.dc === undefined ? ['A', 'W'] : ['W', 'A'];
  }

  /** Another car may use one phase or all. */
  forgetCar(): void {
    this.#phasesInUse = 0;
  }

  /** @param phasesInUse 0 if the car draws nothing, or if the number is unknown */
  noteCar(phasesInUse: CountedPhases): void {
    if (phasesInUse > 0) this.#phasesInUse = phasesInUse;
  }

  /** After a start the charger may take limits in another unit. That it rounds is remembered. */
  restart(): void {
    this.#unit = undefined;
    this.#isUnitTaken = false;
    this.#areTenthsTaken = false;
  }

  took(unit: RateUnit, limits: readonly number[]): void {
    this.#unit ??= unit;
    if (unit !== this.#unit) return;
    this.#isUnitTaken = true;
    if (unit === 'A' && !limits.every(Number.isInteger)) this.#areTenthsTaken = true;
  }

  /** The charger has taken limits in that unit since its start, so a refusal now has another reason. */
  get isUnitTaken(): boolean {
    return this.#isUnitTaken;
  }

  /** Changes the format after a refusal: to whole amperes, or to the other unit. @returns false if none is left */
  adapts({ unit, limit, thenLimit }: LeaseSchedule): boolean {
    const isWhole = Number.isInteger(limit) && Number.isInteger(thenLimit);
    if (unit === 'A' && !isWhole && this.#stepA !== 1 && !this.#areTenthsTaken) {
      this.#stepA = 1;
    } else if (unit === this.units[0] && !this.#isUnitTaken) {
      this.#unit = this.units[1];
      this.#stepA = 0.1;
    } else return false;
    return true;
  }

  /**
   * The charger showed more than its limit by less than an ampere, so it gets whole amperes from now on.
   * @returns false if it already does
   */
  roundsDown({ unit }: LeaseSchedule): boolean {
    if (unit !== 'A' || this.#stepA === 1) return false;
    this.#stepA = 1;
    return true;
  }
}
