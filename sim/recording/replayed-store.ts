// A store that gives the recorded answers, each in the turn of the recording.
import type { TenantUuid } from '../../machines/values/ids.js';
import { type Store, StoreUnavailableError } from '../../src/ports/store.js';
import { type Input, STORE_METHODS, type StoreMethod } from './recording-line.js';

type Answer = Extract<Input, { kind: 'stored' | 'unstored' }>;

export interface ReplayedStore {
  readonly store: Store;
  /** Tenants with rows that were read. */
  readonly tenants: readonly TenantUuid[];
  /** Answers the store call with this number and method; false if there is no such open call. */
  answer(answer: Answer): boolean;
}

interface Asked {
  readonly method: StoreMethod;
  readonly resolve: (answer: unknown) => void;
  readonly reject: (error: Error) => void;
}

export function createReplayedStore(): ReplayedStore {
  const waiting = new Map<number, Asked>();
  const tenants = new Set<TenantUuid>();
  let asked = 0;

  const asking = (method: StoreMethod) =>
    function ask(...given: unknown[]): Promise<unknown> {
      // The first argument of `loadTenant` is the tenant.
      if (method === 'loadTenant') tenants.add(given[0] as TenantUuid);
      const n = ++asked;
      return new Promise((resolve, reject) => waiting.set(n, { method, resolve, reject }));
    };
  const unrecorded = () => Promise.reject(new StoreUnavailableError('this is not in the recording'));
  const store: Store = {
    ownership: {
      awaitVacancy: unrecorded,
      claim: unrecorded,
      announce: unrecorded,
      renew: unrecorded,
      release: unrecorded,
      holder: unrecorded,
    },
    ping: unrecorded,
    glanceAtTenant: unrecorded,
    close: async () => {},
    alarms: unrecorded,
    profileHistory: unrecorded,
    profilesAt: unrecorded,
    permanentLimitHistory: unrecorded,
    powerHistory: unrecorded,
    operatorEvents: unrecorded,
    tenantCredentials: unrecorded,
    changeCredentials: unrecorded,
    noteCredentialUses: unrecorded,
    // TypeScript cannot infer that each method has the type of its name.
    ...(Object.fromEntries(STORE_METHODS.map((method) => [method, asking(method)])) as Pick<
      Store,
      StoreMethod
    >),
  };

  return {
    store,
    get tenants() {
      return [...tenants];
    },
    answer(answer) {
      const call = waiting.get(answer.n);
      if (call === undefined || call.method !== answer.method) return false;
      waiting.delete(answer.n);
      if (answer.kind === 'stored') call.resolve(answer.answer);
      else call.reject(errorOf(answer));
      return true;
    },
  };
}

function errorOf({
  error: { message, isUnavailable, isOutcomeUnknown },
}: Extract<Input, { kind: 'unstored' }>): Error {
  return isUnavailable ? new StoreUnavailableError(message, { isOutcomeUnknown }) : new Error(message);
}
