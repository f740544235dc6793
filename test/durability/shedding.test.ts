// More writes than the journal takes. The service refuses some with a time to retry, and all others are on disk.

import { expect, it, onTestFinished } from 'vitest';
import type { LocationId } from '../../machines/values/ids.js';
import { databaseUrlOf } from '../../src/config.js';
import { readPermanentLimits } from '../../src/features/profiles/rows.js';
import { HARBOUR, runService, site, tenantWith } from '../service/running-service.js';
import { withRows } from './observed.js';

it('a full journal answers 503 SERVICE_UNAVAILABLE with Retry-After, and writes nothing of the refused requests', async () => {
  const service = await runService([tenantWith(HARBOUR, [site('quay-1', { permanentLimitKw: 0.5 })])], {
    journal: { maxBatch: 2, maxPending: 4 },
  });
  onTestFinished(() => service.stop());
  const limits = Array.from({ length: 200 }, (_, i) => i + 1);
  const answers = await Promise.all(
    limits.map(async (limitKw) => ({
      limitKw,
      ...(await service.call('PUT', '/locations/quay-1/limit', { limitKw })),
    })),
  );
  const written = answers.filter(({ status }) => status === 200).map(({ limitKw }) => limitKw);
  const refused = answers.filter(({ status }) => status !== 200);
  expect(written.length).toBeGreaterThan(0);
  expect(refused.length).toBeGreaterThan(0);
  for (const { status, headers, body } of refused) {
    expect({ status, body }).toMatchObject({ status: 503, body: { error: { code: 'SERVICE_UNAVAILABLE' } } });
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
  }
  const history = await withRows(databaseUrlOf(service.config), (store) =>
    store.read((trx) => readPermanentLimits(trx, HARBOUR, 'quay-1' as LocationId)),
  );
  expect(history.map(({ limitKw }) => limitKw).sort((a, b) => a - b)).toEqual([0.5, ...written]);
  const { body } = await service.call('GET', '/locations/quay-1/limits');
  expect(body).toMatchObject({ permanentLimitKw: history.at(-1)?.limitKw });
});
