// A virtual OCPP charger without a socket: when it has something to do next.
import { expect, it } from 'vitest';
import type { ConnectorId } from '../../../machines/values/ids.js';
import { OcppDevice } from '../../../sim/charger/ocpp-device.js';
import { EVERYDAY } from '../../../sim/charger/traffic.js';

const NOBODY = { ...EVERYDAY, firstArrivalS: [86_400, 86_400] as const };

it('waits for the answer to its BootNotification without anything to do, and tries again when none came', () => {
  const device = new OcppDevice({
    controllerUuid: 'quay-a',
    connectors: [
      {
        connectorId: '1' as ConnectorId,
        evse: 1,
        phases: 3,
        voltageV: 230,
        maxCurrentA: 32,
        failsafeA: 6,
      },
    ],
    visitors: NOBODY,
    seed: 1,
    startsAtMs: 0,
    ownMs: Date.parse('2026-06-01T00:00:00Z'),
    isInstalled: false,
  });
  device.connected(0);
  expect(device.nextDueMs(0)).toBe(0);
  expect(device.takeCall(0)?.[0]).toBe('BootNotification');
  expect(device.nextDueMs(10)).toBe(30_000);
  device.advance(30_000);
  expect(device.takeCall(device.nextDueMs(30_000))?.[0]).toBe('BootNotification');
});
