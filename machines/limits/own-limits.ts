// Sources of a location itself: its profiles, the permanent limit without an active one, and its physical connection.
import type { EpochMs } from '../values/time.js';
import { type LimitSource, outlookLimits, type SourceLimit } from './limit-in-force.js';
import { activeProfileAt, type LimitProfile, nextBoundaryAfter, type ProfileStack } from './profile-stack.js';

export interface OwnLimits {
  readonly stack: ProfileStack;
  /** The deciding profile as of the last event; undefined if none is active. */
  readonly activeProfile: LimitProfile | undefined;
  readonly permanentLimitKw: number;
}

export function ownLimits({ stack, activeProfile, permanentLimitKw }: OwnLimits): LimitSource {
  const permanent: SourceLimit = { limitKw: permanentLimitKw, cause: { kind: 'permanentLimit' } };
  const limitOf = (profile: LimitProfile | undefined): SourceLimit =>
    profile === undefined ? permanent : { limitKw: profile.limitKw, cause: { kind: 'profile', profile } };
  return {
    name: 'own',
    isOrdered: true,
    current: limitOf(activeProfile),
    limitAt: (atMs) => limitOf(activeProfileAt(stack, atMs)),
    nextChangeAfter: (atMs) => nextBoundaryAfter(stack, atMs) ?? Number.POSITIVE_INFINITY,
    lowestFrom: (now) => lowestOf(stack, now, permanent, limitOf),
    explain: (cause, textOf) =>
      cause.kind === 'profile'
        ? `a profile of priority ${cause.profile.priority} until ${textOf(cause.profile.endsAtMs)}`
        : 'the permanent limit of the location',
  };
}

function lowestOf(
  stack: ProfileStack,
  now: EpochMs,
  permanent: SourceLimit,
  limitOf: (profile: LimitProfile) => SourceLimit,
): SourceLimit {
  let lowest = permanent;
  for (const profile of stack)
    if (profile.endsAtMs > now && profile.limitKw < lowest.limitKw) lowest = limitOf(profile);
  return lowest;
}

/** A location with a meter of its building has that capacity beside the building instead. */
export function physicalConnection(limitKw: number): LimitSource {
  const limits = outlookLimits(
    { limitKw, endsAtMs: Number.POSITIVE_INFINITY },
    { kind: 'physicalConnection' },
  );
  return {
    name: 'physicalConnection',
    ...limits,
    lowestFrom: () => limits.current,
    explain: () => 'the physical connection of the location',
  };
}
