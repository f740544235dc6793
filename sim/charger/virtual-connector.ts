// One connector of a virtual charger: the outlet with its cars, held to the grants the connector holds.
import { mersenne } from 'pure-rand/generator/mersenne';
import type { AckResult, LeaseKind } from '../../machines/power/grant.js';
import type { ChargingStatus } from '../../machines/power/meter-ledger.js';
import type { ConnectorId } from '../../machines/values/ids.js';
import type { ConnectorRating } from '../../machines/values/units.js';
import type { LimitMessage, StateMessage } from '../../src/wire/mqtt.js';
import type { CarNote, NextCar, PerPhase } from './car.js';
import { CarSession } from './car-session.js';
import { ampereOfDcW, dcWOfAmpere, leastOfferA } from './direct-current.js';
import { createGrantHolder, type GrantHolder } from './grant-holder.js';
import { createOutlet, type Outlet } from './outlet.js';
import { PhaseSwitch } from './phase-switch.js';
import { drawCar, type Traffic } from './traffic.js';
import type { ChargerTraits } from './traits.js';

/** A connector as the charger knows it. `failsafeA` in A per phase. */
export interface VirtualConnectorSpec extends ConnectorRating {
  /** How it is wired to the grid. */
  readonly rotation?: string | null | undefined;
  readonly connectorId: ConnectorId;
  readonly failsafeA: number;
}

/** What the meter of one connector shows. */
export interface Reading {
  readonly connectorId: ConnectorId;
  readonly status: ChargingStatus;
  readonly powerW: number;
  readonly currentA: [number, number, number];
  readonly voltageV: [number, number, number];
  readonly energyWh: number;
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

/** A DC connector goes by `limitW` and `thenW`, and would take what has none for nothing at all. */
function inAmperes(limit: LimitMessage, spec: VirtualConnectorSpec): LimitMessage {
  const [limitA, thenA] = [limit.limitW, limit.thenW ?? 0].map((dcW) => ampereOfDcW(dcW, spec));
  return { ...limit, limitA: limitA ?? 0, thenA: thenA ?? 0 };
}

/** The meter tells tenths of an ampere and of a volt. */
function inTenths(value: number): number {
  return Math.round(10 * value) / 10;
}

function measuredVoltages([l1V, l2V, l3V]: PerPhase, phases: 1 | 3): [number, number, number] {
  return phases === 1 ? [inTenths(l1V), 0, 0] : [inTenths(l1V), inTenths(l2V), inTenths(l3V)];
}

/** Who comes to each connector: cars drawn from the seed, or those somebody gives. */
export type Visitors = Traffic | ((connectorId: ConnectorId) => NextCar);

/** Who comes to that connector, one after another. */
export function nextCarsOf(visitors: Visitors, connectorId: ConnectorId, seed: number): NextCar {
  return typeof visitors === 'function' ? visitors(connectorId) : drawnCars(visitors, seed);
}

function drawnCars(traffic: Traffic, seed: number): NextCar {
  // Of the generators at hand the only one whose first numbers differ between neighbouring seeds.
  const random = mersenne(seed);
  let isFirst = true;
  return (fromMs) => {
    const car = drawCar(traffic, random, fromMs, isFirst);
    isFirst = false;
    return car;
  };
}

function holderOf(spec: VirtualConnectorSpec, traits: ChargerTraits, boot: string): GrantHolder {
  const does = new Set(traits.misbehaviours);
  const acksAtOnce = does.has('late-reaction') || does.has('false-ack');
  return createGrantHolder({
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

/** What the pilot tells the car while the hardware says it took `limitA`. */
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
  return createOutlet({
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
  /** The hardware took what `holder.applied` says. */
  readonly onApplied: () => void;
  readonly onCar: (note: CarNote) => void;
}

/** Its times go on with `advance`, `receive`, `supply` and `restart`, and never back: what lies before is ignored. */
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

  /** The car that is plugged in; undefined without one, and where the charger names none. */
  get session(): string | undefined {
    return this.#session.id;
  }

  get status(): ChargingStatus {
    return this.#outlet.status;
  }

  /** Lets time pass up to `nowMs`; what the hardware takes until then it takes at its instant. */
  advance(nowMs: number): void {
    const [holder, contactors] = [this.holder, this.#contactors];
    for (let dueMs = holder.nextDueMs; dueMs <= nowMs; dueMs = holder.nextDueMs) {
      // A car that left before then took with it what was for its session.
      contactors.passTo(dueMs);
      if (holder.nextDueMs !== dueMs) continue;
      const phasesBefore = holder.applied.lent?.phases ?? 3;
      if (!holder.advance(dueMs)) continue;
      contactors.take(phasesBefore, dueMs);
      this.#options.onApplied();
    }
    contactors.passTo(nowMs);
  }

  /** From `nowMs` on its phases have these voltages, phase to neutral. */
  supply(voltagesV: PerPhase, nowMs: number): void {
    this.#outlet.supply(voltagesV, nowMs);
    this.#phaseVoltagesV = voltagesV;
  }

  /** The charger starts again as `boot`, in no time. */
  restart(boot: string, nowMs: number): void {
    this.#outlet.advance(nowMs);
    if (this.holder.applied.lent !== undefined) this.#outlet.cut();
    this.holder.restart(boot);
    this.#session.restart(boot);
    this.#contactors.restart(nowMs);
  }

  /** `…/limit` came; what to answer at once, if anything. */
  receive(limit: LimitMessage, nowMs: number): AckResult | undefined {
    const refused = this.#session.refuses(limit);
    return refused ?? this.holder.receive(this.#isDc ? inAmperes(limit, this.spec) : limit, nowMs);
  }

  /** When its limit, mode or draw changes next. */
  nextDueMs(): number {
    return Math.min(this.holder.nextDueMs, this.#outlet.nextDueMs, this.#contactors.nextDueMs);
  }

  /** What it says that it is held to: in A per phase or, where it is DC, in W at the car. */
  heldTo(): { readonly limitA: number | undefined; readonly limitW: number | undefined } {
    const limitA = this.#contactors.isSwitching ? 0 : this.holder.applied.limitA;
    if (!this.#isDc) return { limitA, limitW: undefined };
    return { limitA: undefined, limitW: dcWOfAmpere(limitA, this.spec) };
  }

  /** What it says of itself. */
  described(lease: LeaseKind, keepsThen: boolean): ConnectorState {
    const { endsWithSession, switchesPhases } = this.#options.traits;
    const own = { lease, keepsThen, failsafeA: this.holder.failsafeA };
    return stateOf(this.spec, { ...own, endsWithSession, switchesPhases });
  }

  reading(): Reading {
    const { connectorId, phases } = this.spec;
    const { status, currentA, energyWh, phases: used } = this.#outlet;
    return {
      connectorId,
      status,
      powerW: this.measuredPowerW(),
      currentA: onPhases(inTenths(currentA), used),
      voltageV: measuredVoltages(this.#phaseVoltagesV, phases),
      energyWh: Math.round(energyWh),
    };
  }

  /** `powerW` of the reading. */
  measuredPowerW(): number {
    const outlet = this.#outlet;
    if (this.#isDc) return dcWOfAmpere(outlet.drawnA, this.spec);
    return Math.round(inTenths(outlet.drawnA) * outlet.voltageV * outlet.phases);
  }

  /** What truly flows from the grid, W; the reading may say something else. */
  physicalPowerW(): number {
    return this.#outlet.powerW;
  }

  /** The same in A, on each of its phases in use. */
  physicalCurrentA(): PerPhase {
    return onPhases(this.#outlet.currentA, this.#outlet.phases);
  }
}
