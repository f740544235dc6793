// A service on a virtual clock, with access to its store, for the tests of the extensions.
import type { z } from 'zod';
import { createVirtualClock, type VirtualClock } from '../../sim/virtual-clock.js';
import type { ProvisionedTenant } from '../../src/ports/administration.js';
import type { Store } from '../../src/ports/store.js';
import { bodyOf } from './answers.js';
import { HARBOUR, type RunningService, runService } from './running-service.js';

export const NOW = '2026-06-01T12:00:00.000Z';
export const NOW_MS = Date.parse(NOW);

export interface OperatedService extends RunningService {
  readonly clock: VirtualClock;
  readonly store: Store;
  /** The body of a successful GET, which must fit `schema`. */
  read<S extends z.ZodType>(path: string, schema: S): Promise<z.output<S>>;
}

export async function runOperatedService(
  tenants: readonly ProvisionedTenant[],
  environment: Readonly<Record<string, string>> = {},
): Promise<OperatedService> {
  const clock = createVirtualClock(NOW_MS);
  const opened: Store[] = [];
  const wrapStore = (store: Store) => {
    opened.push(store);
    return store;
  };
  const service = await runService(tenants, { clock, wrapStore }, environment);
  const [store] = opened;
  if (store === undefined) throw new Error('the service opened no store');
  return {
    ...service,
    clock,
    store,
    read: async (path, schema) => bodyOf(await service.call('GET', path, undefined, HARBOUR), schema),
  };
}

/** `2026-06-01T{time}Z` with milliseconds, the day of `NOW`. */
export function at(time: string): string {
  return new Date(Date.parse(`2026-06-01T${time}Z`)).toISOString();
}
