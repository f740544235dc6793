// A charger between its two connections: how often the gateway looks after it while one of them is missing.
import { expect, it } from 'vitest';
import { createVirtualClock } from '../../sim/virtual-clock.js';
import { bridgesOf, speaking } from '../../src/gateway/bridged-chargers.js';
import { openGatewayMemory } from '../../src/gateway/gateway-memory.js';
import { createGatewayMetrics } from '../../src/gateway/gateway-metrics.js';
import type { LastWill } from '../../src/gateway/uplink.js';
import { parseProvisioning } from '../../src/provisioning/parse-provisioning.js';
import { silentLog } from '../service/running-service.js';

const FILE = {
  tenants: [
    {
      tenantUuid: '0b6cf0c4-6d0f-4e0e-9f0a-5f6c3b1d2a10',
      name: 'Harbour',
      features: ['energy-management'],
      apiKeys: [{}],
      locations: [
        {
          locationId: 'quay',
          name: 'quay',
          status: 'ACTIVE',
          permanentLimitKw: 50,
          chargers: [
            {
              controllerUuid: 'quay-a',
              connectors: [{ connectorId: '1', phases: 3, voltageV: 230, maxCurrentA: 32, status: 'ACTIVE' }],
            },
          ],
        },
      ],
    },
  ],
};

/** A charger that never answers, and how many timers the gateway sets for it. */
function bridged(heartbeatMs: number) {
  const clock = createVirtualClock(Date.parse('2026-06-01T00:00:00Z'));
  const set = { timers: 0 };
  const counted = {
    ...clock,
    nowMs: () => clock.nowMs(),
    monotonicMs: () => clock.monotonicMs(),
    after: (delayMs: number, callback: () => void) => {
      set.timers++;
      return clock.after(delayMs, callback);
    },
  };
  let boots = 0;
  const { tenants } = parseProvisioning(JSON.stringify(FILE), 'charger-bridge');
  const [bridge] = bridgesOf(
    { tenants },
    {
      heartbeatMs,
      clock: counted,
      log: silentLog,
      memory: openGatewayMemory(undefined),
      metrics: createGatewayMetrics({ processMetrics: false }),
      newBoot: () => `boot-${++boots}`,
    },
  );
  if (bridge === undefined) throw new Error('the charger was left out');
  const dialect = speaking('ocpp1.6', bridge, { clock: counted, log: silentLog, idTags: { kind: 'all' } });
  const said: string[] = [];
  const wills: unknown[] = [];
  const uplink = {
    isListening: false,
    attach: async () => {},
    detach: () => {},
    setWill: ({ body }: LastWill) => void wills.push(body),
    publish: (topic: string) => void said.push(topic),
  };
  const socket = { dialect, call: () => new Promise(() => {}), close() {} };
  return { bridge, dialect, uplink, socket, said, wills, set, clock };
}

it('is left alone while the service cannot hear it, whatever it has to say, and speaks as soon as that listens', async () => {
  const { bridge, dialect, uplink, socket, said, set, clock } = bridged(10_000);
  await bridge.open(socket, uplink);
  for (let seconds = 0; seconds < 60; seconds += 5) {
    const status = seconds % 10 === 0 ? 'Available' : 'Preparing';
    dialect.heard('StatusNotification', { connectorId: 1, status, errorCode: 'NoError' });
    clock.advance(5_000);
  }
  expect(set.timers).toBeLessThan(60);
  expect(said).toEqual([]);
  uplink.isListening = true;
  bridge.listening();
  expect(said.map((topic) => topic.split('/').at(-1))).toEqual(['state', 'meter']);
});

it('is looked after once a heartbeat where that is long and nothing is due', async () => {
  const { bridge, uplink, socket, set, clock } = bridged(30_000);
  await bridge.open(socket, uplink);
  set.timers = 0;
  clock.advance(600_000);
  expect(set.timers).toBe(20);
});

it('has its start of now in its last will, as soon as it has started', async () => {
  const { bridge, dialect, uplink, socket, wills, clock } = bridged(30_000);
  const started = { chargePointVendor: 'Maker', chargePointModel: 'Model' };
  const answer = { status: 'Accepted', currentTime: '2026-06-01T00:00:00Z', interval: 900 };
  await bridge.open(socket, uplink);
  for (let start = 0; start < 2; start++) {
    dialect.heard('BootNotification', started);
    dialect.answered('BootNotification', started, answer);
    clock.advance(1_000);
  }
  expect(wills).toEqual(['boot-1', 'boot-2', 'boot-3'].map((boot) => ({ v: 1, online: false, boot })));
});
