// Authenticates a caller and authorizes its request: credential, rate, feature of the tenant and scope, in this order.
import { DomainError } from '../../../machines/values/errors.js';
import type { TenantUuid } from '../../../machines/values/ids.js';
import { boundedCache } from '../../bounded-cache.js';
import type { GuessLimit } from '../../guess-limit.js';
import type { Metrics } from '../../metrics.js';
import type { Clock } from '../../ports/clock.js';
import type { CredentialRecord, Grantor } from '../../ports/credentials.js';
import type { Scope } from '../../ports/records.js';
import { claimedKeyIdOf, hashSecret, isSecret, parseApiKey, secretIdOf } from '../../secrets.js';
import type { FailedSignIn, SignInLog } from '../../sign-in-log.js';
import { createTokenBucket, type TokenBucket } from '../../token-bucket.js';
import { type CredentialDirectory, type CredentialUses, isInForce } from './credentials.js';
import type { Exchange } from './exchange.js';
import { type Headers, Refusal, retryAfter } from './refusal.js';
import type { Tokens, VerifiedToken } from './tokens.js';

// Counts and logs failed sign-ins over HTTP, and makes an address wait after too many.
export class FailedSignIns {
  readonly #guesses: GuessLimit;
  readonly #metrics: Metrics;
  readonly #signInLog: SignInLog;

  constructor(parts: {
    readonly guesses: GuessLimit;
    readonly metrics: Metrics;
    readonly signInLog: SignInLog;
  }) {
    this.#guesses = parts.guesses;
    this.#metrics = parts.metrics;
    this.#signInLog = parts.signInLog;
  }

  /** Counts a failure against its address. @throws Refusal RATE_LIMITED if the address had failed too often already. */
  count(failure: FailedSignIn): void {
    const waitMs = this.#guesses.waitMs(failure.address);
    this.#guesses.count(failure.address);
    this.report(failure);
    if (waitMs > 0) throw tooManyFailures(waitMs);
  }

  report(failure: FailedSignIn): void {
    this.#metrics.authFailures.inc({ via: failure.via });
    this.#signInLog.add(failure);
  }
}

export function tooManyFailures(waitMs: number): Refusal {
  return new Refusal(
    'RATE_LIMITED',
    'Too many failed sign-in attempts from this address: try again later.',
    retryAfter(waitMs),
  );
}

/** A client, with those of its scopes that its token names. */
interface TokenCaller extends Grantor {
  readonly token: VerifiedToken;
}

/** Tenant and present scopes of a credential. The tenant of a request has no other source. */
export type Caller = TokenCaller | CredentialRecord;

/** The caller of a token, valid for as long as its client has this record. */
interface CallerOfRecord {
  readonly client: CredentialRecord;
  readonly caller: TokenCaller;
}

/** The part of an exchange that authentication needs. `address` is read only after a wrong credential. */
type Presented = Pick<Exchange, 'request' | 'address'>;

/** A key whose secret was right. */
type CheckedKey = Pick<CredentialRecord, 'id' | 'secretHash'>;

const KEYS_REMEMBERED = 10_000;
/** Requests of this many seconds may come at once from a tenant. */
const BURST_S = 2;
const BEARER = /^Bearer(?: +(.*))?$/i;
// An unknown key is compared with this, so that its answer takes as long as that of a known key.
const NO_HASH = hashSecret('');

export class Access {
  readonly #credentials: CredentialDirectory;
  readonly #tokens: Tokens;
  readonly #failedSignIns: FailedSignIns;
  readonly #clock: Clock;
  readonly #ratePerS: number;
  readonly #burst: number;
  readonly #policy: string;
  readonly #uses: CredentialUses;
  /** Never shrinks: one bucket for each tenant that ever sent a request. */
  readonly #buckets = new Map<TenantUuid, TokenBucket>();
  readonly #rememberedKeys = boundedCache<CheckedKey>(KEYS_REMEMBERED);
  readonly #callers = new WeakMap<VerifiedToken, CallerOfRecord>();

  constructor(options: {
    readonly credentials: CredentialDirectory;
    readonly tokens: Tokens;
    readonly failedSignIns: FailedSignIns;
    readonly clock: Clock;
    readonly ratePerS: number;
    readonly uses: CredentialUses;
  }) {
    this.#credentials = options.credentials;
    this.#tokens = options.tokens;
    this.#failedSignIns = options.failedSignIns;
    this.#clock = options.clock;
    this.#ratePerS = options.ratePerS;
    this.#burst = Math.max(1, BURST_S * options.ratePerS);
    this.#policy = `"tenant";q=${Math.floor(this.#burst)};w=${Math.ceil(this.#burst / options.ratePerS)}`;
    this.#uses = options.uses;
  }

  /**
   * The caller of a request with the right for `scope`. The Bearer token decides if both schemes are sent.
   * @param exchange receives the tenant of a valid credential, also if the request is refused
   * @throws Refusal UNAUTHORIZED, the same for every mistake; RATE_LIMITED if the address failed too often before, or
   * for too many requests of the tenant; DomainError FEATURE_NOT_ENABLED or INSUFFICIENT_SCOPE. A valid credential
   * passes from every address: keys and tokens are too long to guess.
   */
  admit(exchange: Exchange, scope: Scope): Caller {
    const { headers } = exchange.request;
    const bearer = BEARER.exec(headers.authorization ?? '');
    const key = headers['x-api-key'];
    let caller: Caller | undefined;
    if (bearer !== null) caller = this.#callerOfToken(bearer[1] ?? '', exchange);
    else if (typeof key === 'string') caller = this.#callerOfKey(key, exchange);
    if (caller === undefined) throw unauthorized();
    this.#uses.note(caller);
    exchange.tenantUuid = caller.tenantUuid;
    const now = this.#clock.monotonicMs();
    const bucket = this.#bucketOf(caller.tenantUuid);
    const isWithinRate = bucket.take(now);
    exchange.rateLimit = this.#rateLimitOf(bucket, now);
    if (!isWithinRate) {
      throw new Refusal(
        'RATE_LIMITED',
        `More than ${this.#ratePerS} requests per second: slow down and try again.`,
        retryAfter(bucket.waitMs(now)),
      );
    }
    const refusal = this.#refusalOf(caller, scope);
    if (refusal !== undefined) throw refusal;
    return caller;
  }

  /** The refusal that the caller would get now, or undefined: a check for answers that go on. */
  refusalNow(caller: Caller, scope: Scope): DomainError | undefined {
    const now = this.#again(caller);
    return now === undefined ? unauthorized() : this.#refusalOf(now, scope);
  }

  #refusalOf({ tenantUuid, scopes }: Caller, scope: Scope): DomainError | undefined {
    if (!this.#credentials.isFeatureEnabled(tenantUuid))
      return new DomainError(
        'FEATURE_NOT_ENABLED',
        'The tenant has not activated the Energy Management feature: ask the operator to enable it.',
      );
    if (scopes.includes(scope)) return undefined;
    return new DomainError(
      'INSUFFICIENT_SCOPE',
      `The credential lacks the scope ${scope}: use one that has it.`,
    );
  }

  /** draft-ietf-httpapi-ratelimit-headers-10: the quota of a window, the rest of it, and seconds until more is there. */
  #rateLimitOf(bucket: TokenBucket, now: number): Headers {
    const { left, moreInMs } = bucket.look(now);
    return {
      'ratelimit-policy': this.#policy,
      ratelimit: `"tenant";r=${left};t=${Math.ceil(moreInMs / 1000)}`,
    };
  }

  #bucketOf(tenantUuid: TenantUuid): TokenBucket {
    const held = this.#buckets.get(tenantUuid);
    if (held !== undefined) return held;
    const bucket = createTokenBucket({ ratePerS: this.#ratePerS, burst: this.#burst });
    this.#buckets.set(tenantUuid, bucket);
    return bucket;
  }

  /** The caller with its present rights; undefined if it would no longer be authenticated. */
  #again(caller: Caller): Caller | undefined {
    return 'token' in caller ? this.#heldBy(caller.token) : this.#keyInForce(caller);
  }

  #callerOfToken(text: string, presented: Presented): TokenCaller | undefined {
    const recalled = this.#tokens.recall(text);
    const token = recalled ?? this.#tokens.verify(text);
    const caller = token && this.#heldBy(token);
    if (caller !== undefined) return caller;
    this.#failedSignIns.count({
      via: 'http',
      address: presented.address,
      clientId: token?.clientId ?? this.#tokens.claimedClientId(text),
      reason: token === undefined ? 'not a valid token' : 'expired, or of another client or secret',
    });
    return undefined;
  }

  /** The caller of a verified token with the present rights of its client; undefined if the token has ended. */
  #heldBy(token: VerifiedToken): TokenCaller | undefined {
    const client = this.#credentials.find('client', token.clientId);
    const now = this.#clock.nowMs();
    if (client === undefined || now >= token.expiresAtMs || !isInForce(client, now)) return undefined;
    const known = this.#callers.get(token);
    // Records are replaced and never changed: the same object has the same caller.
    if (known?.client === client) return known.caller;
    const holds =
      client.tenantUuid === token.tenantUuid &&
      (token.secretId === undefined || token.secretId === secretIdOf(client.secretHash));
    if (!holds) return undefined;
    const scopes = token.scopes.filter((scope) => client.scopes.includes(scope));
    const { kind, id, tenantUuid, expiresAtMs } = client;
    const caller = { kind, id, tenantUuid, scopes, expiresAtMs, token };
    this.#callers.set(token, { client, caller });
    return caller;
  }

  #callerOfKey(text: string, presented: Presented): Caller | undefined {
    const remembered = this.#rememberedKeys.get(text);
    if (remembered !== undefined) {
      const record = this.#keyInForce(remembered);
      if (record !== undefined) return record;
      this.#rememberedKeys.delete(text);
    }
    return this.#checkKey(text, presented);
  }

  /** The present record of a key that was checked before; undefined if it ended, or has another secret. */
  #keyInForce({ id, secretHash }: CheckedKey): CredentialRecord | undefined {
    const key = this.#credentials.find('apiKey', id);
    return key?.secretHash === secretHash && isInForce(key, this.#clock.nowMs()) ? key : undefined;
  }

  #checkKey(text: string, presented: Presented): CredentialRecord | undefined {
    const keyId = claimedKeyIdOf(text);
    const record = keyId === undefined ? undefined : this.#credentials.find('apiKey', keyId);
    const isRight = isSecret(parseApiKey(text)?.secret ?? '', record?.secretHash ?? NO_HASH);
    if (record !== undefined && isRight && isInForce(record, this.#clock.nowMs())) {
      this.#rememberedKeys.set(text, record);
      return record;
    }
    const reason = record === undefined ? 'no such key' : isRight ? 'revoked or expired' : 'wrong secret';
    this.#failedSignIns.count({ via: 'http', address: presented.address, keyId, reason });
    return undefined;
  }
}

/** One text for every mistake reveals nothing. */
function unauthorized(): Refusal {
  return new Refusal(
    'UNAUTHORIZED',
    'The credential is missing, invalid or expired: send a valid x-api-key, or Authorization: Bearer with a token from POST /v1/oauth/token.',
    { 'www-authenticate': 'Bearer realm="headroom"' },
  );
}
