// API keys and OAuth clients of a tenant: an entitled credential lists, creates and ends them, never beyond its own
// rights.
import { DomainError } from '../../../machines/values/errors.js';
import { isId, type TenantUuid } from '../../../machines/values/ids.js';
import { SCOPES, type Scope } from '../../../machines/values/scopes.js';
import type { EpochMs } from '../../../machines/values/time.js';
import type { Keep } from '../../actors/core.js';
import { type Endpoint, endpoint } from '../../inbound/http/endpoint.js';
import type { Clock } from '../../ports/clock.js';
import type { CredentialChange, CredentialKind, CredentialRecord, Grantor } from '../../ports/credentials.js';
import type { Log } from '../../ports/log.js';
import type { NewAnswer, Store } from '../../ports/store.js';
import { credentialRef, formatApiKey, generateKeyId, generateSecret, hashSecret } from '../../secrets.js';
import { fromInstant, toInstant } from '../../wire/instants.js';
import {
  type ApiKeyList,
  type ApiKeyView,
  apiKeyListSchema,
  apiKeySchema,
  type CredentialRequest,
  credentialRequestSchema,
  type IssuedApiKey,
  type IssuedOauthClient,
  issuedApiKeySchema,
  issuedOauthClientSchema,
  type OauthClientList,
  type OauthClientView,
  oauthClientListSchema,
  oauthClientSchema,
} from './contract.js';

/** For each kind and tenant: every node holds all of them in memory. */
const ACTIVE_AT_MOST = 100;
/**
 * Number of ended credentials that are kept, if created over REST. Those of a provisioning file stay revoked for good.
 */
const ENDED_KEPT = 100;

const NOUNS = { apiKey: 'API key', client: 'OAuth client' } as const satisfies Record<CredentialKind, string>;

type State = 'active' | 'expired' | 'ended';

function stateAt({ endedAtMs, expiresAtMs }: CredentialRecord, now: EpochMs): State {
  if (endedAtMs !== null) return 'ended';
  return expiresAtMs !== null && expiresAtMs <= now ? 'expired' : 'active';
}

export class TenantCredentials {
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #storeOf: (tenantUuid: TenantUuid) => Pick<Store, 'tenantCredentials' | 'changeCredentials'>;
  readonly #apply: (change: CredentialChange) => void;
  readonly #lastUsedAtMs: (kind: CredentialKind, id: string) => EpochMs | undefined;

  constructor(parts: {
    readonly clock: Clock;
    readonly log: Log;
    /** Returns the store that may write for the tenant. */
    readonly storeOf: (tenantUuid: TenantUuid) => Pick<Store, 'tenantCredentials' | 'changeCredentials'>;
    /** Puts a change that is on disk in force. */
    readonly apply: (change: CredentialChange) => void;
    /** Uses that are not on disk yet. */
    readonly lastUsedAtMs: (kind: CredentialKind, id: string) => EpochMs | undefined;
  }) {
    this.#clock = parts.clock;
    this.#log = parts.log;
    this.#storeOf = parts.storeOf;
    this.#apply = parts.apply;
    this.#lastUsedAtMs = parts.lastUsedAtMs;
  }

  async listApiKeys(by: Grantor): Promise<ApiKeyList> {
    const apiKeys = (await this.#list('apiKey', by)).map((key) => this.#apiKeyView(key, by));
    return { apiKeys, ...grantableBy(by) };
  }

  async listClients(by: Grantor): Promise<OauthClientList> {
    const clients = (await this.#list('client', by)).map((client) => this.#clientView(client, by));
    return { clients, ...grantableBy(by) };
  }

  /** @throws DomainError INVALID_REQUEST_BODY, INSUFFICIENT_SCOPE, UNAUTHORIZED */
  createApiKey(by: Grantor, request: CredentialRequest, keep: Keep): Promise<IssuedApiKey> {
    const keyId = generateKeyId();
    return this.#create('apiKey', keyId, by, request, keep, (key, secret) => ({
      ...this.#apiKeyView(key, by),
      apiKey: formatApiKey(keyId, secret),
    }));
  }

  /** @throws DomainError INVALID_REQUEST_BODY, INSUFFICIENT_SCOPE, UNAUTHORIZED */
  createClient(by: Grantor, request: CredentialRequest, keep: Keep): Promise<IssuedOauthClient> {
    const clientId = `client-${generateKeyId()}`;
    return this.#create('client', clientId, by, request, keep, (client, secret) => ({
      ...this.#clientView(client, by),
      clientSecret: secret,
    }));
  }

  /** Ends the key for good; an ended one stays as it is. @throws DomainError NOT_FOUND, UNAUTHORIZED */
  async revokeApiKey(by: Grantor, keyId: string): Promise<ApiKeyView> {
    return this.#apiKeyView(await this.#end('apiKey', by, keyId), by);
  }

  /**
   * Ends the client and its tokens for good; an ended one stays as it is.
   * @throws DomainError NOT_FOUND, UNAUTHORIZED
   */
  async disableClient(by: Grantor, clientId: string): Promise<OauthClientView> {
    return this.#clientView(await this.#end('client', by, clientId), by);
  }

  async #list(kind: CredentialKind, { tenantUuid }: Grantor): Promise<readonly CredentialRecord[]> {
    const credentials = await this.#storeOf(tenantUuid).tenantCredentials(tenantUuid);
    return credentials.filter((credential) => credential.kind === kind).reverse();
  }

  async #create<View extends object>(
    kind: CredentialKind,
    id: string,
    by: Grantor,
    { name, scopes: named, expiresAt }: CredentialRequest,
    keep: Keep,
    viewOf: (credential: CredentialRecord, secret: string) => View,
  ): Promise<View> {
    const { tenantUuid } = by;
    const scopes = SCOPES.filter((scope) => named.includes(scope));
    requireScopes(by, scopes);
    const expiresAtMs = expiresAt == null ? null : fromInstant(expiresAt);
    requireExpiry(by, expiresAtMs, this.#clock.nowMs());
    const secret = generateSecret();
    let created: CredentialRecord | undefined;
    const requireCreated = () => {
      if (created === undefined) throw new Error('the store returned no decision');
      return created;
    };
    const decide = (held: readonly CredentialRecord[]): readonly CredentialChange[] => {
      const now = this.#clock.nowMs();
      requireInForce(held, by, now);
      const others = held.filter((credential) => credential.kind === kind);
      requireRoom(kind, others, name, now);
      created = {
        kind,
        id,
        tenantUuid,
        secretHash: hashSecret(secret),
        scopes,
        expiresAtMs,
        endedAtMs: null,
        name,
        createdAtMs: now,
        createdBy: credentialRef(by),
        endedBy: null,
        lastUsedAtMs: null,
      };
      return [{ type: 'add', credential: created }, ...forgotten(others, now)];
    };
    await this.#change(tenantUuid, decide, () => keep(() => viewOf(requireCreated(), secret)));
    const fields = {
      tenantUuid,
      credential: credentialRef(requireCreated()),
      by: credentialRef(by),
      scopes,
      expiresAt,
    };
    this.#log.info(fields, 'credential created');
    return viewOf(requireCreated(), secret);
  }

  async #end(kind: CredentialKind, by: Grantor, id: string): Promise<CredentialRecord> {
    const { tenantUuid } = by;
    let ended: CredentialRecord | undefined;
    const changes = await this.#change(tenantUuid, (held) => {
      const now = this.#clock.nowMs();
      requireInForce(held, by, now);
      ended = held.find((credential) => credential.kind === kind && credential.id === id);
      if (ended === undefined || !isId(id))
        throw new DomainError('NOT_FOUND', `No such ${NOUNS[kind]}: ${id.slice(0, 128)}`);
      if (ended.endedAtMs !== null) return [];
      ended = { ...ended, endedAtMs: now, endedBy: credentialRef(by) };
      return [{ type: 'end', credential: ended }];
    });
    if (ended === undefined) throw new Error('the store returned no decision');
    if (changes.length > 0)
      this.#log.info(
        { tenantUuid, credential: credentialRef(ended), by: credentialRef(by) },
        kind === 'apiKey' ? 'credential revoked' : 'credential disabled',
      );
    return ended;
  }

  /** A change on disk is in force before its answer leaves. */
  async #change(
    tenantUuid: TenantUuid,
    decide: (held: readonly CredentialRecord[]) => readonly CredentialChange[],
    beside?: () => readonly NewAnswer[],
  ): Promise<readonly CredentialChange[]> {
    const changes = await this.#storeOf(tenantUuid).changeCredentials(tenantUuid, decide, beside);
    for (const change of changes) this.#apply(change);
    return changes;
  }

  #apiKeyView(key: CredentialRecord, by: Grantor): ApiKeyView {
    const state = stateAt(key, this.#clock.nowMs());
    return {
      keyId: key.id,
      ...this.#sharedView(key, by),
      state: state === 'ended' ? 'revoked' : state,
      revokedAt: instantOf(key.endedAtMs),
      revokedBy: key.endedBy,
    };
  }

  #clientView(client: CredentialRecord, by: Grantor): OauthClientView {
    const state = stateAt(client, this.#clock.nowMs());
    return {
      clientId: client.id,
      ...this.#sharedView(client, by),
      state: state === 'ended' ? 'disabled' : state,
      disabledAt: instantOf(client.endedAtMs),
      disabledBy: client.endedBy,
    };
  }

  #sharedView(credential: CredentialRecord, by: Grantor) {
    const { kind, id, name, scopes, createdAtMs, createdBy, expiresAtMs, lastUsedAtMs } = credential;
    const usedAtMs = Math.max(lastUsedAtMs ?? 0, this.#lastUsedAtMs(kind, id) ?? 0);
    return {
      name,
      scopes: [...scopes],
      createdAt: instantOf(createdAtMs),
      createdBy,
      expiresAt: instantOf(expiresAtMs),
      lastUsedAt: instantOf(usedAtMs === 0 ? null : usedAtMs),
      isCaller: kind === by.kind && id === by.id,
    };
  }
}

const OF_CREDENTIALS = { tag: 'credentials', scope: 'credentials:write', isExtension: true } as const;
const API_KEYS_PATH = '/v1/credentials/api-keys';
const CLIENTS_PATH = '/v1/credentials/clients';

/** The node's part for credentials, and the credential of the request. */
export interface CredentialContext {
  readonly credentials: TenantCredentials;
  readonly caller: Grantor;
}

/** Behind a scope of their own. The node answers them, and no actor of the tenant. */
export const CREDENTIAL_ENDPOINTS: readonly Endpoint<CredentialContext>[] = [
  endpoint({
    ...OF_CREDENTIALS,
    operationId: 'listApiKeys',
    method: 'get',
    path: API_KEYS_PATH,
    summary: 'List the API keys, newest first, without their secrets',
    responseSchema: apiKeyListSchema,
    errors: [],
    handle: ({ credentials, caller }: CredentialContext) => credentials.listApiKeys(caller),
  }),
  endpoint({
    ...OF_CREDENTIALS,
    operationId: 'createApiKey',
    method: 'post',
    path: API_KEYS_PATH,
    summary: 'Create an API key; only this answer has it',
    status: 201,
    requestSchema: credentialRequestSchema,
    responseSchema: issuedApiKeySchema,
    errors: [],
    handle: ({ credentials, caller }: CredentialContext, { body, keep }) =>
      credentials.createApiKey(caller, body, keep),
  }),
  endpoint({
    ...OF_CREDENTIALS,
    operationId: 'revokeApiKey',
    method: 'delete',
    path: `${API_KEYS_PATH}/{keyId}`,
    summary: 'Revoke an API key for good, from the next request on',
    responseSchema: apiKeySchema,
    errors: ['NOT_FOUND'],
    handle: ({ credentials, caller }: CredentialContext, { path }) =>
      credentials.revokeApiKey(caller, path.keyId),
  }),
  endpoint({
    ...OF_CREDENTIALS,
    operationId: 'listOauthClients',
    method: 'get',
    path: CLIENTS_PATH,
    summary: 'List the OAuth clients, newest first, without their secrets',
    responseSchema: oauthClientListSchema,
    errors: [],
    handle: ({ credentials, caller }: CredentialContext) => credentials.listClients(caller),
  }),
  endpoint({
    ...OF_CREDENTIALS,
    operationId: 'createOauthClient',
    method: 'post',
    path: CLIENTS_PATH,
    summary: 'Create an OAuth client; only this answer has its secret',
    status: 201,
    requestSchema: credentialRequestSchema,
    responseSchema: issuedOauthClientSchema,
    errors: [],
    handle: ({ credentials, caller }: CredentialContext, { body, keep }) =>
      credentials.createClient(caller, body, keep),
  }),
  endpoint({
    ...OF_CREDENTIALS,
    operationId: 'disableOauthClient',
    method: 'delete',
    path: `${CLIENTS_PATH}/{clientId}`,
    summary: 'Disable an OAuth client and its tokens for good, from the next request on',
    responseSchema: oauthClientSchema,
    errors: ['NOT_FOUND'],
    handle: ({ credentials, caller }: CredentialContext, { path }) =>
      credentials.disableClient(caller, path.clientId),
  }),
];

function instantOf(epochMs: EpochMs | null): string | null {
  return epochMs === null ? null : toInstant(epochMs);
}

function grantableBy({ scopes, expiresAtMs }: Grantor) {
  return {
    grantableScopes: SCOPES.filter((scope) => scopes.includes(scope)),
    latestExpiresAt: instantOf(expiresAtMs),
  };
}

function requireScopes({ scopes: own }: Grantor, scopes: readonly Scope[]): void {
  const lacking = scopes.filter((scope) => !own.includes(scope));
  if (lacking.length > 0)
    throw new DomainError(
      'INSUFFICIENT_SCOPE',
      `The credential lacks ${lacking.join(' and ')}, so it cannot grant it.`,
    );
}

function requireExpiry({ expiresAtMs: own }: Grantor, expiresAtMs: EpochMs | null, now: EpochMs): void {
  if (expiresAtMs !== null && expiresAtMs <= now)
    throw new DomainError('INVALID_REQUEST_BODY', 'expiresAt: must be in the future');
  if (own !== null && (expiresAtMs === null || expiresAtMs > own))
    throw new DomainError(
      'INVALID_REQUEST_BODY',
      `expiresAt: must not be after ${toInstant(own)}, when the credential of this request expires`,
    );
}

/**
 * The request may have waited long for its body, and its credential may have ended meanwhile.
 * @throws DomainError UNAUTHORIZED
 */
function requireInForce(held: readonly CredentialRecord[], by: Grantor, now: EpochMs): void {
  const own = held.find(({ kind, id }) => kind === by.kind && id === by.id);
  if (own === undefined || stateAt(own, now) !== 'active')
    throw new DomainError(
      'UNAUTHORIZED',
      'The credential of this request ended before the answer was ready.',
    );
}

/** A form that is submitted twice has the same name. @throws DomainError INVALID_REQUEST_BODY */
function requireRoom(
  kind: CredentialKind,
  others: readonly CredentialRecord[],
  name: string,
  now: EpochMs,
): void {
  const active = others.filter((credential) => stateAt(credential, now) === 'active');
  const isSame = (other: CredentialRecord) => other.name?.toLowerCase() === name.toLowerCase();
  if (active.some(isSame))
    throw new DomainError(
      'INVALID_REQUEST_BODY',
      `name: another active ${NOUNS[kind]} uses it; choose another name, or end that one first`,
    );
  if (active.length >= ACTIVE_AT_MOST)
    throw new DomainError(
      'INVALID_REQUEST_BODY',
      `body: an organization may have at most ${ACTIVE_AT_MOST} active ${NOUNS[kind]}s; end one first`,
    );
}

/** The credentials that ended longest ago, beyond the number to keep. */
function forgotten(others: readonly CredentialRecord[], now: EpochMs): readonly CredentialChange[] {
  const endMs = ({ endedAtMs, expiresAtMs }: CredentialRecord) => endedAtMs ?? expiresAtMs ?? 0;
  return others
    .filter((credential) => credential.createdBy !== null && stateAt(credential, now) !== 'active')
    .sort((a, b) => endMs(b) - endMs(a))
    .slice(ENDED_KEPT)
    .map((credential) => ({ type: 'forget', credential }));
}
