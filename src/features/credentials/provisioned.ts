// The credentials of a tenant in the provisioning file: API keys, OAuth clients, and gateways with their login.
import { z } from 'zod';
import type { ControllerUuid } from '../../../machines/values/ids.js';
import { SCOPES, USUAL_SCOPES } from '../../../machines/values/scopes.js';
import {
  CHOSEN_SECRET_RULE,
  GROUP_RULE,
  idSchema,
  isChosenSecretFit,
  listSchema,
  secretSchema,
} from '../../provisioning/field-schemas.js';
import { parseApiKey } from '../../secrets.js';
import { fromInstant } from '../../wire/instants.js';
import { instantSchema } from '../../wire/rest.js';

const KEY_RULE = 'must be hr_<8 characters>_<16 to 128 characters>, all of A-Z a-z 0-9';
const KEY_SECRET_RULE = `after hr_<8 characters>_ it ${CHOSEN_SECRET_RULE}; leave the key out to have one made`;

const scopesSchema = listSchema(z.enum(SCOPES, `must be one of ${SCOPES.join(', ')}`)).default([
  ...USUAL_SCOPES,
]);

function isKeyFit(text: string): boolean {
  const key = parseApiKey(text);
  return key === undefined || isChosenSecretFit(key.secret);
}

const apiKeySchema = z.strictObject(
  {
    key: z
      .string(KEY_RULE)
      .refine((text) => parseApiKey(text) !== undefined, KEY_RULE)
      .refine(isKeyFit, KEY_SECRET_RULE)
      .optional(),
    scopes: scopesSchema,
    expiresAt: instantSchema.transform(fromInstant).optional(),
  },
  GROUP_RULE,
);

const clientSchema = z.strictObject(
  { clientId: idSchema<string>(), clientSecret: secretSchema().optional(), scopes: scopesSchema },
  GROUP_RULE,
);

const gatewaySchema = z.strictObject(
  {
    gatewayId: idSchema<string>(),
    mqttPassword: secretSchema().optional(),
    controllers: listSchema(idSchema<ControllerUuid>()).min(1, 'must name at least one charger'),
  },
  GROUP_RULE,
);

export const provisionedCredentials = {
  apiKeys: listSchema(apiKeySchema).default([]),
  clients: listSchema(clientSchema).default([]),
  gateways: listSchema(gatewaySchema).default([]),
};
