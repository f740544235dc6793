// A virtual OCPP charger without a socket: its due instants, and the calls that it repeats.
import { expect, it } from 'vitest';
import type { TransactionRef } from '../../../machines/session/gateway-request.js';
import type { ConnectorId } from '../../../machines/values/ids.js';
import { OcppDevice, type OcppDeviceOptions } from '../../../sim/charger/ocpp-device.js';
import type { Words } from '../../../sim/charger/ocpp-words.js';
import { EVERYDAY } from '../../../sim/charger/traffic.js';
import { OCPP_PROTOCOLS, type OcppProtocol } from '../../../sim/charger/traits.js';

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

it('waits idle for the answer to its BootNotification, and retries without one', () => {
  const device = createDevice({ visitors: NOBODY });
  device.connected(0);
  expect(device.nextDueMs(0)).toBe(0);
  expect(device.takeCall(0)?.[0]).toBe('BootNotification');
  expect(device.nextDueMs(10)).toBe(30_000);
  device.advance(30_000);
  expect(device.takeCall(device.nextDueMs(30_000))?.[0]).toBe('BootNotification');
});

it.each(OCPP_PROTOCOLS)(
  'continues a transaction after a restart, and repeats its start until that is answered: %s',
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

it.each(OCPP_PROTOCOLS)('refuses a profile of an ended transaction while another runs: %s', (protocol) => {
  const device = createDevice({ visitors: AT_ONCE, traits: { protocol } });
  device.connected(0);
  const first = beginsWith(device, 7, 10_000);
  expect(told(device, profileOf(protocol, first), 11_000)).toBe('Accepted');
  // The restart ended the old transaction, and the new one is not reported yet.
  device.restart(20_000);
  device.connected(21_000);
  expect(told(device, profileOf(protocol, first), 21_500)).toBe('Rejected');
  const second = beginsWith(device, 8, 22_000);
  expect(told(device, profileOf(protocol, first), 23_000)).toBe('Rejected');
  expect(told(device, profileOf(protocol, second), 23_000)).toBe('Accepted');
});

it.each(['ocpp2.0.1', 'ocpp2.1'] as const)(
  'accepts a profile of a transaction that it has named before its start is answered: %s',
  (protocol) => {
    const device = createDevice({ visitors: AT_ONCE, traits: { protocol } });
    device.connected(0);
    const named = nameIn(saidUntil(device, isBeginning, 10_000));
    expect(told(device, profileOf(protocol, named), 10_000)).toBe('Accepted');
  },
);

/** Begins the next transaction. @returns its id: the charger's own, or `answered` */
function beginsWith(device: OcppDevice, answered: number, nowMs: number): TransactionRef {
  const named = nameIn(saidUntil(device, isBeginning, nowMs));
  device.answered({ transactionId: answered }, nowMs);
  return named ?? answered;
}

function nameIn(call: Words | undefined): TransactionRef | undefined {
  const params = call?.[1] as { transactionInfo?: { transactionId: string } } | undefined;
  return params?.transactionInfo?.transactionId;
}

/** Status of the charger's answer to a profile. */
function told(device: OcppDevice, profile: object, nowMs: number): unknown {
  return device.answer('SetChargingProfile', profile, nowMs).status;
}

function profileOf(protocol: OcppProtocol, transactionId: TransactionRef | undefined): object {
  const chargingSchedule = {
    startSchedule: '2026-06-01T00:00:00Z',
    chargingRateUnit: 'A',
    chargingSchedulePeriod: [{ startPeriod: 0, limit: 16 }],
  };
  const profile = { stackLevel: 8, chargingProfilePurpose: 'TxProfile', transactionId };
  if (protocol === 'ocpp1.6')
    return { connectorId: 1, csChargingProfiles: { ...profile, chargingProfileId: 1, chargingSchedule } };
  return { evseId: 1, chargingProfile: { ...profile, id: 1, chargingSchedule: [chargingSchedule] } };
}

/**
 * Answers calls until `isAwaited` fits, and returns that call unanswered. Undefined if the charger has no more calls.
 */
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
