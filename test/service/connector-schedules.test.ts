// Endpoint 1: a connector's profile is a lock, replaced per priority, from the beginning to the end of its window.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectorScheduleSchema, locationLimitsSchema } from '../../src/features/profiles/contract.js';
import { bodyOf, refusalOf } from './answers.js';
import { recordEffects } from './effects.js';
import { HOUR_MS, MINUTE_MS, profile, profileWithoutPriority } from './profiles.js';
import { HARBOUR, type RunningService, runService, site, tenantWith } from './running-service.js';

const effects = recordEffects();
let service: RunningService;
beforeAll(async () => {
  service = await runService(
    [
      tenantWith(HARBOUR, [
        site('quay-1'),
        site('quay-2'),
        site('closed', { status: 'INACTIVE' }),
        site('broken', { connectorStatus: 'INACTIVE' }),
      ]),
    ],
    { log: effects.log },
  );
});
afterAll(() => service.stop());

function pathOf(controllerUuid: string, connectorId = '1'): string {
  return `/chargers/${controllerUuid}/connectors/${connectorId}/schedules`;
}

async function submit(connectorId: string, request: object) {
  const answer = await service.call('POST', pathOf('quay-1-a', connectorId), request);
  return bodyOf(answer, connectorScheduleSchema);
}

describe('1 POST /chargers/{controllerUuid}/connectors/{connectorId}/schedules', () => {
  it('answers with the connector and its profile, without a priority (2.6)', async () => {
    const request = profileWithoutPriority({ limitKw: 7.4 });
    const { startTime, endTime } = request;
    expect(await submit('2', request)).toEqual({
      controllerUuid: 'quay-1-a',
      connectorId: '2',
      limitKw: 7.4,
      startTime,
      endTime,
      status: 'ACTIVE',
    });
  });

  it('is SCHEDULED while its window is to come (3.1)', async () => {
    const answer = await submit('2', profile({ startsInMs: MINUTE_MS, priority: 9 }));
    expect(answer).toMatchObject({ status: 'SCHEDULED' });
  });

  it('leaves the limits of the location alone (1)', async () => {
    await submit('1', profile({ limitKw: 3 }));
    const limits = bodyOf(await service.call('GET', '/locations/quay-1/limits'), locationLimitsSchema);
    expect(limits).toMatchObject({ effectiveLimitKw: 50, profiles: [] });
  });

  it('locks the connector at the highest active priority, and unlocks it when none is left (1, 3.1)', async () => {
    const key = 'quay-2-a/1';
    const submitHere = (request: object) => service.call('POST', pathOf('quay-2-a'), request);
    const later = { startsInMs: HOUR_MS, endsInMs: 2 * HOUR_MS };
    effects.clear();
    await submitHere(profile({ limitKw: 20, priority: 3 }));
    await submitHere(profile({ limitKw: 9, priority: 1 }));
    await submitHere(profile({ ...later, priority: 1 }));
    expect(effects.of('connector.locked')).toEqual([
      { locationId: 'quay-2', type: 'connector.locked', key, limitKw: 20 },
    ]);
    expect(effects.of('connector.unlocked')).toEqual([]);
    await submitHere(profile({ ...later, priority: 3 }));
    expect(effects.of('connector.unlocked')).toEqual([
      { locationId: 'quay-2', type: 'connector.unlocked', key },
    ]);
  });

  it('has no charger or connector that does not exist: 404 CHARGER_NOT_FOUND', async () => {
    for (const path of [pathOf('nobody'), pathOf('quay-1-a', '3'), pathOf('quay-1', '1')]) {
      refusalOf(await service.call('POST', path, profile()), 'CHARGER_NOT_FOUND');
    }
  });

  it('refuses an inactive connector, and one at an inactive location: 400 TARGET_INACTIVE', async () => {
    for (const controllerUuid of ['broken-a', 'closed-a']) {
      refusalOf(await service.call('POST', pathOf(controllerUuid), profile()), 'TARGET_INACTIVE');
    }
  });

  it('refuses the body before it looks for the connector (decisions)', async () => {
    for (const controllerUuid of ['nobody', 'broken-a', 'closed-a']) {
      const answer = await service.call('POST', pathOf(controllerUuid), profile({ limitKw: -1 }));
      refusalOf(answer, 'INVALID_REQUEST_BODY');
    }
  });

  it('stands over a restart (3.1)', async () => {
    await submit('1', profile({ limitKw: 22, priority: 10 }));
    service = await service.restart({ log: effects.log });
    effects.clear();
    await submit('1', profile({ startsInMs: HOUR_MS, endsInMs: 2 * HOUR_MS, priority: 10 }));
    // The connector falls back to the profile below the replaced one, from before the restart: still locked, at 3 kW.
    expect(effects.of('connector.unlocked')).toEqual([]);
    await submit('1', profile({ startsInMs: HOUR_MS, endsInMs: 2 * HOUR_MS }));
    expect(effects.of('connector.unlocked')).toHaveLength(1);
  });
});
