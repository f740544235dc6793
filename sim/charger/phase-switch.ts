// The contactors of a virtual charger: the phases that reach the car, and the change from one number of phases to
// another.
import type { GrantHolder } from './grant-holder.js';
import type { Outlet } from './outlet.js';
import type { ChargerTraits } from './traits.js';

/** Time from opening the contactor until the next offer to the car. */
const SWITCHING_TAKES_MS = 10_000;
const NEVER = Number.POSITIVE_INFINITY;

export class PhaseSwitch {
  readonly #holder: GrantHolder;
  readonly #outlet: () => Outlet;
  readonly #canSwitch: boolean;
  readonly #lateMs: number;
  /** Pilot current for a limit that the hardware took. */
  readonly #offerOf: (limitA: number) => number;
  #connected = 3;
  /** Number of phases that the contactors are to connect, and the instant of that switch. */
  #wanted = 3;
  #switchesAtMs = NEVER;
  #readyAtMs = NEVER;
  /** Offer on the phases of before: no offer may exceed it while they are still connected. */
  #beforeA = NEVER;
  #offeredA = 0;

  constructor(
    holder: GrantHolder,
    { switchesPhases, misbehaviours, settleMs }: ChargerTraits,
    phases: 1 | 3,
    outlet: () => Outlet,
    offerOf: (limitA: number) => number,
  ) {
    this.#holder = holder;
    this.#outlet = outlet;
    this.#offerOf = offerOf;
    this.#canSwitch = switchesPhases && phases === 3 && !misbehaviours.includes('keep-phases');
    this.#lateMs = misbehaviours.includes('late-reaction') ? settleMs : 0;
  }

  /** The charger offers the car nothing while it switches, despite its grant. */
  get isSwitching(): boolean {
    return this.#readyAtMs !== NEVER;
  }

  get nextDueMs(): number {
    return Math.min(this.#switchesAtMs, this.#readyAtMs);
  }

  /** The hardware took the limit that its holder applies now; the limit before was for `phasesBefore` phases. */
  take(phasesBefore: number, nowMs: number): void {
    const phases = this.#holder.applied.reallocated?.phases ?? 3;
    const isMore = phases > phasesBefore;
    // A limit for more phases begins with an open contactor (power-safety.md).
    if (isMore) this.#stop();
    if (this.#canSwitch && phases !== this.#wanted) {
      this.#wanted = phases;
      const isLater = phases < this.#connected && this.#lateMs > 0;
      this.#switchesAtMs = isLater ? nowMs + this.#lateMs : NEVER;
      this.#beforeA = this.#offeredA;
      if (!isLater) this.#switch(nowMs);
    }
    this.#offer(nowMs);
  }

  /** Lets time pass at the outlet up to `nowMs`, and performs each switch that is due until then. */
  passTo(nowMs: number): void {
    for (let dueMs = this.nextDueMs; dueMs <= nowMs; dueMs = this.nextDueMs) {
      this.#outlet().advance(dueMs);
      this.#advance(dueMs);
    }
    this.#outlet().advance(nowMs);
  }

  #advance(nowMs: number): void {
    if (this.#switchesAtMs <= nowMs) {
      this.#switchesAtMs = NEVER;
      this.#switch(nowMs);
      this.#offer(nowMs);
    }
    if (this.#readyAtMs > nowMs) return;
    this.#readyAtMs = NEVER;
    this.#offer(nowMs);
  }

  /** The charger restarted, with all phases connected. */
  restart(nowMs: number): void {
    this.#switchesAtMs = this.#readyAtMs = NEVER;
    this.#connected = this.#wanted = 3;
    if (this.#canSwitch) this.#outlet().connected = 3;
    this.#offer(nowMs);
  }

  /** A car that uses no more phases than remain connected need not be stopped. */
  #switch(nowMs: number): void {
    const outlet = this.#outlet();
    const isStopped = this.#wanted > this.#connected || outlet.phases > this.#wanted;
    this.#connected = this.#wanted;
    if (isStopped) {
      this.#stop();
      this.#readyAtMs = nowMs + SWITCHING_TAKES_MS;
    }
    outlet.connected = this.#connected;
  }

  #stop(): void {
    this.#outlet().cut();
    this.#offeredA = 0;
  }

  #offer(nowMs: number): void {
    if (this.isSwitching) return;
    const { limitA } = this.#holder.applied;
    this.#offeredA = this.#switchesAtMs === NEVER ? limitA : Math.min(limitA, this.#beforeA);
    this.#outlet().offer(this.#offerOf(this.#offeredA), nowMs);
  }
}
