// One connector of a virtual charger: the outlet with its cars, held to the grants the connector holds.
import { mersenne } from 'pure-rand/generator/mersenne';
import type { AckResult, LeaseKind } from '../../machines/power/grant.js';
import type { ChargingStatus } from '../../machines/power/meter-ledger.js';
import type { ConnectorId } from '../../machines/values/ids.js';
import type { ConnectorRating } from '../../machines/values/units.js';
import type { LimitMessage, StateMessage } from '../../src/wire/mqtt.js';
import type { CarNote, NextCar, PerPhase } from './car.js';
import { createCarSession } from './car-session.js';
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

export interface VirtualConnector {
  readonly spec: VirtualConnectorSpec;
  readonly holder: GrantHolder;
  /** Lets time pass up to `nowMs`; going back is ignored. */
  advance(nowMs: number): void;
  /** From `nowMs` on its phases have these voltages, phase to neutral. */
  supply(voltagesV: PerPhase, nowMs: number): void;
  /** The charger starts again as `boot`, in no time. */
  restart(boot: string, nowMs: number): void;
  /** `…/limit` came; what to answer at once, if anything. */
  receive(limit: LimitMessage, nowMs: number): AckResult | undefined;
  /** When its limit, mode or draw changes next. */
  nextDueMs(): number;
  reading(): Reading;
  readonly status: ChargingStatus;
  /** What it says that it is held to: in A per phase or, where it is DC, in W at the car. */
  heldTo(): { readonly limitA: number | undefined; readonly limitW: number | undefined };
  /** The car that is plugged in; undefined without one, and where the charger names none. */
  readonly session: string | undefined;
  /** What it says of itself. */
  described(lease: LeaseKind, keepsThen: boolean): ConnectorState;
  /** `powerW` of the reading. */
  measuredPowerW(): number;
  /** What truly flows from the grid, W; the reading may say something else. */
  physicalPowerW(): number;
  /** The same in A, on each of its phases in use. */
  physicalCurrentA(): PerPhase;
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

/** The meter tells tenths of a volt. */
function measuredVoltages([l1V, l2V, l3V]: PerPhase, phases: 1 | 3): [number, number, number] {
  const tenths = (voltageV: number) => Math.round(10 * voltageV) / 10;
  return phases === 1 ? [tenths(l1V), 0, 0] : [tenths(l1V), tenths(l2V), tenths(l3V)];
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
  events: { readonly onCar: (note: CarNote) => void; readonly onMorePhases: () => void },
  offeredA: number,
): Outlet {
  const does = new Set(traits.misbehaviours);
  const nextCar = nextCarsOf(traffic, spec.connectorId, seed);
  return createOutlet({
    rating: spec,
    startsAtMs,
    offeredA,
    nextCar,
    ...events,
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

function readingOf(
  { connectorId, phases }: VirtualConnectorSpec,
  { status, currentA, energyWh, phases: used }: Outlet,
  powerW: number,
  phaseVoltagesV: PerPhase,
): Reading {
  return {
    connectorId,
    status,
    powerW,
    currentA: onPhases(Math.round(currentA * 10) / 10, used),
    voltageV: measuredVoltages(phaseVoltagesV, phases),
    energyWh: Math.round(energyWh),
  };
}

/** What the hardware takes up to `nowMs`, each at its instant. */
function followLimits(
  holder: GrantHolder,
  contactors: PhaseSwitch,
  nowMs: number,
  onTaken: (atMs: number, phasesBefore: number) => void,
): void {
  for (let dueMs = holder.nextDueMs; dueMs <= nowMs; dueMs = holder.nextDueMs) {
    // A car that left before then took with it what was for its session.
    contactors.passTo(dueMs);
    if (holder.nextDueMs !== dueMs) continue;
    const phasesBefore = holder.applied.lent?.phases ?? 3;
    if (holder.advance(dueMs)) onTaken(dueMs, phasesBefore);
  }
}

function heldToOf(spec: VirtualConnectorSpec, limitA: number): ReturnType<VirtualConnector['heldTo']> {
  if (spec.dc == null) return { limitA, limitW: undefined };
  return { limitA: undefined, limitW: dcWOfAmpere(limitA, spec) };
}

export function createVirtualConnector(
  spec: VirtualConnectorSpec,
  options: VirtualConnectorOptions,
): VirtualConnector {
  const holder = holderOf(spec, options.traits, options.boot);
  const offerOf = createOffer(spec, options.traits);
  const session = createCarSession(holder, options, () => outlet);
  const contactors = new PhaseSwitch(holder, options.traits, spec.phases, () => outlet, offerOf);
  const outlet: Outlet = outletOf(spec, options, session, offerOf(holder.applied.limitA));
  /** The meter tells tenths of an ampere. */
  const measuredA = () => Math.round(outlet.drawnA * 10) / 10;
  const isDc = spec.dc != null;
  const measuredPowerW = () =>
    isDc ? dcWOfAmpere(outlet.drawnA, spec) : Math.round(measuredA() * outlet.voltageV * outlet.phases);
  let phaseVoltagesV: PerPhase = onPhases(spec.voltageV, 3);
  return {
    spec,
    holder,
    receive(limit, nowMs) {
      return session.refuses(limit) ?? holder.receive(isDc ? inAmperes(limit, spec) : limit, nowMs);
    },
    heldTo: () => heldToOf(spec, contactors.isSwitching ? 0 : holder.applied.limitA),
    get session() {
      return session.id;
    },
    described(lease, keepsThen) {
      const { endsWithSession, switchesPhases } = options.traits;
      const own = { lease, keepsThen, failsafeA: holder.failsafeA };
      return stateOf(spec, { ...own, endsWithSession, switchesPhases });
    },
    advance(nowMs) {
      followLimits(holder, contactors, nowMs, (atMs, phasesBefore) => {
        contactors.take(phasesBefore, atMs);
        options.onApplied();
      });
      contactors.passTo(nowMs);
    },
    supply(voltagesV, nowMs) {
      outlet.supply(voltagesV, nowMs);
      phaseVoltagesV = voltagesV;
    },
    restart(boot, nowMs) {
      outlet.advance(nowMs);
      if (holder.applied.lent !== undefined) outlet.cut();
      holder.restart(boot);
      session.restart(boot);
      contactors.restart(nowMs);
    },
    nextDueMs: () => Math.min(holder.nextDueMs, outlet.nextDueMs, contactors.nextDueMs),
    get status() {
      return outlet.status;
    },
    reading: () => readingOf(spec, outlet, measuredPowerW(), phaseVoltagesV),
    measuredPowerW,
    physicalPowerW: () => outlet.powerW,
    physicalCurrentA: () => onPhases(outlet.currentA, outlet.phases),
  };
}
