// Extension endpoints that list, create and end API keys and OAuth clients, behind a scope of their own.
import {
  apiKeyListSchema,
  apiKeySchema,
  credentialRequestSchema,
  issuedApiKeySchema,
  issuedOauthClientSchema,
  oauthClientListSchema,
  oauthClientSchema,
} from '../../wire/credentials.js';
import { type Endpoint, withBody, withoutBody } from './endpoint.js';

const API_KEYS_PATH = '/v1/credentials/api-keys';
const CLIENTS_PATH = '/v1/credentials/clients';

const OF_CREDENTIALS = { tag: 'credentials', scope: 'credentials:write', isExtension: true } as const;

export const CREDENTIAL_ENDPOINTS: readonly Endpoint[] = [
  withoutBody(
    {
      ...OF_CREDENTIALS,
      operationId: 'listApiKeys',
      method: 'get',
      path: API_KEYS_PATH,
      summary: 'List the API keys, newest first, without their secrets',
      responseSchema: apiKeyListSchema,
      errors: [],
    },
    ({ credentials, caller }) => credentials.listApiKeys(caller),
  ),
  withBody(
    {
      ...OF_CREDENTIALS,
      operationId: 'createApiKey',
      method: 'post',
      path: API_KEYS_PATH,
      summary: 'Create an API key; only this answer has it',
      status: 201,
      responseSchema: issuedApiKeySchema,
      errors: [],
    },
    credentialRequestSchema,
    ({ credentials, caller }, request) => credentials.createApiKey(caller, request),
  ),
  withoutBody(
    {
      ...OF_CREDENTIALS,
      operationId: 'revokeApiKey',
      method: 'delete',
      path: `${API_KEYS_PATH}/{keyId}`,
      summary: 'Revoke an API key for good, from the next request on',
      responseSchema: apiKeySchema,
      errors: ['NOT_FOUND'],
    },
    ({ credentials, caller, param }) => credentials.revokeApiKey(caller, param('keyId')),
  ),
  withoutBody(
    {
      ...OF_CREDENTIALS,
      operationId: 'listOauthClients',
      method: 'get',
      path: CLIENTS_PATH,
      summary: 'List the OAuth clients, newest first, without their secrets',
      responseSchema: oauthClientListSchema,
      errors: [],
    },
    ({ credentials, caller }) => credentials.listClients(caller),
  ),
  withBody(
    {
      ...OF_CREDENTIALS,
      operationId: 'createOauthClient',
      method: 'post',
      path: CLIENTS_PATH,
      summary: 'Create an OAuth client; only this answer has its secret',
      status: 201,
      responseSchema: issuedOauthClientSchema,
      errors: [],
    },
    credentialRequestSchema,
    ({ credentials, caller }, request) => credentials.createClient(caller, request),
  ),
  withoutBody(
    {
      ...OF_CREDENTIALS,
      operationId: 'disableOauthClient',
      method: 'delete',
      path: `${CLIENTS_PATH}/{clientId}`,
      summary: 'Disable an OAuth client and its tokens for good, from the next request on',
      responseSchema: oauthClientSchema,
      errors: ['NOT_FOUND'],
    },
    ({ credentials, caller, param }) => credentials.disableClient(caller, param('clientId')),
  ),
];
