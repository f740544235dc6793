// Explains the reason of a connector's limit to the operator in a sentence: "Why is this car slow?"

import type { LimitCause, LimitInForce } from '../../machines/limits/limit-in-force.js';
import { type CircuitPhase, nameOfCircuitPhase } from '../../machines/power/fuses.js';
import type { LimitReason } from '../../machines/power/grant.js';
import { kwText } from '../../machines/values/figures.js';
import { toInstant } from '../wire/instants.js';
import type { ReallocatedPhases } from './fuse-view.js';

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
  maximum: ({ maximum }) => `It is not limited: it may draw its maximum of ${maximum}.`,
  demand: () => 'Its car takes less than it may: the limit is what the car takes and a step more.',
  fairShare: (explained) => shareText(explained),
  clusterShare: (explained) => shareText(explained),
  waiting: () => 'It is to get more, as soon as other chargers have followed their lower limits.',
  paused: ({ limit, fullCircuitPhase, lockLimitKw }) => {
    if (lockLimitKw !== null)
      return 'A profile locks it, but the grid operator’s limit is not enough for at least 6 A for every locked connector, and provisioning lets it be paused for that: it is paused until there is room.';
    return fullCircuitPhase !== undefined
      ? `${fullText(fullCircuitPhase)}: its ${ampereText(fullCircuitPhase)} are not enough for at least 6 A for every car on it, so it is paused until its turn.`
      : `The ${limitText(limit)} is not enough for at least 6 A for every car: it is paused until its turn.`;
  },
  reserved: ({ failsafe }) =>
    `Locked connectors need what there is. Its charger falls back to ${failsafe} by itself after a restart, so that is reserved for it whatever it is told: it has that, and a pause would free nothing.`,
  minimumPause: () => 'It was paused less than a minute ago, and a pause lasts a minute at least.',
  lock: (explained) => lockText(explained),
  lastResort: ({ limit, fullCircuitPhase }) =>
    fullCircuitPhase !== undefined
      ? `A profile locks it, but ${nameOfCircuitPhase(fullCircuitPhase)} is full: every unlocked connector on it is at 0 already, or at what is reserved for it anyway, and no fuse is overloaded for a lock.`
      : `A profile locks it, but under the ${limitText(limit)} every unlocked connector is at 0 already, or at what is reserved for it anyway, so locked ones are lowered too, never below 6 A.`,
  idle: () => 'No car is connected.',
  failsafe: ({ failsafe }) =>
    `It is sent no limit until it answers: when its last grant ends, it falls back to its fail-safe of ${failsafe} by itself.`,
  nonCompliant: ({ maximum }) =>
    `It drew more than it was allowed: its maximum of ${maximum} is reserved for it until it keeps to its limit.`,
  readOnly: ({ maximum }) =>
    `It takes no limits: its maximum of ${maximum} is reserved for it, and the others share the rest.`,
};

function shareText({ limit, fullCircuitPhase }: Explained): string {
  if (fullCircuitPhase !== undefined)
    return `${fullText(fullCircuitPhase)}: it shares its ${ampereText(fullCircuitPhase)} fairly with the other connectors on it that have a car.`;
  return `It shares the ${limitText(limit)} fairly with the other connectors that have a car.`;
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
  const upTo = (what: string) => `A profile locks it: it runs up to ${what}, whatever the others draw.`;
  if (lockLimitKw === null) return upTo('its limit');
  if (lockLimitKw >= maximumKw) return upTo(`its maximum of ${maximum}`);
  if (lockLimitKw >= minimumKw) return upTo(kwText(lockLimitKw));
  return `A profile locks it at ${kwText(lockLimitKw)}, but no car can use less than ${minimum}: it runs up to ${kwText(minimumKw)}.`;
}

/** One sentence, and another if some phases are reallocated. */
export function explanationOf(explained: Explained): string {
  const sentence = SENTENCES[explained.reason](explained);
  const { reallocatedPhases } = explained;
  return reallocatedPhases === undefined ? sentence : `${sentence} ${reallocatedText(reallocatedPhases)}`;
}

function reallocatedText({ names, insteadOfKw }: ReallocatedPhases): string {
  if (insteadOfKw === undefined)
    return `It is reserved on ${names} only: its car uses no other phase, and others may until it goes.`;
  return `Its charger is told to use ${names} only: on more phases its car would need ${kwText(insteadOfKw)} at least. It goes back to them once that serves more, ten minutes after a switch at the earliest.`;
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
      return 'what the average import that the tariff bills leaves for the rest of its window';
    case 'building':
      return 'what the building leaves of the physical connection';
    case 'physicalConnection':
      return 'the physical connection of the location';
  }
}
