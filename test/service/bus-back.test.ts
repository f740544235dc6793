// A bus that was away and kept no states of chargers: the service requests them again.
import { expect, it } from 'vitest';
import type { MessageBus } from '../../src/ports/telemetry.js';
import { HARBOUR, runService, site, tenantWith } from './running-service.js';

it('asks every charger to report when the bus is back', async () => {
  const published: string[] = [];
  let tellBack = () => {};
  const bus: MessageBus = {
    async start(_onMessage, onBack = () => {}) {
      tellBack = onBack;
      return { url: 'nats://127.0.0.1' };
    },
    publish: (topic) => void published.push(topic),
    isHealthy: () => true,
    stop: async () => {},
  };
  const sites = [site('quay-1'), site('quay-2')];
  const running = await runService([tenantWith(HARBOUR, sites)], { wrapBus: () => bus });
  const syncs = ['quay-1', 'quay-2'].map((id) => `ems/v1/${HARBOUR}/${id}/${id}-a/sync`);
  expect(published.splice(0).sort()).toEqual(syncs);
  tellBack();
  expect(published.sort()).toEqual(syncs);
  await running.stop();
});
