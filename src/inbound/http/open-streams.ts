// The open event streams: bounds their number for each tenant, and ends them when the service stops.
import type { TenantUuid } from '../../../machines/values/ids.js';
import { Refusal, retryAfter } from './refusal.js';

export interface OpenStreams {
  /** @throws Refusal RATE_LIMITED if the tenant has as many as allowed. */
  requireRoom(tenantUuid: TenantUuid): void;
  /** Counts a stream; `end` is called when the service stops. @returns the function that stops counting it */
  add(tenantUuid: TenantUuid, end: () => void): () => void;
  /** Of all tenants, or of those for which `isTheirs` is true. */
  endAll(isTheirs?: (tenantUuid: TenantUuid) => boolean): void;
}

/** Enough for the screens of a control room and some programs. It is bounded because each stream may hold a buffer. */
const STREAMS_PER_TENANT = 20;
const WAIT_MS = 15_000;

export function createOpenStreams(): OpenStreams {
  const streams = new Map<TenantUuid, Set<() => void>>();
  return {
    requireRoom(tenantUuid) {
      if ((streams.get(tenantUuid)?.size ?? 0) < STREAMS_PER_TENANT) return;
      throw new Refusal(
        'RATE_LIMITED',
        `The tenant has ${STREAMS_PER_TENANT} streams open already: close one first.`,
        retryAfter(WAIT_MS),
      );
    },
    add(tenantUuid, end) {
      const held = streams.get(tenantUuid) ?? new Set();
      streams.set(tenantUuid, held.add(end));
      return () => {
        held.delete(end);
        if (held.size === 0 && streams.get(tenantUuid) === held) streams.delete(tenantUuid);
      };
    },
    endAll(isTheirs = () => true) {
      for (const [tenantUuid, held] of [...streams])
        if (isTheirs(tenantUuid)) for (const end of [...held]) end();
    },
  };
}
