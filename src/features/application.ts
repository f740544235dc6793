// The operations and events of the tenants that run here. Inbound code reaches the actors only through them.
import type { TenantUuid } from '../../machines/values/ids.js';
import type { Asked, Operation } from '../actors/core.js';
import type { Unsubscribe } from './stream/stream.js';
import type { StreamEvent } from './stream-contract.js';

export interface Application {
  answer(operation: Operation, asked: Asked): object | Promise<object>;
  /** Calls `listener` for every event from now on, of one location or of all; `listener` must not throw. */
  subscribe(
    tenantUuid: TenantUuid,
    locationText: string | undefined,
    listener: (event: StreamEvent) => void,
  ): Unsubscribe;
}
