// Tokens by which one node proves to another that it forwards a request,
// and for which address. All nodes share the keys.
import jwt from 'jsonwebtoken';
import { boundedCache } from '../../bounded-cache.js';
import type { Clock } from '../../ports/clock.js';
import type { TokenKeys } from './token-keys.js';

/** The header of a forwarded request. */
export const FORWARDED_HEADER = 'x-headroom-forwarded';

const ISSUER = 'headroom';
/** No access token has this audience. */
const AUDIENCE = 'headroom-node';
const ALGORITHM = 'ES256';
const LIFETIME_S = 60;
/** A signature takes 0.1 ms: a token is reused while half of its lifetime is left. */
const USED_AGAIN_MS = 30_000;
const ADDRESSES = 10_000;

export class NodeTokens {
  readonly #keys: TokenKeys;
  readonly #clock: Clock;
  readonly #issued = boundedCache<{ readonly token: string; readonly atMs: number }>(ADDRESSES);
  readonly #verified = boundedCache<{ readonly address: string; readonly untilMs: number }>(ADDRESSES);

  constructor({ keys, clock }: { readonly keys: TokenKeys; readonly clock: Clock }) {
    this.#keys = keys;
    this.#clock = clock;
  }

  /** The header's value for a request from `address`. */
  issue(address: string): string {
    const nowMs = this.#clock.nowMs();
    const held = this.#issued.get(address);
    if (held !== undefined && nowMs - held.atMs >= 0 && nowMs - held.atMs < USED_AGAIN_MS) return held.token;
    const { kid, key } = this.#keys.current().signing;
    const issuedAtS = Math.floor(nowMs / 1000);
    const claims = { iss: ISSUER, aud: AUDIENCE, sub: address, iat: issuedAtS, exp: issuedAtS + LIFETIME_S };
    const token = jwt.sign(claims, key, { algorithm: ALGORITHM, keyid: kid });
    this.#issued.set(address, { token, atMs: nowMs });
    return token;
  }

  /** The address of the client; undefined if no node with our keys signed it. */
  addressOf(header: string): string | undefined {
    const nowMs = this.#clock.nowMs();
    const known = this.#verified.get(header);
    if (known !== undefined && nowMs < known.untilMs) return known.address;
    try {
      const kid = jwt.decode(header, { complete: true })?.header.kid ?? '';
      const key = this.#keys.current().verifying.get(kid);
      if (key === undefined) return undefined;
      const claims = jwt.verify(header, key, {
        algorithms: [ALGORITHM],
        issuer: ISSUER,
        audience: AUDIENCE,
        clockTimestamp: Math.floor(nowMs / 1000),
      });
      if (typeof claims === 'string' || claims.sub === undefined) return undefined;
      const untilMs = Math.min((claims.exp ?? 0) * 1000, nowMs + USED_AGAIN_MS);
      this.#verified.set(header, { address: claims.sub, untilMs });
      return claims.sub;
    } catch {
      return undefined;
    }
  }
}
