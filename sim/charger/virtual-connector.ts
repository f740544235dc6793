// One connector of a virtual charger: its outlet with the cars, limited by the grants that the connector holds.
import { mersenne } from 'pure-rand/generator/mersenne';
import type { AckResult, LeaseKind } from '../../machines/ledger/grant.js';
import type { ChargingStatus } from '../../machines/values/charging-status.js';
import type { ConnectorId } from '../../machines/values/ids.js';
import type { ConnectorRating } from '../../machines/values/units.js';
import type { ChargingPreferences } from '../../src/wire/charging-preferences.js';
import type { LimitMessage, StateMessage } from '../../src/wire/mqtt.js';
import { seedFor } from '../scenario/draw.js';
import type { CarNote, NextCar, PerPhase } from './car.js';
import { ampereOfDcW, dcWOfAmpere, leastOfferA } from './direct-current.js';
import { GrantHolder } from './grant-holder.js';
import { Outlet } from './outlet.js';
import { declared, drawCar, type Traffic } from './traffic.js';
import type { ChargerTraits } from './traits.js';

// The contactors of a virtual charger: the phases that reach the car, and the change from one number of phases to
// another.

/** Time from opening the contactor until the next offer to the car. */
const SWITCHING_TAKES_MS = 10_000;
const NEVER = Number.POSITIVE_INFINITY;

class PhaseSwitch {
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

// A virtual charger names each visit of a car. The limits for a visit end with that visit.
interface CarSessionOptions {
  readonly traits: ChargerTraits;
  readonly boot: string;
  readonly onCar: (note: CarNote) => void;
}

class CarSession {
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
    if (this.#options.traits.misbehaviours.includes('keep-phases')) return;
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

/** A connector as configured in the charger. `failsafeA` is in A per phase. */
export interface VirtualConnectorSpec extends ConnectorRating {
  /** Its wiring to the phases of the grid, as OCPP's ConnectorPhaseRotation. */
  readonly rotation?: string | null | undefined;
  readonly connectorId: ConnectorId;
  readonly failsafeA: number;
}

/** Meter reading of one connector, before any Byzantine fault. */
export interface Reading {
  readonly connectorId: ConnectorId;
  readonly status: ChargingStatus;
  readonly powerW: number;
  readonly currentA: [number, number, number];
  readonly voltageV: [number, number, number];
  readonly energyWh: number;
  readonly chargingPreferences: ChargingPreferences | undefined;
}

function onPhases(value: number, phases: number): [number, number, number] {
  return [phases > 0 ? value : 0, phases > 1 ? value : 0, phases > 2 ? value : 0];
}

type ConnectorState = NonNullable<StateMessage['connectors']>[number];

function stateOf(
  spec: VirtualConnectorSpec,
  own: {
    readonly lease: LeaseKind;
    readonly keepsThen: boolean;
    readonly failsafeA: number;
    readonly endsWithSession: boolean;
    readonly switchesPhases: boolean;
  },
): ConnectorState {
  const { connectorId: id, phases, maxCurrentA, dc } = spec;
  const { failsafeA, endsWithSession, switchesPhases, ...rest } = own;
  const ofSession = {
    ...(endsWithSession && { endsWithSession }),
    ...(switchesPhases && { switchesPhases }),
  };
  if (dc == null)
    return { id, phases, minA: leastOfferA(spec), maxA: maxCurrentA, failsafeA, ...rest, ...ofSession };
  const [minW, maxW] = [Math.round(1000 * dc.minPowerKw), Math.round(1000 * dc.maxPowerKw)];
  return { id, powerType: 'DC', minW, maxW, failsafeW: dcWOfAmpere(failsafeA, spec), ...rest };
}

/** A DC connector uses `limitW` and `thenW`, and treats a missing value as 0. */
function inAmperes(limit: LimitMessage, spec: VirtualConnectorSpec): LimitMessage {
  const [limitA, thenA] = [limit.limitW, limit.thenW ?? 0].map((dcW) => ampereOfDcW(dcW, spec));
  return { ...limit, limitA: limitA ?? 0, thenA: thenA ?? 0 };
}

/** The meter reports tenths of an ampere and of a volt. */
function inTenths(value: number): number {
  return Math.round(10 * value) / 10;
}

function measuredVoltages([l1V, l2V, l3V]: PerPhase, phases: 1 | 3): [number, number, number] {
  return phases === 1 ? [inTenths(l1V), 0, 0] : [inTenths(l1V), inTenths(l2V), inTenths(l3V)];
}

/** Cars of each connector: drawn from the seed, or supplied by the caller. */
export type Visitors = Traffic | ((connectorId: ConnectorId) => NextCar);

/** Cars of that connector, one after another. */
export function nextCarsOf(visitors: Visitors, connectorId: ConnectorId, seed: number): NextCar {
  return typeof visitors === 'function' ? visitors(connectorId) : drawnCars(visitors, seed);
}

function drawnCars(traffic: Traffic, seed: number): NextCar {
  // Of the generators at hand, only this one has different first numbers for neighbouring seeds.
  const random = mersenne(seed);
  const { declaring } = traffic;
  // Needs have random numbers of their own, so that they change no car.
  const ofNeeds = declaring && mersenne(seedFor(seed, 'needs'));
  let isFirst = true;
  return (fromMs) => {
    const car = drawCar(traffic, random, fromMs, isFirst);
    isFirst = false;
    return declaring === undefined || ofNeeds === undefined ? car : declared(car, declaring, ofNeeds);
  };
}

function holderOf(spec: VirtualConnectorSpec, traits: ChargerTraits, boot: string): GrantHolder {
  const does = new Set(traits.misbehaviours);
  const acksAtOnce = does.has('late-reaction') || does.has('false-ack');
  return new GrantHolder({
    boot,
    lease: does.has('power-only') ? 'none' : traits.lease,
    maxCurrentA: spec.maxCurrentA,
    leastOfferA: leastOfferA(spec),
    configuredFailsafeA: spec.failsafeA,
    pilotDelayMs: acksAtOnce ? 0 : traits.pilotDelayMs,
    secondLastsS: 1 + traits.driftShare,
    keepsThen: !does.has('forget-then'),
  });
}

/** Pilot current for the car while the hardware reports `limitA` as taken. */
function createOffer(spec: VirtualConnectorSpec, traits: ChargerTraits): (limitA: number) => number {
  const does = new Set(traits.misbehaviours);
  let highestA = 0;
  return (limitA) => {
    highestA = Math.max(highestA, limitA);
    if (does.has('ignore-limits')) return spec.maxCurrentA;
    return does.has('false-ack') ? highestA : limitA;
  };
}

function outletOf(
  spec: VirtualConnectorSpec,
  { traits, traffic, seed, startsAtMs }: VirtualConnectorOptions,
  session: CarSession,
  offeredA: number,
): Outlet {
  const does = new Set(traits.misbehaviours);
  const nextCar = nextCarsOf(traffic, spec.connectorId, seed);
  return new Outlet({
    rating: spec,
    startsAtMs,
    offeredA,
    nextCar,
    onCar: (note) => session.onCar(note),
    onMorePhases: () => session.onMorePhases(),
    overdraw: does.has('overdraw') ? traits.overdrawFactor : 1,
    lateMs: does.has('late-reaction') ? traits.settleMs : undefined,
  });
}

interface VirtualConnectorOptions {
  readonly traits: ChargerTraits;
  readonly traffic: Visitors;
  readonly seed: number;
  readonly startsAtMs: number;
  readonly boot: string;
  /** Called after the hardware took `holder.applied`. */
  readonly onApplied: () => void;
  readonly onCar: (note: CarNote) => void;
}

/** `advance`, `receive`, `supply` and `restart` never go back in time: an earlier instant has no effect. */
export class VirtualConnector {
  readonly spec: VirtualConnectorSpec;
  readonly holder: GrantHolder;
  readonly #options: VirtualConnectorOptions;
  readonly #isDc: boolean;
  readonly #session: CarSession;
  readonly #contactors: PhaseSwitch;
  readonly #outlet: Outlet;
  #phaseVoltagesV: PerPhase;

  constructor(spec: VirtualConnectorSpec, options: VirtualConnectorOptions) {
    this.spec = spec;
    this.#options = options;
    this.#isDc = spec.dc != null;
    this.#phaseVoltagesV = onPhases(spec.voltageV, 3);
    this.holder = holderOf(spec, options.traits, options.boot);
    const offerOf = createOffer(spec, options.traits);
    const outlet = () => this.#outlet;
    this.#session = new CarSession(this.holder, options, outlet);
    this.#contactors = new PhaseSwitch(this.holder, options.traits, spec.phases, outlet, offerOf);
    this.#outlet = outletOf(spec, options, this.#session, offerOf(this.holder.applied.limitA));
  }

  /** Session of the plugged-in car; undefined without a car, and for a charger that names no sessions. */
  get session(): string | undefined {
    return this.#session.id;
  }

  get status(): ChargingStatus {
    return this.#outlet.status;
  }

  /** Lets time pass up to `nowMs`; the hardware takes each limit at its own instant. */
  advance(nowMs: number): void {
    const [holder, contactors] = [this.holder, this.#contactors];
    for (let dueMs = holder.nextDueMs; dueMs <= nowMs; dueMs = holder.nextDueMs) {
      // A car that left before `dueMs` has ended the limit for its session.
      contactors.passTo(dueMs);
      if (holder.nextDueMs !== dueMs) continue;
      const phasesBefore = holder.applied.reallocated?.phases ?? 3;
      if (!holder.advance(dueMs)) continue;
      contactors.take(phasesBefore, dueMs);
      this.#options.onApplied();
    }
    contactors.passTo(nowMs);
  }

  /** Phase-to-neutral voltages from `nowMs` on. */
  supply(voltagesV: PerPhase, nowMs: number): void {
    this.#outlet.supply(voltagesV, nowMs);
    this.#phaseVoltagesV = voltagesV;
  }

  /** Restarts as `boot`, in no time. */
  restart(boot: string, nowMs: number): void {
    this.#outlet.advance(nowMs);
    if (this.holder.applied.reallocated !== undefined) this.#outlet.cut();
    this.holder.restart(boot);
    this.#session.restart(boot);
    this.#contactors.restart(nowMs);
  }

  /** Handles `…/limit`. Returns the answer to send at once, if any. */
  receive(limit: LimitMessage, nowMs: number): AckResult | undefined {
    const refused = this.#session.refuses(limit);
    return refused ?? this.holder.receive(this.#isDc ? inAmperes(limit, this.spec) : limit, nowMs);
  }

  /** Instant of the next change of its limit, mode or draw. */
  nextDueMs(): number {
    return Math.min(this.holder.nextDueMs, this.#outlet.nextDueMs, this.#contactors.nextDueMs);
  }

  /** Limit that it reports as in force: in A per phase or, for DC, in W at the car. */
  heldTo(): { readonly limitA: number | undefined; readonly limitW: number | undefined } {
    const limitA = this.#contactors.isSwitching ? 0 : this.holder.applied.limitA;
    if (!this.#isDc) return { limitA, limitW: undefined };
    return { limitA: undefined, limitW: dcWOfAmpere(limitA, this.spec) };
  }

  /** Its entry in the charger's `state`. */
  described(lease: LeaseKind, keepsThen: boolean): ConnectorState {
    const { endsWithSession, switchesPhases } = this.#options.traits;
    const own = { lease, keepsThen, failsafeA: this.holder.failsafeA };
    return stateOf(this.spec, { ...own, endsWithSession, switchesPhases });
  }

  reading(): Reading {
    const { connectorId, phases } = this.spec;
    const { status, currentA, energyWh, phases: used, preferences } = this.#outlet;
    return {
      connectorId,
      status,
      powerW: this.measuredPowerW(),
      currentA: onPhases(inTenths(currentA), used),
      voltageV: measuredVoltages(this.#phaseVoltagesV, phases),
      energyWh: Math.round(energyWh),
      chargingPreferences: preferences,
    };
  }

  /** `powerW` of the reading. */
  measuredPowerW(): number {
    const outlet = this.#outlet;
    if (this.#isDc) return dcWOfAmpere(outlet.drawnA, this.spec);
    return Math.round(inTenths(outlet.drawnA) * outlet.voltageV * outlet.phases);
  }

  /** Physical power from the grid, W; the reading may differ. */
  physicalPowerW(): number {
    return this.#outlet.powerW;
  }

  /** Physical current in A, on each of its phases in use. */
  physicalCurrentA(): PerPhase {
    return onPhases(this.#outlet.currentA, this.#outlet.phases);
  }
}
