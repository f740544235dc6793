// Converts the cause of a limit into the form of answers.
import type { LimitCause } from '../../machines/limits/limit-in-force.js';
import { toInstant } from '../wire/instants.js';
import type { GridLimitCause } from '../wire/operator-locations.js';

export function viewOfCause(cause: LimitCause): GridLimitCause {
  if (cause.kind !== 'profile') return cause;
  const { priority, startsAtMs, endsAtMs } = cause.profile;
  return { kind: 'profile', priority, startTime: toInstant(startsAtMs), endTime: toInstant(endsAtMs) };
}
