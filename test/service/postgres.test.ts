// The main flow once more on PostgreSQL, with a restart; skipped with a reason if its binaries are missing.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createVirtualClock } from '../../sim/virtual-clock.js';
import { clusterDetailSchema, clusterSchema } from '../../src/features/clusters/contract.js';
import {
  clusterScheduleSchema,
  connectorScheduleSchema,
  locationLimitsSchema,
  locationScheduleSchema,
  organizationLimitsSchema,
} from '../../src/features/profiles/contract.js';
import { eventually } from '../eventually.js';
import { needing } from '../needs.js';
import type { DatabaseServer } from '../outbound/knex/database-server.js';
import { missingPostgres, startPostgresServer } from '../outbound/knex/postgres-server.js';
import { bodyOf, refusalOf } from './answers.js';
import { connectCharger } from './charger-client.js';
import { runOperatedService } from './operator-answers.js';
import { describeProfileHistory } from './profile-history-contract.js';
import { HOUR_MS, MINUTE_MS, profileAt } from './profiles.js';
import {
  HARBOUR,
  provision,
  RIVAL,
  type RunningService,
  runService,
  site,
  tenantWith,
} from './running-service.js';

describe('the service on PostgreSQL', needing(missingPostgres()), () => {
  const clock = createVirtualClock(Date.parse('2026-06-01T12:00:00Z'));
  const quays = () => ['quay-1', 'quay-2'].map((id) => site(id));
  let server: DatabaseServer;
  let databaseUrl: string;
  let service: RunningService;
  beforeAll(async () => {
    server = await startPostgresServer();
    databaseUrl = await server.createDatabase();
    const environment = { HEADROOM_DATABASE_URL: databaseUrl };
    service = await runService(
      [tenantWith(HARBOUR, quays()), tenantWith(RIVAL, quays())],
      { clock },
      environment,
    );
  });
  afterAll(async () => {
    await service?.stop();
    await server?.stop();
  });

  async function limitsOf(locationId: string, tenantUuid = HARBOUR) {
    const answer = await service.call('GET', `/locations/${locationId}/limits`, undefined, tenantUuid);
    return bodyOf(answer, locationLimitsSchema);
  }

  it('schedules, caps, measures, and finds it all again after a restart during the windows', async () => {
    const now = clock.nowMs();
    const at = (span: Parameters<typeof profileAt>[1]) => profileAt(now, span);
    const cluster = { name: 'Both', locationIds: ['quay-2', 'quay-1'], limitKw: 24 };
    const { clusterId } = bodyOf(await service.call('POST', '/clusters', cluster), clusterSchema, 201);
    const applied = await service.call(
      'POST',
      `/clusters/${clusterId}/schedules`,
      at({ limitKw: 20.1, priority: 2 }),
    );
    expect(bodyOf(applied, clusterScheduleSchema)).toMatchObject({ applied: [{}, {}], errors: [] });
    const later = at({ startsInMs: MINUTE_MS, endsInMs: HOUR_MS, limitKw: 7, priority: 10 });
    const scheduled = await service.call('POST', '/locations/quay-1/schedules', later);
    expect(bodyOf(scheduled, locationScheduleSchema)).toMatchObject({ effectiveLimitKw: 20.1 });
    const lock = await service.call('POST', '/chargers/quay-1-a/connectors/1/schedules', at({}));
    expect(bodyOf(lock, connectorScheduleSchema)).toMatchObject({ status: 'ACTIVE' });
    await service.call('POST', '/organizations/schedules', at({ limitKw: 400 }));
    await service.call('PUT', '/locations/quay-2/limit', { limitKw: 44 });

    await service.service.stop();
    clock.stall(2 * MINUTE_MS);
    service = await service.restart({ clock });
    expect(await limitsOf('quay-1')).toMatchObject({
      effectiveLimitKw: 7,
      profiles: [
        { priority: 2, limitKw: 20.1, status: 'ACTIVE' },
        { ...later, status: 'ACTIVE' },
      ],
    });
    expect(await limitsOf('quay-2')).toMatchObject({ permanentLimitKw: 44, effectiveLimitKw: 20.1 });
    const organization = bodyOf(await service.call('GET', '/organizations/limits'), organizationLimitsSchema);
    expect(organization.profiles).toMatchObject([{ limitKw: 400 }]);

    const charger = await connectCharger(service.mqttUrl, 'quay-1');
    await charger.meter('1', { powerW: 6900 });
    await eventually(async () => {
      const detail = bodyOf(await service.call('GET', `/clusters/${clusterId}`), clusterDetailSchema);
      expect(detail).toMatchObject({ ...cluster, liveStatus: { actualTotalKw: 6.9, withinLimit: true } });
    });
    await charger.stop();
  });

  it('keeps tenants apart', async () => {
    expect(await limitsOf('quay-1', RIVAL)).toMatchObject({ effectiveLimitKw: 50, profiles: [] });
  });

  it('replaces concurrently in every priority and keeps the last of each', async () => {
    const write = (round: number, priority: number) =>
      service.call(
        'POST',
        '/locations/quay-2/schedules',
        profileAt(clock.nowMs(), { limitKw: round + priority / 100, priority }),
      );
    for (const round of [1, 2, 3]) {
      const answers = await Promise.all(Array.from({ length: 11 }, (_, priority) => write(round, priority)));
      for (const answer of answers) bodyOf(answer, locationScheduleSchema);
    }
    const before = await limitsOf('quay-2');
    expect(before.profiles.map(({ limitKw }) => limitKw)).toEqual(
      Array.from({ length: 11 }, (_, priority) => 3 + priority / 100),
    );
    service = await service.restart({ clock });
    expect(await limitsOf('quay-2')).toEqual(before);
  });

  it('sees sites provisioned beside it, and loses no write of that moment', async () => {
    await provision(service.config, tenantWith(HARBOUR, [...quays(), site('new')]));
    const written = profileAt(clock.nowMs(), { limitKw: 5.5, priority: 4 });
    clock.advance(1000);
    const answers = await Promise.all(
      ['quay-1', 'quay-2'].map((id) => service.call('POST', `/locations/${id}/schedules`, written)),
    );
    for (const answer of answers) bodyOf(answer, locationScheduleSchema);
    await eventually(async () => {
      clock.advance(1000);
      expect(await limitsOf('new')).toMatchObject({ permanentLimitKw: 50 });
    });
    for (const id of ['quay-1', 'quay-2']) {
      expect((await limitsOf(id)).profiles).toContainEqual({ ...written, status: 'ACTIVE' });
    }
  });

  describe('histories', () =>
    describeProfileHistory(async (tenants) =>
      runOperatedService(tenants, { HEADROOM_DATABASE_URL: await server.createDatabase() }),
    ));

  it('answers 503 while the database lets nobody in, goes on reading, and works again after', async () => {
    const before = await limitsOf('quay-1');
    const giveBack = await server.takeAway(databaseUrl);
    const write = () =>
      service.call('POST', '/locations/quay-1/schedules', profileAt(clock.nowMs(), { limitKw: 2 }));
    refusalOf(await write(), 'SERVICE_UNAVAILABLE');
    expect(await limitsOf('quay-1')).toEqual(before);
    await giveBack();
    await eventually(async () => expect((await write()).status).toBe(200));
    expect((await limitsOf('quay-1')).profiles).toContainEqual(expect.objectContaining({ limitKw: 2 }));
  });
});
