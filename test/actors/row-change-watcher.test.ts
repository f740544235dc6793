// The row change watcher reads each changed tenant once a look, however often that tenant changes in between.
import { expect, it } from 'vitest';
import type { TenantUuid } from '../../machines/values/ids.js';
import { createVirtualClock } from '../../sim/virtual-clock.js';
import { RowChangeWatcher } from '../../src/actors/row-change-watcher.js';
import type { TenantState } from '../../src/ports/records.js';
import type { Store } from '../../src/ports/store.js';

const HARBOUR = '0b6cf0c4-6d0f-4e0e-9f0a-5f6c3b1d2a10' as TenantUuid;
const NOTHING: TenantState = {
  locations: [],
  clusters: [],
  profiles: [],
  reservations: [],
  openAlarms: [],
  operatorEvents: [],
  sessionNeeds: [],
  billedWindows: [],
  offlineChargers: [],
  alarmMutes: [],
};

const store = {
  isOwner: async () => true,
  revisionSince: async () => ({ revision: 1, tenants: [], credentialsChanged: false }),
  loadCredentials: async () => ({
    tenants: [{ tenantUuid: HARBOUR, name: 'Harbour', features: [] }],
    credentials: [],
    mqttLogins: [],
  }),
  loadTenant: async () => NOTHING,
} satisfies Partial<Store>;

it('reads a tenant whose rows make an actor fail again at the next look, not at once and for ever', async () => {
  const clock = createVirtualClock(0);
  let readings = 0;
  const log = { debug() {}, info() {}, warn() {}, error() {} };
  const follower = new RowChangeWatcher({ clock, store, log });
  await follower.start({
    onTakenOver() {},
    onCredentials() {},
    onTenant(tenantUuid) {
      readings++;
      // The actors ask for this if one fails while it is built. A hundred times are enough for the test.
      if (readings < 100) follower.readAgain(tenantUuid);
    },
  });
  expect(readings).toBe(1);
  clock.advance(1_000);
  await follower.stop();
  expect(readings).toBe(2);
});
