// The enforced limit of a location: the smallest of its own limit, its share in each ACTIVE cluster, and its
// connection.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { clusterSchema } from '../../src/features/clusters/contract.js';
import { bodyOf } from './answers.js';
import { recordEffects } from './effects.js';
import { profile } from './profiles.js';
import { HARBOUR, type RunningService, runService, site, tenantWith } from './running-service.js';

const effects = recordEffects();
let service: RunningService;
beforeAll(async () => {
  // Each has a physical connection of 80 kW.
  const sites = ['own', 'shared', 'other', 'wide', 'moving'].map((id) => site(id, { permanentLimitKw: 50 }));
  service = await runService([tenantWith(HARBOUR, sites)], { log: effects.log });
});
afterAll(() => service.stop());
beforeEach(() => effects.clear());

async function create(locationIds: readonly string[], limitKw: number): Promise<string> {
  const answer = await service.call('POST', '/clusters', { name: 'A cluster', locationIds, limitKw });
  return bodyOf(answer, clusterSchema, 201).clusterId;
}

/** The limits in kW that came into force at the location since the beginning of the test, in order. */
function enforcedAt(locationId: string): readonly unknown[] {
  const changes = effects.of('limitInForce.changed').filter((effect) => effect.locationId === locationId);
  return changes.map(({ limitKw }) => limitKw);
}

describe('the limit in force', () => {
  it('is never above the physical connection, at any limits (decisions)', async () => {
    await service.call('POST', '/locations/own/schedules', profile({ limitKw: 70 }));
    await service.call('POST', '/locations/own/schedules', profile({ limitKw: 200, priority: 1 }));
    await service.call('PUT', '/locations/own/limit', { limitKw: 300 });
    expect(enforcedAt('own')).toEqual([70, 80]);
  });

  it('is the smallest share of a location in several clusters, as clusters come, change and go', async () => {
    const half = await create(['shared'], 25);
    const tenth = await create(['shared', 'other'], 10);
    await service.call('PATCH', `/clusters/${tenth}`, { limitKw: 60 });
    await service.call('PATCH', `/clusters/${half}`, { status: 'INACTIVE' });
    await service.call('PATCH', `/clusters/${half}`, { status: 'ACTIVE' });
    await service.call('PATCH', `/clusters/${half}`, { limitKw: null });
    await service.call('DELETE', `/clusters/${tenth}`);
    // The two chargers of either location may fall back to 9.108 kW by themselves, so 0.892 kW of the 10 remain.
    expect(enforcedAt('shared')).toEqual([25, 0.892, 25, 30, 25, 30, 50]);
    expect(enforcedAt('other')).toEqual([0.892, 30, 50]);
  });

  it('follows a location that leaves a cluster or joins another', async () => {
    const first = await create(['moving', 'wide'], 20);
    const second = await create(['wide'], 40);
    await service.call('PATCH', `/clusters/${second}`, { locationIds: ['wide', 'moving'] });
    await service.call('DELETE', `/clusters/${first}/locations/moving`);
    await service.call('DELETE', `/clusters/${second}/locations/moving`);
    expect(enforcedAt('moving')).toEqual([10, 20, 50]);
    expect(enforcedAt('wide').at(-1)).toBe(20);
  });

  it('is shared anew after a restart as before it', async () => {
    service = await service.restart({ log: effects.log });
    effects.clear();
    await service.call('PUT', '/locations/moving/limit', { limitKw: 30 });
    await service.call('PUT', '/locations/wide/limit', { limitKw: 15 });
    expect(enforcedAt('moving')).toEqual([30]);
    expect(enforcedAt('wide')).toEqual([15]);
  });
});
