// The bodies of `POST /v1/oauth/token` (RFC 6749 section 4.4), errors in the common envelope.
import { z } from 'zod';
import 'zod-openapi';
import { errorEnvelopeSchema } from '../../wire/error-envelope.js';

// RFC 6749 section 3.2: a parameter without a value is treated as if it were left out.
const optionalParameter = z
  .string()
  .optional()
  .transform((text) => (text === '' ? undefined : text));

/** The credential of a client that sends it in the body instead of the Authorization header. */
export const clientCredentialSchema = z.object({
  client_id: optionalParameter,
  client_secret: optionalParameter,
});

export const tokenRequestSchema = z
  .object({
    grant_type: z.literal('client_credentials', { error: 'must be client_credentials' }),
    scope: optionalParameter.meta({
      description: 'Space-separated; narrows the scopes of the client, never widens them.',
      example: 'locations:read locations:write',
    }),
    client_id: optionalParameter.meta({ description: 'Left out if HTTP Basic carries it.' }),
    client_secret: optionalParameter.meta({ description: 'Left out if HTTP Basic carries it.' }),
  })
  .meta({
    id: 'TokenRequest',
    // zod leaves out plain `examples` if a parameter is transformed.
    override: {
      examples: [
        {
          grant_type: 'client_credentials',
          client_id: 'harbour-backend',
          client_secret: 'the secret that was shown once',
          scope: 'locations:read',
        },
      ],
    },
  });

export type TokenRequest = z.output<typeof tokenRequestSchema>;

export const tokenResponseSchema = z
  .object({
    access_token: z.string(),
    token_type: z.literal('Bearer'),
    expires_in: z.number().int().meta({ description: 'Seconds.', example: 3600 }),
    scope: z.string(),
  })
  .meta({ id: 'TokenResponse' });
export type TokenResponse = z.output<typeof tokenResponseSchema>;

export const tokenErrorSchema = z
  .object({ ...errorEnvelopeSchema.shape, error_description: z.string() })
  .meta({ id: 'TokenError' });

/** A message as RFC 6749 section 5.2 allows it: printable ASCII without `"` and `\`. */
export function toErrorDescription(message: string): string {
  return message.replace(/["\\]|[^\x20-\x7e]/g, "'");
}
