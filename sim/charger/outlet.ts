// One outlet of a virtual charger and its car: the physical power, which reports may misstate.
import { createActor } from 'xstate';
import type { ChargingStatus } from '../../machines/values/charging-status.js';
import type { ConnectorRating } from '../../machines/values/units.js';
import type { ChargingPreferences } from '../../src/wire/charging-preferences.js';
import {
  type Car,
  type CarNote,
  type NextCar,
  nextCurrentA,
  type PerPhase,
  phasesAt,
  taperBeginsAtWh,
  wantedCurrentA,
} from './car.js';
import { countedV, efficiencyOf, leastOfferA } from './direct-current.js';
import {
  type ConnectorMode,
  STATUS_OF,
  type VirtualConnectorEvent,
  virtualConnectorMachine,
} from './virtual-connector.machine.js';

// The delay with which a car follows its charger's offer: a moment as cars do, or as late as permitted and not
// earlier.
interface Reaction {
  /** The charger's pilot offers `offeredA` from `nowMs` on. */
  offer(offeredA: number, nowMs: number): void;
  /** The charger opened its contactor: earlier offers no longer apply. */
  cut(): void;
  /** Lets time pass up to `nowMs` and returns the offer that the car follows. */
  followedA(nowMs: number): number;
  /** Instant of the next change of that offer; Infinity if there is none. */
  readonly nextDueMs: number;
}

/** An ordinary car: it follows the present offer `reactionMs` after the withdrawal of the offer it followed. */
class PromptReaction implements Reaction {
  nextDueMs = Number.POSITIVE_INFINITY;
  readonly #reactionMs: () => number;
  #pilotA: number;
  #followedA: number;

  constructor(offeredA: number, reactionMs: () => number) {
    this.#reactionMs = reactionMs;
    this.#pilotA = offeredA;
    this.#followedA = offeredA;
  }

  offer(offeredA: number, nowMs: number): void {
    if (offeredA !== this.#pilotA && this.nextDueMs === Number.POSITIVE_INFINITY)
      this.nextDueMs = nowMs + this.#reactionMs();
    this.#pilotA = offeredA;
  }

  cut(): void {
    this.#pilotA = this.#followedA = 0;
    this.nextDueMs = Number.POSITIVE_INFINITY;
  }

  followedA(nowMs: number): number {
    if (nowMs >= this.nextDueMs) {
      this.#followedA = this.#pilotA;
      this.nextDueMs = Number.POSITIVE_INFINITY;
    }
    return this.#followedA;
  }
}

/** The worst permitted car: it rises at once, and always draws the highest offer of the last `settleMs`. */
class LateReaction implements Reaction {
  readonly #settleMs: number;
  #pilotA: number;
  /** Withdrawn offers, the largest first, which is the oldest; a smaller and older offer has no effect. */
  readonly #withdrawn: { readonly offeredA: number; readonly untilMs: number }[] = [];

  constructor(offeredA: number, settleMs: number) {
    this.#settleMs = settleMs;
    this.#pilotA = offeredA;
  }

  get nextDueMs(): number {
    return this.#withdrawn[0]?.untilMs ?? Number.POSITIVE_INFINITY;
  }

  offer(offeredA: number, nowMs: number): void {
    if (offeredA === this.#pilotA) return;
    const [withdrawn, pilotA] = [this.#withdrawn, this.#pilotA];
    while ((withdrawn.at(-1)?.offeredA ?? Number.POSITIVE_INFINITY) <= pilotA) withdrawn.pop();
    withdrawn.push({ offeredA: pilotA, untilMs: nowMs + this.#settleMs });
    this.#pilotA = offeredA;
  }

  cut(): void {
    this.#pilotA = 0;
    this.#withdrawn.length = 0;
  }

  followedA(nowMs: number): number {
    while (this.nextDueMs <= nowMs) this.#withdrawn.shift();
    return Math.max(this.#pilotA, this.#withdrawn[0]?.offeredA ?? 0);
  }
}

const STEP_MS = 1000;
const CABLE_TAKES_MS = 2000; // to recognise a car, and to unplug one
const MS_PER_HOUR = 3_600_000;

/** Currents are in A per phase in use, times in ms. `advance` and `offer` never go back in time. */
export class Outlet {
  // The fields start as NaN: at the first fraction V8 would recompile all code that it had compiled for integers.
  /** A DC connector holds a power instead: `drawnA` is its current at the lowest voltage. */
  drawnA = Number.NaN;
  #registerWh = Number.NaN;
  #storedWh = Number.NaN;
  #offeredA = Number.NaN;
  /** Instants of the next stop and of the next due work; NaN while unknown. */
  #stopMs = Number.NaN;
  #dueMs = Number.NaN;
  /** The contactors connect the first `connected` phases to the car; `phases` of them carry current. */
  connected: number;
  #nowMs: number;
  readonly #options: OutletOptions;
  readonly #rating: ConnectorRating;
  readonly #leastOfferA: number;
  readonly #actor = createActor(virtualConnectorMachine).start();
  readonly #reaction: Reaction;
  #nextStepMs: number;
  #mode: ConnectorMode = 'available';
  #isPluggedIn = false;
  status: ChargingStatus = STATUS_OF.available;
  #car: Car;
  #atMs: number;
  #modeEndsAtMs: number;
  #supplyV: PerPhase | undefined;

  constructor(options: OutletOptions) {
    const { rating, startsAtMs, offeredA, nextCar, lateMs } = options;
    this.drawnA = this.#registerWh = this.#storedWh = 0;
    this.#options = options;
    this.#rating = rating;
    this.connected = rating.phases;
    this.#leastOfferA = leastOfferA(rating);
    this.#offeredA = offeredA;
    this.#reaction =
      lateMs === undefined
        ? new PromptReaction(offeredA, () => this.#car.reactionMs)
        : new LateReaction(offeredA, lateMs);
    this.#nextStepMs = startsAtMs + STEP_MS;
    this.#atMs = this.#nowMs = startsAtMs;
    this.#car = nextCar(startsAtMs);
    this.#modeEndsAtMs = this.#car.arrivesAtMs;
  }

  get phases(): number {
    // A DC connector loads all phases alike, independent of the car.
    const phases = this.#rating.dc == null ? Math.min(phasesAt(this.#car, this.#atMs), this.connected) : 3;
    // This test is last: V8 must run the lines before it from the first hours on, even without a car.
    return this.#mode === 'available' ? 0 : phases;
  }

  /** Mean of the phases that carry current. */
  get voltageV(): number {
    if (this.#supplyV === undefined) return this.#rating.voltageV;
    const inUseV = this.#supplyV.slice(0, Math.max(1, this.phases));
    return inUseV.reduce((sum, phaseV) => sum + phaseV, 0) / inUseV.length;
  }

  /** Physical power from the grid. */
  get powerW(): number {
    const heldV = this.#rating.dc == null ? this.voltageV : countedV(this.#rating);
    return this.drawnA * heldV * this.phases;
  }

  /** Physical current in each of the phases that carry current. */
  get currentA(): number {
    if (this.#rating.dc == null) return this.drawnA;
    return this.phases === 0 || this.voltageV === 0 ? 0 : this.powerW / (this.phases * this.voltageV);
  }

  /** Instant of the next change of its mode, or of its draw if that changes faster than by taper. */
  get nextDueMs(): number {
    if (Number.isNaN(this.#dueMs)) this.#dueMs = this.#findDueMs();
    return this.#dueMs;
  }

  #findDueMs(): number {
    const dueMs = this.#changesAtMs;
    if (!this.#isPluggedIn) return dueMs;
    if (this.#car.isIdeal) return Math.min(dueMs, this.#fullAtMs);
    const isSteady = Math.abs(this.drawnA - this.#wantedA()) < 0.1;
    return isSteady ? dueMs : Math.min(dueMs, this.#nextStepMs);
  }

  /** State of charge of the car's battery, in whole percent; undefined without a car. */
  get socPercent(): number | undefined {
    if (!this.#isPluggedIn) return undefined;
    const storedWh = this.#storedWh + this.#flowedWh(this.#nowMs);
    return Math.min(100, Math.floor((100 * storedWh) / this.#car.batteryWh));
  }

  /** Needs of the car as its driver declares them now; undefined without any. */
  get preferences(): ChargingPreferences | undefined {
    if (!this.#isPluggedIn) return undefined;
    const { preferences, secondThought } = this.#car;
    return secondThought !== undefined && this.#nowMs >= secondThought.fromMs
      ? secondThought.preferences
      : preferences;
  }

  /** Meter register, at the car; it only rises. */
  get energyWh(): number {
    return this.#registerWh + this.#flowedWh(this.#nowMs);
  }

  /** Lets time pass up to `nowMs`. The timeline does not depend on the number of steps. */
  advance(nowMs: number): void {
    if (nowMs > this.#nowMs) this.#nowMs = nowMs;
    for (let stopMs = this.#nextStopMs; stopMs <= nowMs; stopMs = this.#nextStopMs) this.#passTo(stopMs);
  }

  /** Phase-to-neutral voltages from `nowMs` on; until then, and without a grid, the rating's voltage applies. */
  supply(voltagesV: PerPhase, nowMs: number): void {
    this.#countUpTo(nowMs);
    this.#supplyV = voltagesV;
    this.#forgetInstants();
  }

  /** The pilot offers `offeredA` to the car from `nowMs` on. */
  offer(offeredA: number, nowMs: number): void {
    this.#countUpTo(nowMs);
    if (this.#isOffer(offeredA) !== this.#isOffer(this.#offeredA)) {
      const { isStubborn } = this.#car;
      this.#tell(this.#isOffer(offeredA) ? { type: 'offer.made' } : { type: 'offer.withdrawn', isStubborn });
    }
    this.#offeredA = offeredA;
    this.#reaction.offer(offeredA, nowMs);
    this.#follow(0);
    this.#forgetInstants();
  }

  /** The charger opens its contactor: no current flows, and the car begins anew at the next offer. */
  cut(): void {
    if (this.#isOffer(this.#offeredA))
      this.#tell({ type: 'offer.withdrawn', isStubborn: this.#car.isStubborn });
    this.#offeredA = 0;
    this.#reaction.cut();
    this.drawnA = 0;
    this.#forgetInstants();
  }

  /** Counts between whole seconds too: energy so far must not be counted at a new offer or voltage. */
  #countUpTo(nowMs: number): void {
    this.advance(nowMs);
    if (nowMs > this.#atMs) this.#passTo(nowMs);
  }

  get #nextStopMs(): number {
    if (Number.isNaN(this.#stopMs)) this.#stopMs = this.#findStopMs();
    return this.#stopMs;
  }

  /** The computed next instants no longer hold. */
  #forgetInstants(): void {
    this.#stopMs = Number.NaN;
    this.#dueMs = Number.NaN;
  }

  #findStopMs(): number {
    const dueMs = this.#changesAtMs;
    if (!this.#isPluggedIn) return dueMs;
    return Math.min(dueMs, this.#car.isIdeal ? this.#fullAtMs : this.#steadyUntilMs);
  }

  /** Instant of the next change that is not one of charge or draw. */
  get #changesAtMs(): number {
    const dueMs = Math.min(this.#modeEndsAtMs, this.#reaction.nextDueMs);
    const { usesAllFromMs = 0 } = this.#car;
    return this.#isPluggedIn && usesAllFromMs > this.#atMs ? Math.min(dueMs, usesAllFromMs) : dueMs;
  }

  #isOffer(offeredA: number): boolean {
    return offeredA > 0 && offeredA >= this.#leastOfferA;
  }

  /** Power that arrives at the car, W. */
  get #chargingW(): number {
    return this.powerW * efficiencyOf(this.#rating);
  }

  /** While the draw equals the wanted current, only energy changes, and one step covers all such seconds. */
  get #steadyUntilMs(): number {
    if (this.drawnA !== this.#wantedA()) return this.#nextStepMs;
    const powerW = this.#chargingW;
    const { batteryWh } = this.#car;
    const isNewlyFull = this.#mode === 'charging' && this.#storedWh >= batteryWh;
    if (powerW === 0) return isNewlyFull ? this.#nextStepMs : Number.POSITIVE_INFINITY;
    const leftWh = Math.min(batteryWh, taperBeginsAtWh(this.#car)) - this.#storedWh;
    const wholeSteps = Math.floor((leftWh * MS_PER_HOUR) / powerW / STEP_MS);
    return this.#nextStepMs + STEP_MS * Math.max(0, wholeSteps - 1);
  }

  /** Instant at which a car without a taper will be full, if nothing changes. */
  get #fullAtMs(): number {
    const powerW = this.#chargingW;
    if (powerW === 0) return Number.POSITIVE_INFINITY;
    const missingWh = Math.max(0, this.#car.batteryWh - this.#storedWh);
    return this.#atMs + Math.max(1, Math.ceil((missingWh * MS_PER_HOUR) / powerW));
  }

  #wantedA(): number {
    if (!this.#isPluggedIn || this.#mode === 'suspendedEv') return 0;
    const followedA = this.#reaction.followedA(this.#atMs);
    return this.#options.overdraw * wantedCurrentA(this.#car, this.#storedWh, followedA, this.#leastOfferA);
  }

  /** Lets time pass to `stopMs`; until then only charge and draw change. */
  #passTo(stopMs: number): void {
    const elapsedMs = stopMs - this.#atMs;
    // Whole steps are added, and never derived from `stopMs`: real clocks have fractions, and a rounded instant would
    // stand still.
    const lateMs = stopMs - this.#nextStepMs;
    if (lateMs >= 0) this.#nextStepMs += STEP_MS * (1 + Math.floor(lateMs / STEP_MS));
    const energyWh = this.#flowedWh(stopMs);
    const phases = this.phases;
    this.#atMs = stopMs;
    this.#registerWh += energyWh;
    this.#storedWh += energyWh;
    this.#reaction.followedA(stopMs);
    if (this.#isPluggedIn && this.phases > phases) this.#options.onMorePhases?.();
    this.#follow(elapsedMs);
    if (this.#mode === 'charging' && this.#storedWh >= this.#car.batteryWh)
      this.#tell({ type: 'car.filled' });
    if (stopMs >= this.#modeEndsAtMs) this.#endMode(stopMs);
    this.#forgetInstants();
  }

  /** Energy at the car since the last count. */
  #flowedWh(nowMs: number): number {
    return (this.#chargingW * (nowMs - this.#atMs)) / MS_PER_HOUR;
  }

  #follow(elapsedMs: number): void {
    const wantedA = this.#wantedA();
    this.drawnA =
      this.#options.lateMs !== undefined ? wantedA : nextCurrentA(this.#car, this.drawnA, wantedA, elapsedMs);
  }

  #endMode(nowMs: number): void {
    if (this.#mode === 'available') {
      this.#storedWh = this.#car.storedWh;
      this.#tell({ type: 'car.arrived' });
      this.#note('arrived', nowMs);
      const recognisedAtMs = nowMs + (this.#car.isIdeal ? 0 : CABLE_TAKES_MS);
      this.#modeEndsAtMs = Math.min(recognisedAtMs, this.#car.leavesAtMs);
    } else if (this.#mode === 'preparing' && nowMs < this.#car.leavesAtMs) {
      this.#tell({ type: 'car.recognised', isOffered: this.#isOffer(this.#offeredA) });
      this.#modeEndsAtMs = this.#car.leavesAtMs;
      this.#follow(0);
    } else if (this.#mode === 'finishing') {
      this.#tell({ type: 'car.unplugged' });
      this.#car = this.#options.nextCar(nowMs);
      this.#modeEndsAtMs = this.#car.arrivesAtMs;
    } else {
      this.#tell({ type: 'car.left' });
      this.#note('left', nowMs);
      this.drawnA = 0;
      this.#modeEndsAtMs = nowMs + (this.#car.isIdeal ? 0 : CABLE_TAKES_MS);
    }
  }

  #note(what: CarNote['what'], atMs: number): void {
    const car = this.#car;
    this.#options.onCar({ what, atMs, car, deliveredWh: this.#storedWh - car.storedWh });
  }

  #tell(event: VirtualConnectorEvent): void {
    this.#actor.send(event);
    const mode = this.#actor.getSnapshot().value;
    this.#mode = mode;
    this.#isPluggedIn = mode !== 'available' && mode !== 'preparing' && mode !== 'finishing';
    this.status = STATUS_OF[mode];
  }
}

interface OutletOptions {
  readonly rating: ConnectorRating;
  readonly startsAtMs: number;
  readonly offeredA: number;
  readonly nextCar: NextCar;
  readonly onCar: (note: CarNote) => void;
  /** The car uses more phases than before; a charger that enforces its phases cuts the car off. */
  readonly onMorePhases?: () => void;
  /** Ratio of drawn to allowed current; 1 for an honest connector. */
  readonly overdraw: number;
  /** If set, the car raises its draw at once, and lowers it only this many ms after a lower offer. */
  readonly lateMs: number | undefined;
}
