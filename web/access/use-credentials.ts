// Reads the credentials of the tenant, and the limits of new credentials that the signed-in one may create.
import { useMemo } from 'preact/hooks';
import type { ApiKeyList, OauthClientList } from '../../src/features/credentials/contract.js';
import type { ApiError } from '../api/api-error.js';
import { useResource } from '../api/resource.js';
import { useEvery } from '../location/server-clock.js';
import { type CredentialRow, KINDS, rowOfClient, rowOfKey } from './credential-rows.js';

export interface Credentials {
  /** Both kinds; each kind begins with the newest credential. */
  readonly rows: readonly CredentialRow[];
  readonly grantableScopes: readonly string[];
  /** Null: no limit. */
  readonly latestExpiresAt: string | null;
}

/** The stream has no events about credentials. */
const EVERY_MS = 30_000;

export function useCredentials(): {
  readonly value: Credentials | undefined;
  readonly error: ApiError | undefined;
  reread(): void;
} {
  const { value, error, reread } = useResource(
    (client, signal) =>
      Promise.all([
        client.get<ApiKeyList>(KINDS.apiKey.path, signal),
        client.get<OauthClientList>(KINDS.client.path, signal),
      ]),
    [],
  );
  useEvery(EVERY_MS, () => reread());
  const credentials = useMemo(() => {
    if (value === undefined) return undefined;
    const [{ apiKeys, grantableScopes, latestExpiresAt }, { clients }] = value;
    return {
      rows: [...apiKeys.map(rowOfKey), ...clients.map(rowOfClient)],
      grantableScopes,
      latestExpiresAt,
    };
  }, [value]);
  return { value: credentials, error, reread: () => reread() };
}
