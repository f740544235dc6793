// Logs failed sign-ins with address and name, never with the secret, and never so many that they fill a disk.

import { isId } from '../machines/values/ids.js';
import { boundedCache } from './bounded-cache.js';
import type { Clock } from './ports/clock.js';
import type { Log } from './ports/log.js';
import { isGenerated, parseApiKey } from './secrets.js';
import { createTokenBucket } from './token-bucket.js';

/** A refused sign-in. Its names are those of the request: they may be another one's, or unknown. */
export interface FailedSignIn {
  /** `http`: an API key or access token; `token`: the token endpoint. */
  readonly via: 'http' | 'token' | 'mqtt';
  readonly address: string;
  /** The 8 characters after `hr_`. */
  readonly keyId?: string | undefined;
  readonly clientId?: string | undefined;
  readonly username?: string | undefined;
  readonly reason: string;
}

interface Source {
  readonly loggedAtMs: number;
  /** Failures since then that were not logged. */
  more: number;
}

const SAME_EVERY_MS = 60_000;
const SOURCES = 10_000;
// At most 43,000 lines a day, some 10 MB.
const LINES_AT_ONCE = 100;
const LINES_PER_S = 0.5;

/**
 * A line for the first failure of each address and name, and one a minute while
 * failures go on. All lines together are bounded.
 */
export class SignInLog {
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #sources = boundedCache<Source>(SOURCES);
  readonly #lines = createTokenBucket({ ratePerS: LINES_PER_S, burst: LINES_AT_ONCE });
  #others = 0;

  constructor(clock: Clock, log: Log) {
    this.#clock = clock;
    this.#log = log;
  }

  add({ via, address, reason, ...sent }: FailedSignIn): void {
    const nowMs = this.#clock.monotonicMs();
    const names = {
      keyId: showable(sent.keyId),
      clientId: showable(sent.clientId),
      username: showableUsername(sent.username),
    };
    const key = JSON.stringify([via, address, names]);
    const source = this.#sources.get(key);
    if (source !== undefined && nowMs - source.loggedAtMs < SAME_EVERY_MS) {
      source.more++;
      return;
    }
    if (!this.#lines.take(nowMs)) {
      this.#others++;
      return;
    }
    const counts = {
      ...(source !== undefined && source.more > 0 ? { sameSince: source.more } : {}),
      ...(this.#others > 0 ? { othersNotLogged: this.#others } : {}),
    };
    this.#log.warn({ via, address, ...names, reason, ...counts }, 'sign-in failed');
    this.#sources.set(key, { loggedAtMs: nowMs, more: 0 });
    this.#others = 0;
  }
}

/** A name of the request, unless it is invalid, or a secret in the place of a name. */
function showable(text: string | undefined): string | undefined {
  if (text === undefined || !isId(text)) return undefined;
  return isGenerated(text) || parseApiKey(text) !== undefined ? undefined : text;
}

/** `{tenantUuid}/{controllerUuid}` */
function showableUsername(text: string | undefined): string | undefined {
  const parts = text?.split('/') ?? [];
  return parts.length === 2 && parts.every((part) => showable(part) !== undefined) ? text : undefined;
}
