// Extension: one location now: its limit and the cause, and limit, draw and reason of every connector.
import type { z } from 'zod';
import type { LimitReason } from '../../../machines/ledger/grant.js';
import type { LimitInForce } from '../../../machines/limits/limit-in-force.js';
import {
  type Connector,
  floorWOf,
  linkOf,
  lockLimitKwOf,
  throttleOf,
} from '../../../machines/power/connector.js';
import { type CircuitPhase, GRID_PHASES, nameOfCircuitPhase } from '../../../machines/power/fuses.js';
import { circuitPhaseLoadsOf, countedWOf, isEstimated } from '../../../machines/power/measured-draw.js';
import { isReallocating, isSwitched } from '../../../machines/power/reallocated-phases.js';
import { kwText } from '../../../machines/values/figures.js';
import { compareNaturally } from '../../../machines/values/natural-order.js';
import type { EpochMs } from '../../../machines/values/time.js';
import { dcWOfTenths, wattsOfTenths } from '../../../machines/values/units.js';
import { findLocation } from '../../actors/core.js';
import {
  type ConnectorEntity,
  drawnKwOf,
  type LocationEntity,
  supervisorOf,
} from '../../actors/directory.js';
import { EXTENSION, endpoint } from '../../inbound/http/endpoint.js';
import { toInstant } from '../../wire/instants.js';
import { viewOfCause } from '../../wire/limit-cause.js';
import type { ConnectorLive, FuseLive } from './contract.js';

// Explains the reason of a connector's limit to the operator in a sentence: "Why is this car slow?"
interface Explained {
  readonly reason: LimitReason;
  readonly limit: LimitInForce;
  /** Circuit phase that keeps the connector from more; undefined if the limit does, or nothing. */
  readonly fullCircuitPhase: CircuitPhase | undefined;
  /** Maximum, smallest limit and fail-safe, each with its unit: `32 A`, `150 kW`. */
  readonly maximum: string;
  readonly minimum: string;
  readonly failsafe: string;
  readonly lockLimitKw: number | null;
  /** Grid phases reserved for its car; undefined if all phases of the connector are. */
  readonly reallocatedPhases: ReallocatedPhases | undefined;
  /** Power at 6 A, and at the maximum, at the voltage that enforcement counts with. */
  readonly minimumKw: number;
  readonly maximumKw: number;
}

const SENTENCES: Readonly<Record<LimitReason, (explained: Explained) => string>> = {
  maximum: ({ maximum }) => `The connector is not limited: it may draw its maximum of ${maximum}.`,
  demand: () => 'The car draws less than it may: the limit is its draw plus one step.',
  fairShare: (explained) => shareText(explained),
  clusterShare: (explained) => shareText(explained),
  departure: ({ limit }) =>
    `The ${limitText(limit)} does not suffice for every car. Cars with a declared departure are served in the order of the location’s policy.`,
  waiting: () => 'The connector gets more as soon as other chargers have followed their lower limits.',
  paused: ({ limit, fullCircuitPhase, lockLimitKw }) => {
    if (lockLimitKw !== null)
      return 'A profile locks the connector, but the grid operator’s limit does not cover 6 A for every locked connector. The provisioning file allows a pause for that, so it is paused until the limit suffices.';
    return fullCircuitPhase !== undefined
      ? `${fullText(fullCircuitPhase)}: its ${ampereText(fullCircuitPhase)} do not cover 6 A for every car on it. The connector is paused until its turn.`
      : `The ${limitText(limit)} does not cover 6 A for every car. The connector is paused until its turn.`;
  },
  reserved: ({ failsafe }) =>
    `Locked connectors need all the rest. After a restart the charger falls back to ${failsafe} by itself, so that current is always reserved. The connector gets it: a pause would free nothing.`,
  minimumPause: () => 'The connector was paused less than a minute ago. A pause lasts at least a minute.',
  lock: (explained) => lockText(explained),
  lastResort: ({ limit, fullCircuitPhase }) =>
    fullCircuitPhase !== undefined
      ? `A profile locks the connector, but ${nameOfCircuitPhase(fullCircuitPhase)} is full. Every unlocked connector on it already has 0 A, or only its unavoidable reserve. No fuse is overloaded for a lock.`
      : `A profile locks the connector, but the ${limitText(limit)} does not suffice. Every unlocked connector already has 0 A, or only its unavoidable reserve. So locked ones are lowered too, never below 6 A.`,
  idle: () => 'No car is connected.',
  failsafe: ({ failsafe }) =>
    `The charger receives no limit until it answers. When its last lease ends, it falls back to its fail-safe of ${failsafe} by itself.`,
  nonCompliant: ({ maximum }) =>
    `The connector drew more than its limit. Its maximum of ${maximum} is reserved until it keeps to its limit.`,
  readOnly: ({ maximum }) =>
    `The charger takes no limits. The connector’s maximum of ${maximum} is reserved, and the others share the rest.`,
};

function shareText({ limit, fullCircuitPhase }: Explained): string {
  if (fullCircuitPhase !== undefined)
    return `${fullText(fullCircuitPhase)}: the connector shares its ${ampereText(fullCircuitPhase)} fairly with the other connectors on it that have a car.`;
  return `The connector shares the ${limitText(limit)} fairly with the other connectors that have a car.`;
}

/** `Phase L2 of the connection is full`. */
function fullText(circuitPhase: CircuitPhase): string {
  const name = nameOfCircuitPhase(circuitPhase);
  return `${name.charAt(0).toUpperCase()}${name.slice(1)} is full`;
}

function ampereText({ capacityTenthsA }: CircuitPhase): string {
  return `${capacityTenthsA / 10} A`;
}

/** A lock gives no less than the smallest power that a car can use, and no more than the hardware can do. */
function lockText({ lockLimitKw, minimumKw, maximumKw, maximum, minimum }: Explained): string {
  const upTo = (what: string) =>
    `A profile locks the connector: it runs up to ${what}, independently of the others.`;
  if (lockLimitKw === null) return upTo('its limit');
  if (lockLimitKw >= maximumKw) return upTo(`its maximum of ${maximum}`);
  if (lockLimitKw >= minimumKw) return upTo(kwText(lockLimitKw));
  return `A profile locks the connector at ${kwText(lockLimitKw)}, but no car can use less than ${minimum}: it runs up to ${kwText(minimumKw)}.`;
}

/** One sentence, and another if some phases are reallocated. */
function explanationOf(explained: Explained): string {
  const sentence = SENTENCES[explained.reason](explained);
  const { reallocatedPhases } = explained;
  return reallocatedPhases === undefined ? sentence : `${sentence} ${reallocatedText(reallocatedPhases)}`;
}

function reallocatedText({ names, insteadOfKw }: ReallocatedPhases): string {
  if (insteadOfKw === undefined)
    return `Current is reserved on ${names} only: the car uses no other phase, so others may until it leaves.`;
  return `The charger uses ${names} only, because its limit orders that: on more phases the car would need at least ${kwText(insteadOfKw)}. It returns to them once that serves more, at the earliest ten minutes after a switch.`;
}

function limitText({ limitKw, source, cause }: LimitInForce): string {
  return `limit of ${kwText(limitKw)} (${source.explain(cause, toInstant)})`;
}

// Fuses of a location for operators: each circuit phase with its load, and the one that limits a connector.

/** The connection, if known, then the feeders in the order of the file. */
export function viewOfFuses(location: LocationEntity): FuseLive[] {
  const { fuses, ledger, connectors } = supervisorOf(location);
  if (fuses.circuitPhases.length === 0) return [];
  const parentOf = new Map(location.record.feeders.map(({ name, parent }) => [name, parent]));
  const loads = circuitPhaseLoadsOf(fuses, connectors.values());
  const views: FuseLive[] = [];
  for (const [place, circuitPhase] of fuses.circuitPhases.entries()) {
    const { feeder = null } = circuitPhase;
    const last = views.at(-1);
    const view =
      last?.feeder === feeder ? last : { feeder, parent: parentOf.get(feeder ?? '') ?? null, phases: [] };
    if (view !== last) views.push(view);
    const { measuredA = 0, isFull = false } = loads[place] ?? {};
    view.phases.push({
      phase: circuitPhase.phase,
      ratedA: circuitPhase.capacityTenthsA / 10,
      reservedA: (ledger.loadsTenthsA[place] ?? 0) / 10,
      measuredA: Math.round(10 * measuredA) / 10,
      isFull,
    });
  }
  return views;
}

/** Circuit phase that keeps a connector from more; undefined without one. */
function fullCircuitPhaseOf({ provisioned, decided }: Connector): CircuitPhase | undefined {
  const { limitedBy } = decided;
  return typeof limitedBy === 'number' ? provisioned.fuses.circuitPhases[limitedBy] : undefined;
}

/** Only these phases may carry the connector's limit, while its other phases are reallocated. */
export interface ReallocatedPhases {
  /** Such as `L1`, or `L2 and L3`. */
  readonly names: string;
  /**
   * Lowest power that its car could get on all phases that it uses, kW. Set if the charger is switched to fewer phases.
   */
  readonly insteadOfKw: number | undefined;
}

/** Undefined while no phase is reallocated. */
function reallocatedPhasesOf(control: Connector): ReallocatedPhases | undefined {
  if (!isReallocating(control)) return undefined;
  const { account } = control;
  const { spec } = control.provisioned;
  const { session } = control.car;
  const { usedPhases, leastTenthsA, milliwattsOnPhase } = account;
  const leastW = wattsOfTenths(leastTenthsA, milliwattsOnPhase * session.learnt);
  return {
    names: namesOf(spec.rotation, usedPhases),
    insteadOfKw: isSwitched(control) ? leastW / 1000 : undefined,
  };
}

function namesOf(rotation: string | null | undefined, phases: number): string {
  if (rotation == null) return phases === 1 ? 'one phase' : 'two phases';
  const names = [...rotation].slice(0, phases).map((letter) => GRID_PHASES['RST'.indexOf(letter)]);
  return names.sort().join(' and ');
}

/** Both clocks at the instant of the answer. */
interface Instant {
  readonly now: EpochMs;
  readonly monotonicMs: number;
}

/** @param answer the whole answer, which has fields of several features */
export function liveEndpoint<View extends z.ZodType>(
  responseSchema: View,
  answer: (location: LocationEntity, instant: Instant) => z.output<View> & object,
) {
  return endpoint({
    operationId: 'getLocationLive',
    method: 'get',
    path: '/v1/locations/{locationId}/live',
    ...EXTENSION,
    scope: 'locations:read',
    summary: 'Read limits, power and reasons of a location, connector by connector',
    responseSchema,
    errors: ['LOCATION_NOT_FOUND'],
    handle({ directory, expireReadings, clock }, { tenantUuid, path }) {
      const location = findLocation(directory, tenantUuid, path.locationId);
      expireReadings(location);
      return answer(location, { now: clock.nowMs(), monotonicMs: clock.monotonicMs() });
    },
  });
}

/** The fields of `limitShape`. */
export function viewOfLimit({ record, actor }: LocationEntity, { now }: Instant) {
  const { limit } = actor.getSnapshot().context;
  return {
    locationId: record.locationId,
    name: record.name,
    status: record.status,
    at: toInstant(now),
    gridLimitKw: limit.limitKw,
    gridLimitCause: viewOfCause(limit.cause),
  };
}

/** The fields of `divisionShape`. */
export function viewOfDivision(location: LocationEntity, instant: Instant) {
  const { limit, permanentLimitKw } = location.actor.getSnapshot().context;
  const supervisor = supervisorOf(location);
  return {
    effectiveLimitKw: limit.effectiveLimitKw,
    permanentLimitKw,
    // A limit that just fell binds every grant from now on, even before the decision that follows.
    budgetKw: supervisor.isUnconcerned ? limit.limitKw : Math.min(supervisor.budgetW / 1000, limit.limitKw),
    reservedKw: supervisor.reservedW / 1000,
    ...drawnKwOf(location),
    fuses: viewOfFuses(location),
    connectors: [...location.connectors.values()]
      .sort(byConnector)
      .map((connector) => liveOf(connector, limit, instant)),
  };
}

function byConnector({ record: a }: ConnectorEntity, { record: b }: ConnectorEntity): number {
  return (
    compareNaturally(a.controllerUuid, b.controllerUuid) || compareNaturally(a.connectorId, b.connectorId)
  );
}

function liveOf(
  { record, control }: ConnectorEntity,
  limit: LimitInForce,
  { monotonicMs }: Instant,
): ConnectorLive {
  const { account } = control;
  const { slot, forOperators } = control.telemetry;
  const { reason } = control.decided;
  const { sentTenthsA } = control.granted;
  const wattsAt = (tenthsA: number) => wattsOfTenths(tenthsA, account.milliwattsPerTenth);
  const leaseLeftMs = control.granted.leasedUntilMs - monotonicMs;
  const hasLease = sentTenthsA !== undefined && leaseLeftMs > 0;
  const lockLimitKw = lockLimitKwOf(control) ?? null;
  const { dc, voltageV } = record;
  const fullCircuitPhase = fullCircuitPhaseOf(control);
  const reallocatedPhases = reallocatedPhasesOf(control);
  const asText = (tenthsA: number) =>
    dc === null ? `${tenthsA / 10} A` : `${dcWOfTenths(tenthsA, { dc, voltageV }) / 1000} kW`;
  return {
    controllerUuid: record.controllerUuid,
    connectorId: record.connectorId,
    status: record.status,
    powerType: dc === null ? 'AC' : 'DC',
    link: linkOf(control),
    throttle: throttleOf(control),
    ocppState: forOperators.ocppState ?? null,
    whyNoLease: forOperators.whyNoLease ?? null,
    chargingStatus: slot.status ?? null,
    socPercent: slot.socPercent ?? null,
    lockLimitKw,
    limitA: sentTenthsA === undefined ? null : sentTenthsA / 10,
    limitKw: sentTenthsA === undefined ? null : wattsAt(sentTenthsA) / 1000,
    limitPhases: reallocatedPhases === undefined ? null : account.usedPhases,
    isPhaseSwitched: reallocatedPhases?.insteadOfKw !== undefined,
    actualKw: countedWOf(control) / 1000,
    isEstimated: isEstimated(control),
    reservedKw: account.boundW / 1000,
    reason,
    fullFuse:
      fullCircuitPhase === undefined
        ? null
        : { feeder: fullCircuitPhase.feeder ?? null, phase: fullCircuitPhase.phase },
    explanation: explanationOf({
      reason,
      limit,
      fullCircuitPhase,
      maximum: asText(account.maxTenthsA),
      minimum: asText(account.leastTenthsA),
      failsafe: asText(account.failsafeTenthsA),
      lockLimitKw,
      reallocatedPhases,
      minimumKw: floorWOf(control) / 1000,
      maximumKw: wattsAt(account.maxTenthsA) / 1000,
    }),
    heartbeatS: control.provisioned.timing.heartbeatMs / 1000,
    leaseTtlS: control.provisioned.timing.ttlMs / 1000,
    leaseLeftSeconds: hasLease ? Math.floor(leaseLeftMs / 1000) : null,
    lastHeardSecondsAgo:
      slot.receivedAtMs === undefined ? null : Math.floor((monotonicMs - slot.receivedAtMs) / 1000),
  };
}
