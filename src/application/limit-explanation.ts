// Explains the reason of a connector's limit to the operator in a sentence: "Why is this car slow?"

import type { LimitCause, LimitInForce } from '../../machines/limits/limit-in-force.js';
import { type CircuitPhase, nameOfCircuitPhase } from '../../machines/power/fuses.js';
import type { LimitReason } from '../../machines/power/grant.js';
import { kwText } from '../../machines/values/figures.js';
import { toInstant } from '../wire/instants.js';
import type { ReallocatedPhases } from './location-live.js';

export interface Explained {
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
export function explanationOf(explained: Explained): string {
  const sentence = SENTENCES[explained.reason](explained);
  const { reallocatedPhases } = explained;
  return reallocatedPhases === undefined ? sentence : `${sentence} ${reallocatedText(reallocatedPhases)}`;
}

function reallocatedText({ names, insteadOfKw }: ReallocatedPhases): string {
  if (insteadOfKw === undefined)
    return `Current is reserved on ${names} only: the car uses no other phase, so others may until it leaves.`;
  return `The charger uses ${names} only, because its limit orders that: on more phases the car would need at least ${kwText(insteadOfKw)}. It returns to them once that serves more, at the earliest ten minutes after a switch.`;
}

function limitText({ limitKw, cause }: LimitInForce): string {
  return `limit of ${kwText(limitKw)} (${causeText(cause)})`;
}

function causeText(cause: LimitCause): string {
  switch (cause.kind) {
    case 'permanentLimit':
      return 'the permanent limit of the location';
    case 'profile':
      return `a profile of priority ${cause.profile.priority} until ${toInstant(cause.profile.endsAtMs)}`;
    case 'clusterShare':
      return `the share of the location in cluster ${cause.clusterId}`;
    case 'operatorLimit':
      return 'the limit of the grid operator';
    case 'peakShaving':
      return 'the rest of the average import that the tariff bills';
    case 'building':
      return 'the rest of the physical connection beside the building';
    case 'physicalConnection':
      return 'the physical connection of the location';
  }
}
