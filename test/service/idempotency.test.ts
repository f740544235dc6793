// Extension: `Idempotency-Key` (draft-ietf-httpapi-idempotency-key-header) makes a repeated POST safe.
import { afterAll, beforeAll, describe } from 'vitest';
import { needing } from '../needs.js';
import type { DatabaseServer } from '../outbound/knex/database-server.js';
import { missingPostgres, startPostgresServer } from '../outbound/knex/postgres-server.js';
import { describeIdempotency } from './idempotency-contract.js';

describe('Idempotency-Key on SQLite', () => describeIdempotency(async () => ({})));

describe('Idempotency-Key on PostgreSQL', needing(missingPostgres()), () => {
  let server: DatabaseServer;
  beforeAll(async () => {
    server = await startPostgresServer();
  });
  afterAll(() => server?.stop());
  describeIdempotency(async () => ({ HEADROOM_DATABASE_URL: await server.createDatabase() }));
});
