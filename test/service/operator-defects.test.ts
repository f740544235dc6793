// Known mistakes of other systems with a grid operator's orders: here orders are shown, passed on unchanged, and limit
// the chargers alone.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { locationLiveSchema } from '../../src/features/live-contract.js';
import { operatorLimitSchema } from '../../src/features/operator-limit/contract.js';
import { hashSecret } from '../../src/secrets.js';
import { eventually } from '../eventually.js';
import { connectOnce } from '../mqtt-client.js';
import { type OperatedService, runOperatedService } from './operator-answers.js';
import { CHARGER_PASSWORD, HARBOUR, site, tenantWith } from './running-service.js';

const PASSWORD = 'only the network operator knows this';

function limited(id: string) {
  return {
    ...site(id),
    operator: {
      operatorUuid: `${id}-dso`,
      mqttSecretHash: hashSecret(PASSWORD),
      failsafeKw: 8,
      failsafeMinMs: 7_200_000,
      missingAfterMs: 120_000,
    },
  };
}

/** The same with a building on the connection. */
function besideBuilding(id: string) {
  const siteMeter = {
    meterUuid: `${id}-meter`,
    mqttSecretHash: hashSecret(PASSWORD),
    covers: 'building' as const,
    maxBuildingKw: 75,
    reserveKw: [2, 5] as const,
    pvRaisesHeadroom: false,
  };
  return { ...limited(id), siteMeter };
}

let service: OperatedService;
beforeAll(async () => {
  const locations = [limited('shown'), limited('dimmed'), besideBuilding('sauna')];
  service = await runOperatedService([tenantWith(HARBOUR, locations)]);
});
afterAll(() => service.stop());

const live = (id: string) => service.read(`/locations/${id}/live`, locationLiveSchema);

async function order(id: string, limitKw: number) {
  const sentAt = new Date(service.clock.nowMs()).toISOString();
  const body = { source: 'DSO box 17', isActive: true, limitKw, sentAt };
  expect((await service.call('PUT', `/locations/${id}/operator-limit`, body)).status).toBe(200);
}

describe('An order of the grid operator', () => {
  it('is answered to every caller for as long as it holds, and its status is never empty', async () => {
    await order('shown', 8.4);
    expect(await service.read('/locations/shown/operator-limit', operatorLimitSchema)).toMatchObject({
      state: 'LIMITED',
      limitKw: 8.4,
    });
    expect(await live('shown')).toMatchObject({
      gridLimitKw: 8.4,
      gridLimitCause: { kind: 'operatorLimit' },
      operatorLimit: { state: 'LIMITED', limitKw: 8.4, source: 'DSO box 17' },
    });
    const { values } = await service.metrics.operatorLimits.get();
    const limited = values.find(({ labels }) => labels.state === 'limited');
    expect(limited?.value).toBeGreaterThan(0);
    const { body } = await service.call('GET', '/locations');
    expect(JSON.stringify(body)).toContain('"gridLimitKw":8.4');
  });

  it('reaches the chargers as the power that it names, and not as a switch', async () => {
    await order('dimmed', 13);
    const charger = await connectOnce(service.mqttUrl, {
      clientId: 'dimmed-a',
      username: `${HARBOUR}/dimmed-a`,
      password: CHARGER_PASSWORD,
      protocolVersion: 4 as const,
      keepalive: 30,
    });
    const topic = `ems/v1/${HARBOUR}/dimmed/dimmed-a/c/1/meter`;
    let hb = 0;
    await eventually(async () => {
      service.clock.advance(200);
      const value = { v: 1, boot: 'b', hb: ++hb, status: 'Charging', powerW: 4_000 };
      await charger.publishAsync(topic, JSON.stringify(value));
      const [connector] = (await live('dimmed')).connectors;
      expect(connector?.limitA).toBeGreaterThanOrEqual(6);
    });
    expect((await live('dimmed')).connectors[0]?.limitKw).toBeLessThanOrEqual(13);
    await charger.endAsync(true);
  });

  it('limits the chargers and no other load of the connection', async () => {
    await order('sauna', 10.5);
    const sentAt = new Date(service.clock.nowMs()).toISOString();
    await service.call('PUT', '/locations/sauna/site-meter', { at: sentAt, powerW: 9_000 });
    expect(await live('sauna')).toMatchObject({
      gridLimitKw: 10.5,
      gridLimitCause: { kind: 'operatorLimit' },
    });
    // A lower limit by the connection counts.
    const later = new Date(service.clock.nowMs() + 1).toISOString();
    await service.call('PUT', '/locations/sauna/site-meter', { at: later, powerW: 70_000 });
    expect(await live('sauna')).toMatchObject({ gridLimitKw: 5, gridLimitCause: { kind: 'building' } });
  });
});
