// Replaced and cancelled locks, and the organization's former profiles, stay queryable (section 1): on SQLite.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectorHistorySchema, connectorSchedulesSchema } from '../../src/features/profiles/contract.js';
import { at, type OperatedService, runOperatedService } from './operator-answers.js';
import { describeProfileHistory } from './profile-history-contract.js';
import { HARBOUR, provision, site, tenantWith } from './running-service.js';

describe('histories on SQLite', () => describeProfileHistory((tenants) => runOperatedService(tenants)));

describe('a connector that was made inactive', () => {
  let service: OperatedService;
  beforeAll(async () => {
    service = await runOperatedService([tenantWith(HARBOUR, [site('quay-1')])]);
  });
  afterAll(() => service.stop());

  it('keeps its history, which can be read as all of it can (decisions)', async () => {
    const lock = { priority: 1, limitKw: 7, startTime: at('12:00'), endTime: at('13:00') };
    await service.call('POST', '/chargers/quay-1-a/connectors/1/schedules', lock);
    const closed = tenantWith(HARBOUR, [site('quay-1', { connectorStatus: 'INACTIVE' })]);
    const running = await service.restart({ clock: service.clock }, () => provision(service.config, closed));
    const read = async (path: string) =>
      (await running.call('GET', `/chargers/quay-1-a/connectors/1/${path}`)).body;
    const { submissions } = connectorHistorySchema.parse(await read('history'));
    expect(submissions).toMatchObject([{ ...lock, submittedAt: at('12:00'), supersededAt: null }]);
    const { profiles } = connectorSchedulesSchema.parse(await read(`schedules?at=${at('12:30')}`));
    expect(profiles).toEqual([{ ...lock, status: 'ACTIVE' }]);
    await running.service.stop();
  });
});
