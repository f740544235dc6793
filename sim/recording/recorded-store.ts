// Records the answers of a store, each as a turn of its own.
import { type Store, StoreUnavailableError } from '../../src/ports/store.js';
import { STORE_METHODS, type StoreMethod } from './recording-line.js';
import type { TurnLater } from './turns.js';

/** Each call gets the next number. Recording delays each answer by one turn of the host's event loop. */
export function recordedStore(store: Store, turnLater: TurnLater): Store {
  let asked = 0;

  const asking = (method: StoreMethod) =>
    function ask(...given: unknown[]): Promise<unknown> {
      const n = ++asked;
      return new Promise((resolve, reject) => {
        const answered: Promise<unknown> = Reflect.apply(store[method], store, given);
        answered.then(
          (value) => {
            const answer = withoutSecrets(method, value);
            turnLater({ kind: 'stored', n, method, answer }, () => resolve(value));
          },
          (error: unknown) =>
            turnLater({ kind: 'unstored', n, method, error: describe(error) }, () => reject(error)),
        );
      });
    };

  return { ...store, ...Object.fromEntries(STORE_METHODS.map((method) => [method, asking(method)])) };
}

/** Credentials have no influence on a limit. */
function withoutSecrets(method: StoreMethod, answer: unknown): unknown {
  if (method !== 'loadCredentials' || typeof answer !== 'object' || answer === null) return answer;
  const tenants: unknown = Reflect.get(answer, 'tenants');
  return { tenants, apiKeys: [], oauthClients: [], mqttLogins: [] };
}

function describe(error: unknown) {
  return {
    message: error instanceof Error ? error.message : String(error),
    isUnavailable: error instanceof StoreUnavailableError,
    isOutcomeUnknown: error instanceof StoreUnavailableError && error.isOutcomeUnknown,
  };
}
