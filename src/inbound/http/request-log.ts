// A log line for each request; of callers that no tenant answers for, no more than a disk can bear.
import type { TenantUuid } from '../../../machines/values/ids.js';
import type { Clock } from '../../ports/clock.js';
import type { Log } from '../../ports/log.js';
import { createTokenBucket } from '../../token-bucket.js';

// At most 860,000 lines a day, some 200 MB.
const LINES_AT_ONCE = 1_000;
const LINES_PER_S = 10;

/**
 * Requests of a tenant are logged all: its rate is limited. The others (probes, pages, documents, refused sign-ins, what is
 * no request at all) share a bound; the next line of theirs says how many were left out.
 */
export class RequestLog {
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #lines = createTokenBucket({ ratePerS: LINES_PER_S, burst: LINES_AT_ONCE });
  #leftOut = 0;

  constructor(clock: Clock, log: Log) {
    this.#clock = clock;
    this.#log = log;
  }

  /** @param tenantUuid whose credential was good; undefined where none was. */
  add(tenantUuid: TenantUuid | undefined, fields: object, message: string): void {
    if (tenantUuid !== undefined) {
      this.#log.info({ tenantUuid, ...fields }, message);
    } else if (this.#lines.take(this.#clock.monotonicMs())) {
      const othersNotLogged = this.#leftOut;
      this.#leftOut = 0;
      this.#log.info({ ...fields, ...(othersNotLogged > 0 && { othersNotLogged }) }, message);
    } else {
      this.#leftOut++;
    }
  }
}
