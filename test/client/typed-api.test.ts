import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { clientTypes, TYPES_FILE } from './typed-api.js';

it('The types of the client follow the OpenAPI document; `npm run client:types` updates them', async () => {
  expect(readFileSync(TYPES_FILE, 'utf8')).toBe(await clientTypes());
});
