// What the caller may do now: its rate, its tenant's feature, its scope, in this order.
import { DomainError } from '../../../machines/values/errors.js';
import type { TenantUuid } from '../../../machines/values/ids.js';
import type { Clock } from '../../ports/clock.js';
import type { Scope } from '../../ports/records.js';
import { createTokenBucket, type TokenBucket } from '../../token-bucket.js';
import type { Caller } from './authenticate.js';
import type { CredentialDirectory } from './credentials.js';
import { Refusal, retryAfter } from './refusal.js';

const BURST_S = 2;

/** @throws Refusal RATE_LIMITED, DomainError FEATURE_NOT_ENABLED or INSUFFICIENT_SCOPE. */
export function createAuthorize(options: {
  readonly credentials: CredentialDirectory;
  readonly clock: Clock;
  readonly ratePerS: number;
}): (caller: Caller, scope: Scope) => void {
  const { credentials, clock, ratePerS } = options;
  // One bucket for each tenant that ever sent a request, so the map is no larger than the number of tenants.
  const buckets = new Map<TenantUuid, TokenBucket>();

  function bucketOf(tenantUuid: TenantUuid): TokenBucket {
    const held = buckets.get(tenantUuid);
    if (held !== undefined) return held;
    const bucket = createTokenBucket({ ratePerS, burst: Math.max(1, BURST_S * ratePerS) });
    buckets.set(tenantUuid, bucket);
    return bucket;
  }

  return (caller, scope) => {
    const now = clock.monotonicMs();
    const bucket = bucketOf(caller.tenantUuid);
    if (!bucket.take(now)) {
      throw new Refusal(
        'RATE_LIMITED',
        `More than ${ratePerS} requests per second: slow down and try again.`,
        retryAfter(bucket.waitMs(now)),
      );
    }
    if (!credentials.isFeatureEnabled(caller.tenantUuid)) throw featureNotEnabled();
    if (!caller.scopes.includes(scope)) throw insufficientScope(scope);
  };
}

export function insufficientScope(scope: Scope): DomainError {
  return new DomainError('INSUFFICIENT_SCOPE', `The credential lacks the scope ${scope}.`);
}

export function featureNotEnabled(): DomainError {
  return new DomainError(
    'FEATURE_NOT_ENABLED',
    'The tenant has not activated the Energy Management feature: ask the operator to enable it.',
  );
}
