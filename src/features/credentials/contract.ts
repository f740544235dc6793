// The bodies of `/v1/credentials/…`: administrators list, create and end the API keys and OAuth clients of a tenant.
import { z } from 'zod';
import 'zod-openapi';
import { SCOPES } from '../../../machines/values/scopes.js';
import { mustBe, mustBeText } from '../../wire/plain-errors.js';
import { instantSchema } from '../../wire/rest.js';

const LONGEST_NAME = 100;
export const CREDENTIAL_NAME_RULE = `text of 1 to ${LONGEST_NAME} characters on one line`;
const SCOPE_RULE = `one of ${SCOPES.join(', ')}`;
const SCOPES_RULE = 'a list of at least one scope';

export const credentialNameSchema = z
  .string(mustBe(CREDENTIAL_NAME_RULE))
  .normalize('NFC')
  .trim()
  // Control characters, and characters that reverse or hide adjacent ones.
  .refine(
    (text) => text !== '' && [...text].length <= LONGEST_NAME && !/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(text),
    `must be ${CREDENTIAL_NAME_RULE}`,
  )
  .meta({
    description: 'No other active credential of its kind may have this name.',
    example: 'Fleet back end',
  });

export const credentialRequestSchema = z
  .object({
    name: credentialNameSchema,
    scopes: z
      .array(z.enum(SCOPES, mustBeText(SCOPE_RULE)), mustBe(SCOPES_RULE))
      .min(1, `must be ${SCOPES_RULE}`)
      .max(10 * SCOPES.length, `must be ${SCOPES_RULE}, each once`)
      .meta({ description: 'Only scopes that the credential of the request has itself.' }),
    expiresAt: instantSchema.nullish().meta({
      description: 'In the future, and not after the expiry of the credential of the request. Null: never.',
    }),
  })
  .meta({
    id: 'CredentialRequest',
    examples: [
      { name: 'Fleet back end', scopes: ['locations:read'], expiresAt: '2031-01-01T00:00:00Z' },
      { name: 'Price optimizer', scopes: ['locations:read', 'locations:write'] },
    ],
  });
export type CredentialRequest = z.output<typeof credentialRequestSchema>;

const shared = {
  name: z.string().nullable().meta({ description: 'Null: it has no name.' }),
  scopes: z.array(z.string()),
  createdAt: instantSchema.nullable().meta({ description: 'Null: an older release created it.' }),
  createdBy: z.string().nullable().meta({
    description:
      '`apiKey:{keyId}` or `client:{clientId}`; null for the command line and the provisioning file.',
    example: 'apiKey:a1b2c3d4',
  }),
  expiresAt: instantSchema.nullable().meta({ description: 'Null: never.' }),
  lastUsedAt: instantSchema
    .nullable()
    .meta({ description: 'Null: not yet, or not since the service records it.' }),
  isCaller: z.boolean().meta({ description: 'The credential that this request was sent with.' }),
};

export const apiKeySchema = z
  .object({
    keyId: z.string().meta({ example: 'a1b2c3d4' }),
    ...shared,
    state: z.enum(['active', 'expired', 'revoked']),
    revokedAt: instantSchema.nullable(),
    revokedBy: z.string().nullable(),
  })
  .meta({ id: 'ApiKey' });
export type ApiKeyView = z.output<typeof apiKeySchema>;

export const issuedApiKeySchema = z
  .object({
    ...apiKeySchema.shape,
    apiKey: z.string().meta({ description: 'The key itself. Only this answer has it.' }),
  })
  .meta({ id: 'IssuedApiKey' });
export type IssuedApiKey = z.output<typeof issuedApiKeySchema>;

export const oauthClientSchema = z
  .object({
    clientId: z.string().meta({ example: 'client-a1b2c3d4' }),
    ...shared,
    state: z.enum(['active', 'expired', 'disabled']),
    disabledAt: instantSchema.nullable(),
    disabledBy: z.string().nullable(),
  })
  .meta({ id: 'OauthClient' });
export type OauthClientView = z.output<typeof oauthClientSchema>;

export const issuedOauthClientSchema = z
  .object({
    ...oauthClientSchema.shape,
    clientSecret: z.string().meta({ description: 'The secret itself. Only this answer has it.' }),
  })
  .meta({ id: 'IssuedOauthClient' });
export type IssuedOauthClient = z.output<typeof issuedOauthClientSchema>;

/** The bounds for new credentials, by the credential of the request. */
const grantable = {
  grantableScopes: z.array(z.string()),
  latestExpiresAt: instantSchema.nullable().meta({ description: 'Null: there is no bound.' }),
};

export const apiKeyListSchema = z
  .object({ apiKeys: z.array(apiKeySchema), ...grantable })
  .meta({ id: 'ApiKeyList' });
export type ApiKeyList = z.output<typeof apiKeyListSchema>;

export const oauthClientListSchema = z
  .object({ clients: z.array(oauthClientSchema), ...grantable })
  .meta({ id: 'OauthClientList' });
export type OauthClientList = z.output<typeof oauthClientListSchema>;
