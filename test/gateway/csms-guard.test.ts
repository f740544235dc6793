// Permissions of a management system for a charger behind the gateway, in each version of OCPP.
import { beforeEach, describe, expect, it } from 'vitest';
import type { TransactionRef } from '../../machines/session/gateway-request.js';
import { profileIdOf } from '../../src/gateway/ocpp/charger-requests.js';
import { CsmsProfiles } from '../../src/gateway/ocpp/csms-profiles.js';
import type { Guarded } from '../../src/gateway/ocpp/ocpp-dialect.js';
import { Ocpp201Guard } from '../../src/gateway/ocpp2/dialect.js';
import { Ocpp16Guard } from '../../src/gateway/ocpp16/dialect.js';

const FAILSAFE_ID = profileIdOf(1, 'failsafe');
const TEN_AMPERES = {
  chargingRateUnit: 'A',
  chargingSchedulePeriod: [{ startPeriod: 0, limit: 10 }],
};

let profiles: CsmsProfiles;
let transaction: TransactionRef | undefined;
let guard16: Ocpp16Guard;
let guard201: Ocpp201Guard;

beforeEach(() => {
  profiles = new CsmsProfiles();
  transaction = undefined;
  const parts = {
    profiles,
    heartbeatMs: 10_000,
    transactionAt: () => transaction,
    nowMs: () => 0,
    changed: () => {},
  };
  guard16 = new Ocpp16Guard(parts);
  guard201 = new Ocpp201Guard(parts);
});

function set16(chargingProfilePurpose: string, more: object = {}): Guarded {
  const csChargingProfiles = {
    chargingProfileId: 5,
    stackLevel: 0,
    chargingProfilePurpose,
    chargingProfileKind: 'Absolute',
    chargingSchedule: TEN_AMPERES,
    ...more,
  };
  return guard16.judge('SetChargingProfile', { connectorId: 0, csChargingProfiles });
}

function set201(chargingProfilePurpose: string, more: object = {}): Guarded {
  const chargingProfile = {
    id: 5,
    stackLevel: 0,
    chargingProfilePurpose,
    chargingProfileKind: 'Absolute',
    chargingSchedule: [{ id: 1, ...TEN_AMPERES }],
    ...more,
  };
  return guard201.judge('SetChargingProfile', { evseId: 0, chargingProfile });
}

function answered(status: string): Guarded {
  return { kind: 'answered', answer: { status } };
}

describe('A profile of the gateway', () => {
  it('is not replaced by a CSMS profile that is forwarded to the charger', () => {
    expect(set16('ChargePointMaxProfile').kind).toBe('forward');
    expect(set16('ChargePointMaxProfile', { chargingProfileId: FAILSAFE_ID })).toEqual(answered('Rejected'));
    for (const purpose of ['ChargingStationMaxProfile', 'ChargingStationExternalConstraints']) {
      expect(set201(purpose).kind).toBe('forward');
      expect(set201(purpose, { id: FAILSAFE_ID })).toEqual(answered('Rejected'));
    }
  });

  it('is not cleared by its id, regardless of the purpose in the request', () => {
    const chargingProfilePurpose = 'ChargePointMaxProfile';
    const clear16 = (id: number) => guard16.judge('ClearChargingProfile', { id, chargingProfilePurpose });
    expect(clear16(FAILSAFE_ID)).toEqual(answered('Unknown'));
    expect(clear16(5).kind).toBe('forward');
    const chargingProfileCriteria = { chargingProfilePurpose: 'ChargingStationMaxProfile' };
    const clear201 = (chargingProfileId: number) =>
      guard201.judge('ClearChargingProfile', { chargingProfileId, chargingProfileCriteria });
    expect(clear201(FAILSAFE_ID)).toEqual(answered('Unknown'));
    expect(clear201(5).kind).toBe('forward');
  });

  it('keeps its limit after an UpdateDynamicSchedule of OCPP 2.1', () => {
    const update = (chargingProfileId: number) =>
      guard201.judge('UpdateDynamicSchedule', { chargingProfileId, scheduleUpdate: { limit: 32 } });
    expect(update(profileIdOf(1, 'transaction'))).toEqual(answered('Rejected'));
    expect(update(5).kind).toBe('forward');
  });

  it('is not replaced by a profile in a remote start', () => {
    const chargingProfile = {
      chargingProfileId: FAILSAFE_ID,
      stackLevel: 0,
      chargingProfilePurpose: 'TxProfile',
      chargingProfileKind: 'Relative',
      chargingSchedule: TEN_AMPERES,
    };
    const start = { idTag: 'A', connectorId: 1, chargingProfile };
    expect(guard16.judge('RemoteStartTransaction', start)).toEqual(answered('Rejected'));
  });
});

describe('A request to clear profiles without a purpose', () => {
  const CLEARED = { status: 'Accepted' };

  it("clears profiles in the gateway and is forwarded; the charger's answer counts if none were in the gateway", () => {
    for (const isKept of [true, false]) {
      if (isKept) expect(set16('TxDefaultProfile')).toEqual(answered('Accepted'));
      const guarded = guard16.judge('ClearChargingProfile', { stackLevel: 0 });
      const params = { stackLevel: 0, chargingProfilePurpose: 'ChargePointMaxProfile' };
      expect(guarded).toMatchObject({ kind: 'forward', params });
      expect(profiles.all).toEqual([]);
      const told = 'answerOf' in guarded ? guarded.answerOf?.({ status: 'Unknown' }) : undefined;
      expect(told).toEqual(isKept ? CLEARED : { status: 'Unknown' });
    }
    expect(guard201.judge('ClearChargingProfile', {})).toMatchObject({
      kind: 'forward',
      params: { chargingProfileCriteria: { chargingProfilePurpose: 'ChargingStationMaxProfile' } },
    });
  });

  it('clears only profiles in the gateway if it names one connector', () => {
    expect(guard16.judge('ClearChargingProfile', { connectorId: 1 })).toEqual(answered('Unknown'));
    const chargingProfileCriteria = { evseId: 1 };
    expect(guard201.judge('ClearChargingProfile', { chargingProfileCriteria })).toEqual(answered('Unknown'));
  });
});

describe('The periods of a profile', () => {
  it('apply in the order of their starts, regardless of the order in the message', () => {
    const chargingSchedulePeriod = [
      { startPeriod: 60, limit: 8 },
      { startPeriod: 0, limit: 16 },
      { startPeriod: 30, limit: 20 },
    ];
    const chargingSchedule = { ...TEN_AMPERES, chargingSchedulePeriod };
    expect(set16('TxDefaultProfile', { chargingSchedule })).toEqual(answered('Accepted'));
    const at = { evse: 1, phases: 3, voltageV: 230, transaction: undefined } as const;
    const limits = [0, 30_000, 60_000].map((ms) => profiles.lowestA(at, ms, ms));
    expect(limits).toEqual([16, 20, 8]);
  });
});

describe('A CSMS profile of a transaction', () => {
  it('is accepted for any number of consecutive transactions', () => {
    const taken = Array.from({ length: 101 }, (_, i) => {
      transaction = i + 1;
      return set16('TxProfile', { chargingProfileId: transaction, transactionId: transaction });
    });
    expect(taken.at(-1)).toEqual(answered('Accepted'));
    expect(profiles.all).toMatchObject([{ id: 101 }]);
  });
});

describe('A setting for meter values', () => {
  it('is replaced by the value that leases need, in any spelling of upper and lower case', () => {
    for (const key of ['MeterValueSampleInterval', 'meterValueSampleInterval', 'METERVALUESAMPLEINTERVAL'])
      expect(guard16.judge('ChangeConfiguration', { key, value: '900' })).toEqual({
        kind: 'forward',
        params: { key, value: '10' },
      });
    const change = (attributeValue: string) => ({
      attributeValue,
      component: { name: 'sampledDataCtrlr' },
      variable: { name: 'txUpdatedInterval' },
    });
    expect(guard201.judge('SetVariables', { setVariableData: [change('900')] })).toEqual({
      kind: 'forward',
      params: { setVariableData: [change('10')] },
    });
  });
});

describe('A setting that would disable leases', () => {
  const variableOf = (of: string, name: string, attributeValue: string) => ({
    attributeValue,
    component: { name: of },
    variable: { name },
  });
  const rejected = ({ component, variable }: ReturnType<typeof variableOf>) => ({
    attributeStatus: 'Rejected',
    component,
    variable,
  });

  it('is refused in OCPP 1.6: ignoring profiles of the gateway while offline', () => {
    const key = 'IgnoredProfilePurposesOffline';
    const ignore = (value: string) => guard16.judge('ChangeConfiguration', { key, value });
    expect(ignore('ChargePointMaxProfile, TxProfile')).toEqual(answered('Rejected'));
    expect(ignore('ChargePointMaxProfile').kind).toBe('forward');
  });

  it('is refused in OCPP 2.0.1 for each variable, and other variables are forwarded to the charger', () => {
    const off = variableOf('SmartChargingCtrlr', 'Enabled', 'false');
    const ignored = variableOf('smartChargingCtrlr', 'IgnoredProfilePurposesOffline', 'TxDefaultProfile');
    const silent = variableOf('SampledDataCtrlr', 'Enabled', 'False');
    const other = variableOf('TxCtrlr', 'EVConnectionTimeOut', '60');
    const on = variableOf('SmartChargingCtrlr', 'Enabled', 'true');
    expect(guard201.judge('SetVariables', { setVariableData: [off, ignored, silent] })).toEqual({
      kind: 'answered',
      answer: { setVariableResult: [off, ignored, silent].map(rejected) },
    });
    const passed = guard201.judge('SetVariables', { setVariableData: [off, other, ignored, on] });
    expect(passed).toMatchObject({ kind: 'forward', params: { setVariableData: [other, on] } });
  });

  it('is refused in OCPP 2.1: priority charging, which overrides every lease', () => {
    const use = (activate: boolean) =>
      guard201.judge('UsePriorityCharging', { transactionId: 'one', activate });
    expect(use(true)).toEqual(answered('Rejected'));
    expect(use(false).kind).toBe('forward');
  });
});
