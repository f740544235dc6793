// A virtual OCPP charger without a socket: when it has something to do next, and what it says again.
import { expect, it } from 'vitest';
import type { ConnectorId } from '../../../machines/values/ids.js';
import { OcppDevice, type OcppDeviceOptions } from '../../../sim/charger/ocpp-device.js';
import { OCPP_PROTOCOLS } from '../../../sim/charger/ocpp-traits.js';
import type { Words } from '../../../sim/charger/ocpp-words.js';
import { EVERYDAY } from '../../../sim/charger/traffic.js';

const NOBODY = { ...EVERYDAY, firstArrivalS: [86_400, 86_400] as const };

const AT_ONCE = { ...EVERYDAY, firstArrivalS: [1, 1] as const };

function createDevice(options: Pick<OcppDeviceOptions, 'visitors' | 'traits'>): OcppDevice {
  return new OcppDevice({
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
    seed: 1,
    startsAtMs: 0,
    ownMs: Date.parse('2026-06-01T00:00:00Z'),
    isInstalled: false,
    ...options,
  });
}

it('waits for the answer to its BootNotification without anything to do, and tries again when none came', () => {
  const device = createDevice({ visitors: NOBODY });
  device.connected(0);
  expect(device.nextDueMs(0)).toBe(0);
  expect(device.takeCall(0)?.[0]).toBe('BootNotification');
  expect(device.nextDueMs(10)).toBe(30_000);
  device.advance(30_000);
  expect(device.takeCall(device.nextDueMs(30_000))?.[0]).toBe('BootNotification');
});

it.each(OCPP_PROTOCOLS)(
  'goes on with a transaction over a start, and says what begins it until that is answered: %s',
  (protocol) => {
    const traits = { protocol, behaviours: ['resumes-transactions'] as const };
    const device = createDevice({ visitors: AT_ONCE, traits });
    device.connected(0);
    const begins = saidUntil(device, isBeginning, 10_000);
    device.restart(20_000);
    device.connected(21_000);
    expect(saidUntil(device, isBeginning, 22_000)).toEqual(begins);
    device.answered({ transactionId: 7 }, 23_000);
    expect(saidUntil(device, isMetering, 24_000)).toBeDefined();
  },
);

/** The call that `isAwaited`, without an answer so far; those before it are answered. Undefined where it has no more to say. */
function saidUntil(
  device: OcppDevice,
  isAwaited: (call: Words) => boolean,
  nowMs: number,
): Words | undefined {
  device.advance(nowMs);
  for (;;) {
    const call = device.takeCall(nowMs);
    if (call === undefined || isAwaited(call)) return call;
    device.answered({ status: 'Accepted', currentTime: '2026-06-01T00:00:00Z', interval: 900 }, nowMs);
  }
}

function isBeginning([method, params]: Words): boolean {
  return method === 'StartTransaction' || ('eventType' in params && params.eventType === 'Started');
}

function isMetering([method, params]: Words): boolean {
  return method === 'MeterValues' || ('eventType' in params && params.eventType === 'Updated');
}
