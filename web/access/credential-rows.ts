// Gives API keys and OAuth clients a common shape as rows.
import type { ApiKeyView, OauthClientView } from '../../src/features/credentials/contract.js';

export type CredentialKind = 'apiKey' | 'client';

export interface CredentialRow {
  readonly kind: CredentialKind;
  readonly id: string;
  readonly name: string | null;
  readonly scopes: readonly string[];
  readonly state: 'active' | 'expired' | 'revoked' | 'disabled';
  readonly createdAt: string | null;
  readonly createdBy: string | null;
  readonly expiresAt: string | null;
  readonly lastUsedAt: string | null;
  readonly endedAt: string | null;
  readonly endedBy: string | null;
  readonly isCaller: boolean;
}

/** Words for each kind, and its path in the API. */
export const KINDS = {
  apiKey: {
    path: '/credentials/api-keys',
    heading: 'API keys',
    noun: 'API key',
    id: 'Key id',
    secret: 'API key',
    end: 'Revoke',
    ended: 'revoked',
    empty: 'No API keys.',
  },
  client: {
    path: '/credentials/clients',
    heading: 'OAuth clients',
    noun: 'OAuth client',
    id: 'Client id',
    secret: 'Client secret',
    end: 'Disable',
    ended: 'disabled',
    empty: 'No OAuth clients. A client exchanges its id and secret for access tokens.',
  },
} as const;

export function rowOfKey({ keyId, revokedAt, revokedBy, ...key }: ApiKeyView): CredentialRow {
  return { kind: 'apiKey', id: keyId, endedAt: revokedAt, endedBy: revokedBy, ...key };
}

export function rowOfClient({ clientId, disabledAt, disabledBy, ...client }: OauthClientView): CredentialRow {
  return { kind: 'client', id: clientId, endedAt: disabledAt, endedBy: disabledBy, ...client };
}

/** Reference under which other credentials name this one as their creator. */
export function refOf({ kind, id }: Pick<CredentialRow, 'kind' | 'id'>): string {
  return `${kind}:${id}`;
}

export function labelOf({ name, id }: Pick<CredentialRow, 'name' | 'id'>): string {
  return name ?? id;
}
