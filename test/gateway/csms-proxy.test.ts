// The gateway in front of a management system: everything passes, and no limit rises above the grant.
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '../eventually.js';
import { CHARGER_PASSWORD, HARBOUR } from '../service/running-service.js';
import { type Csms, createCsms } from './csms.js';
import { type OcppSite, runOcppSite } from './ocpp-site.js';

const BOOT = { chargePointVendor: 'Maker', chargePointModel: 'Model' };
const statusOf = (status: string, connectorId = 1) => ({ connectorId, status, errorCode: 'NoError' });
const START = { connectorId: 1, idTag: 'A', meterStart: 0, timestamp: '2026-06-01T17:00:00Z' };

let csms: Csms;
let running: OcppSite | undefined;

beforeEach(async () => {
  csms = await createCsms();
});

afterEach(async () => {
  await running?.stop();
  running = undefined;
  await csms.stop();
});

async function site(options: Parameters<typeof runOcppSite>[0] = {}): Promise<OcppSite> {
  running = await runOcppSite({ csmsUrl: csms.url, ...options });
  return running;
}

/** A profile of a CSMS with a limit in amperes. */
function profileOf(limit: number, more: object = {}) {
  return {
    connectorId: 1,
    csChargingProfiles: {
      chargingProfileId: 5,
      stackLevel: 3,
      chargingProfilePurpose: 'TxDefaultProfile',
      chargingProfileKind: 'Relative',
      chargingSchedule: { chargingRateUnit: 'A', chargingSchedulePeriod: [{ startPeriod: 0, limit }] },
      ...more,
    },
  };
}

function methods(): string[] {
  return csms.heard.map(({ method }) => method);
}

function statuses() {
  const heard = csms.heard.filter(({ method }) => method === 'StatusNotification');
  return heard.map(({ params }) => params as ReturnType<typeof statusOf>);
}

describe('A message between a charger and its management system', () => {
  it('is forwarded unchanged, with the original ids and credentials', async () => {
    await csms.start();
    const { client, gateway } = await site();
    const charger = client();
    charger.handle('Reset', async () => ({ status: 'Accepted' }));
    await charger.connect();
    expect(csms.passwords).toEqual([CHARGER_PASSWORD]);
    expect(await charger.call('BootNotification', BOOT)).toMatchObject({ status: 'Accepted', interval: 300 });
    expect(await charger.call('Authorize', { idTag: 'A' })).toEqual({ idTagInfo: { status: 'Blocked' } });
    const sent = { vendorId: 'Maker', messageId: 'tariff', data: 'x', ownField: true };
    expect(await charger.call('DataTransfer', sent)).toEqual({ status: 'Accepted', data: 'of the CSMS' });
    expect(await charger.call('StartTransaction', START)).toMatchObject({ transactionId: 4711 });
    expect(csms.heard.find(({ method }) => method === 'DataTransfer')?.params).toEqual(sent);
    expect(gateway.bridges[0]?.session.leaseAt(1)?.transaction).toBe(4711);
    expect(await csms.charger?.call('Reset', { type: 'Soft' })).toEqual({ status: 'Accepted' });
    await expect(csms.charger?.call('UnlockConnector', { connectorId: 1 })).rejects.toMatchObject({
      rpcErrorCode: 'NotImplemented',
    });
  });

  it('is answered with the error of the other side', async () => {
    await csms.start();
    csms.answers.set('DataTransfer', () =>
      Promise.reject(Object.assign(new Error('no'), { rpcErrorCode: 'SecurityError' })),
    );
    const { client } = await site();
    const charger = client();
    await charger.connect();
    await expect(charger.call('DataTransfer', { vendorId: 'A' })).rejects.toMatchObject({
      rpcErrorCode: 'SecurityError',
    });
  });
});

describe('A charger that its management system rejects', () => {
  it('receives no calls from the gateway until it is accepted', async () => {
    await csms.start();
    const answered = (status: string) => async () => ({
      status,
      currentTime: new Date().toISOString(),
      interval: 300,
    });
    csms.answers.set('BootNotification', answered('Rejected'));
    const { client, live } = await site();
    const charger = client();
    const asked: string[] = [];
    charger.handle(async ({ method = '' }) => {
      asked.push(method);
      return { status: 'Accepted' };
    });
    await charger.connect();
    await charger.call('BootNotification', BOOT);
    await eventually(async () =>
      expect(await live()).toMatchObject({
        ocppState: 'rejected',
        whyNoLease: 'its management system rejects it',
      }),
    );
    // The answer to a call of the charger leaves after any request that was due.
    await charger.call('Heartbeat', {});
    expect(asked).toEqual([]);
    csms.answers.set('BootNotification', answered('Accepted'));
    await charger.call('BootNotification', BOOT);
    await eventually(() => expect(asked).toContain('GetConfiguration'));
  });
});

describe('A charging profile of a management system', () => {
  it('lowers grants, never raises them, and ends after it is cleared', async () => {
    await csms.start();
    const { charger, live, gateway } = await site();
    const one = charger();
    await eventually(() => expect(one.limitA).toBe(15.9));
    expect(await csms.charger?.call('SetChargingProfile', profileOf(10))).toEqual({ status: 'Accepted' });
    await eventually(() => expect(one.limitA).toBe(10));
    expect(await live()).toMatchObject({ limitA: 15.9, throttle: expect.anything() });
    const shown = await csms.charger?.call('GetCompositeSchedule', { connectorId: 1, duration: 5 });
    expect(shown).toMatchObject({ status: 'Accepted' });
    expect(await csms.charger?.call('SetChargingProfile', profileOf(32))).toEqual({ status: 'Accepted' });
    await eventually(() => expect(one.limitA).toBe(15.9));
    await csms.charger?.call('SetChargingProfile', profileOf(0));
    await eventually(() => expect(one.limitA).toBe(0));
    expect(await csms.charger?.call('ClearChargingProfile', { id: 99 })).toEqual({ status: 'Unknown' });
    expect(await csms.charger?.call('ClearChargingProfile', {})).toEqual({ status: 'Accepted' });
    await eventually(() => expect(one.limitA).toBe(15.9));
    expect(gateway.bridges[0]?.session.connectors()[0]?.whyNot).toBeUndefined();
  });

  it('for the whole charger is cleared at the charger too, by a request to clear all', async () => {
    await csms.start();
    const { client } = await site();
    const charger = client();
    const cleared: unknown[] = [];
    charger.handle('SetChargingProfile', async () => ({ status: 'Accepted' }));
    charger.handle('ClearChargingProfile', async ({ params }) => {
      cleared.push(params);
      return { status: 'Accepted' };
    });
    await charger.connect();
    await eventually(() => expect(csms.charger).toBeDefined());
    const max = profileOf(10, { chargingProfilePurpose: 'ChargePointMaxProfile' });
    expect(await csms.charger?.call('SetChargingProfile', { ...max, connectorId: 0 })).toEqual({
      status: 'Accepted',
    });
    expect(await csms.charger?.call('ClearChargingProfile', {})).toEqual({ status: 'Accepted' });
    expect(cleared).toContainEqual({ chargingProfilePurpose: 'ChargePointMaxProfile' });
  });

  it('survives a restart of the gateway', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'headroom-csms-'));
    await csms.start();
    const { charger, gateway } = await site({ dataDir });
    charger();
    await eventually(() => expect(gateway.bridges[0]?.isOpen).toBe(true));
    await eventually(() => expect(csms.charger).toBeDefined());
    await csms.charger?.call('SetChargingProfile', profileOf(10));
    await running?.stop();
    running = undefined;
    const again = await site({ dataDir });
    const one = again.charger();
    await eventually(async () => expect(await again.live()).toMatchObject({ limitA: 15.9 }));
    await eventually(() => expect(one.limitA).toBe(10));
    rmSync(dataDir, { recursive: true });
  });

  it('counts from the start of its transaction, also after a restart of the gateway', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'headroom-csms-'));
    await csms.start();
    const before = await site({ dataDir });
    const charger = before.client();
    await charger.connect();
    await eventually(() => expect(csms.charger).toBeDefined());
    await charger.call('StartTransaction', START);
    await eventually(() => expect(before.gateway.bridges[0]?.session.leaseAt(1)?.transaction).toBe(4711));
    await csms.charger?.call('SetChargingProfile', profileOf(10));
    const begun = before.gateway.bridges[0]?.protocolState.csmsProfiles.kept?.transactions;
    expect(begun).toMatchObject([{ evse: 1, transaction: 4711 }]);
    await running?.stop();
    running = undefined;
    const { gateway } = await site({ dataDir });
    expect(gateway.bridges[0]?.protocolState.csmsProfiles.kept?.transactions).toEqual(begun);
    rmSync(dataDir, { recursive: true });
  });

  it('for a transaction is deleted after the next transaction begins', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'headroom-csms-'));
    const kept = join(dataDir, 'ocpp-csms-profiles', HARBOUR, 'quay-a.json');
    await csms.start();
    const { client } = await site({ dataDir });
    const charger = client();
    await charger.connect();
    await eventually(() => expect(csms.charger).toBeDefined());
    await charger.call('StartTransaction', START);
    const ofTransaction = profileOf(10, { chargingProfilePurpose: 'TxProfile', transactionId: 4711 });
    expect(await csms.charger?.call('SetChargingProfile', ofTransaction)).toEqual({ status: 'Accepted' });
    expect(readFileSync(kept, 'utf8')).toContain('4711');
    csms.answers.set('StartTransaction', async () => ({
      transactionId: 4712,
      idTagInfo: { status: 'Accepted' },
    }));
    await charger.call('StopTransaction', { ...START, transactionId: 4711, meterStop: 1 });
    await charger.call('StartTransaction', START);
    await eventually(() => expect(existsSync(kept)).toBe(false));
    rmSync(dataDir, { recursive: true });
  });

  it('in a remote start is not forwarded to the charger, where it would override every lease', async () => {
    await csms.start();
    const { client, gateway } = await site();
    const charger = client();
    const started: unknown[] = [];
    charger.handle('RemoteStartTransaction', async ({ params }) => {
      started.push(params);
      return { status: 'Accepted' };
    });
    await charger.connect();
    const chargingProfile = {
      ...profileOf(32).csChargingProfiles,
      chargingProfilePurpose: 'TxProfile',
    };
    await csms.charger?.call('RemoteStartTransaction', { idTag: 'A', connectorId: 1, chargingProfile });
    expect(started).toEqual([{ idTag: 'A', connectorId: 1 }]);
    expect(gateway.bridges[0]?.protocolState.csmsProfiles.all).toMatchObject([
      { id: 5, purpose: 'transaction' },
    ]);
  });

  it('in a remote start is dropped if the charger refuses the start or fails to answer', async () => {
    await csms.start();
    const { client, gateway } = await site();
    const charger = client();
    await charger.connect();
    await eventually(() => expect(csms.charger).toBeDefined());
    const ofTransaction = { chargingProfilePurpose: 'TxProfile' };
    const { csChargingProfiles: chargingProfile } = profileOf(0, ofTransaction);
    const start = () =>
      csms.charger?.call('RemoteStartTransaction', { idTag: 'A', connectorId: 1, chargingProfile });
    const kept = () => gateway.bridges[0]?.protocolState.csmsProfiles.all;
    charger.handle('RemoteStartTransaction', async () => ({ status: 'Rejected' }));
    expect(await start()).toEqual({ status: 'Rejected' });
    expect(kept()).toEqual([]);
    charger.handle('RemoteStartTransaction', () => Promise.reject(new Error('no')));
    await expect(start()).rejects.toThrow();
    expect(kept()).toEqual([]);
    charger.handle('RemoteStartTransaction', async () => ({ status: 'Accepted' }));
    await start();
    expect(kept()).toMatchObject([{ id: 5, purpose: 'transaction' }]);
  });

  it('is refused with an invalid field, an unknown transaction or an id of the gateway', async () => {
    await csms.start();
    const { client } = await site();
    await client().connect();
    const wrong = { ...profileOf(10), connectorId: 'one' };
    await expect(csms.charger?.call('SetChargingProfile', wrong)).rejects.toMatchObject({
      rpcErrorCode: 'PropertyConstraintViolation',
    });
    const ofTransaction = profileOf(10, { chargingProfilePurpose: 'TxProfile', transactionId: 9 });
    expect(await csms.charger?.call('SetChargingProfile', ofTransaction)).toEqual({ status: 'Rejected' });
    const own = profileOf(10, { chargingProfileId: 774_000_012 });
    expect(await csms.charger?.call('SetChargingProfile', own)).toEqual({ status: 'Rejected' });
  });

  it('and its meter value settings leave the gateway the values that it needs', async () => {
    await csms.start();
    const { client } = await site();
    const charger = client();
    const changed: unknown[] = [];
    charger.handle('ChangeConfiguration', async ({ params }) => {
      changed.push(params);
      return { status: 'Accepted' };
    });
    await charger.connect();
    const ask = (key: string, value: string) => csms.charger?.call('ChangeConfiguration', { key, value });
    await ask('MeterValueSampleInterval', '900');
    await ask('MeterValuesSampledData', 'SoC');
    await ask('ConnectionTimeOut', '60');
    expect(changed).toEqual([
      { key: 'MeterValueSampleInterval', value: '1' },
      { key: 'MeterValuesSampledData', value: 'Power.Active.Import,SoC' },
      { key: 'ConnectionTimeOut', value: '60' },
    ]);
  });
});

describe('OCPP 2.0.1 in front of a management system', () => {
  it('is used if charger and management system support it, and profiles lower grants', async () => {
    csms = await createCsms(['ocpp2.0.1']);
    await csms.start();
    const { charger } = await site();
    const one = charger({ protocol: 'ocpp2.0.1' });
    await eventually(() => expect(one.limitA).toBe(15.9));
    expect(methods()).toContain('TransactionEvent');
    const chargingSchedule = [
      { id: 1, chargingRateUnit: 'A', chargingSchedulePeriod: [{ startPeriod: 0, limit: 10 }] },
    ];
    const set = (more: object) =>
      csms.charger?.call('SetChargingProfile', {
        evseId: 1,
        chargingProfile: {
          id: 5,
          stackLevel: 3,
          chargingProfilePurpose: 'TxDefaultProfile',
          chargingProfileKind: 'Relative',
          chargingSchedule,
          ...more,
        },
      });
    expect(await set({})).toEqual({ status: 'Accepted' });
    await eventually(() => expect(one.limitA).toBe(10));
    expect(await set({ chargingProfilePurpose: 'PriorityCharging' })).toEqual({ status: 'Rejected' });
    expect(await csms.charger?.call('ClearChargingProfile', { chargingProfileId: 5 })).toEqual({
      status: 'Accepted',
    });
    await eventually(() => expect(one.limitA).toBe(15.9));
  });

  it('answers each variable of a change, but forwards only variables that do not disable leases', async () => {
    csms = await createCsms(['ocpp2.0.1']);
    await csms.start();
    const { client } = await site();
    const charger = client({ protocols: ['ocpp2.0.1'] });
    const resultOf = (of: string, name: string, attributeStatus: string) => ({
      attributeStatus,
      component: { name: of },
      variable: { name },
    });
    const changed: unknown[] = [];
    charger.handle('SetVariables', async ({ params }) => {
      changed.push(params);
      return { setVariableResult: [resultOf('TxCtrlr', 'EVConnectionTimeOut', 'RebootRequired')] };
    });
    await charger.connect();
    await eventually(() => expect(csms.charger).toBeDefined());
    const { attributeStatus: _, ...off } = resultOf('SmartChargingCtrlr', 'Enabled', '');
    const { attributeStatus: __, ...other } = resultOf('TxCtrlr', 'EVConnectionTimeOut', '');
    const setVariableData = [
      { ...off, attributeValue: 'false' },
      { ...other, attributeValue: '60' },
    ];
    expect(await csms.charger?.call('SetVariables', { setVariableData })).toEqual({
      setVariableResult: [
        resultOf('SmartChargingCtrlr', 'Enabled', 'Rejected'),
        resultOf('TxCtrlr', 'EVConnectionTimeOut', 'RebootRequired'),
      ],
    });
    expect(changed).toEqual([{ setVariableData: [{ ...other, attributeValue: '60' }] }]);
  });

  it('is replaced by the version that the management system supports', async () => {
    await csms.start();
    const { client } = await site();
    const charger = client({ protocols: ['ocpp2.0.1', 'ocpp1.6'] });
    await charger.connect();
    expect(charger.protocol).toBe('ocpp1.6');
  });
});

describe('A management system that is unreachable', () => {
  it('does not stop load management of the charger, and later receives the boot of the charger', async () => {
    const { charger, count } = await site();
    const one = charger();
    await eventually(() => expect(one.limitA).toBeGreaterThanOrEqual(6));
    await eventually(async () => expect(await running?.live()).toMatchObject({ link: 'online' }));
    expect(await count('headroom_gateway_csms_total', { result: 'unreachable' })).toBeGreaterThan(0);
    await csms.start();
    await eventually(() => expect(methods()).toContain('BootNotification'));
    await eventually(() => expect(methods()).toContain('StatusNotification'));
    await eventually(() => expect(one.limitA).toBe(15.9));
  });

  it('receives the boot first, and then the newest status of each connector', async () => {
    const { client } = await site();
    const charger = client();
    await charger.connect();
    await charger.call('StatusNotification', statusOf('Preparing'));
    await charger.call('BootNotification', BOOT);
    // More connectors than any charger has.
    for (let connector = 2; connector <= 70; connector++)
      await charger.call('StatusNotification', statusOf('Available', connector));
    await charger.call('StatusNotification', statusOf('Charging'));
    await csms.start();
    const ofFirst = () => statuses().filter(({ connectorId }) => connectorId === 1);
    await eventually(() => expect(ofFirst()).toEqual([statusOf('Charging')]));
    expect(methods()[0]).toBe('BootNotification');
  });

  it('receives no old status after a newer one', async () => {
    const { client, count } = await site();
    const charger = client();
    await charger.connect();
    await charger.call('BootNotification', BOOT);
    await charger.call('StatusNotification', statusOf('Available'));
    let accept = () => {};
    const accepted = new Promise<Record<string, unknown>>((resolve) => {
      accept = () => resolve({ status: 'Accepted', currentTime: new Date().toISOString(), interval: 300 });
    });
    csms.answers.set('BootNotification', () => accepted);
    await csms.start();
    await eventually(() => expect(methods()).toEqual(['BootNotification']));
    const said = charger.call('StatusNotification', statusOf('Charging'));
    // The gateway handles messages in order, so it has received the status once it counts this one.
    charger.sendRaw('[2,"m","MeterValues",{"connectorId":1,"meterValue":[]}]');
    await eventually(async () =>
      expect(await count('headroom_gateway_messages_total', { result: 'malformed' })).toBe(1),
    );
    accept();
    await said;
    await charger.call('DataTransfer', { vendorId: 'A' });
    expect(statuses()).toEqual([statusOf('Charging')]);
  });

  it('receives missed messages at the next connection if it disconnects during delivery', async () => {
    const { client } = await site();
    const charger = client();
    await charger.connect();
    await charger.call('BootNotification', BOOT);
    csms.answers.set('BootNotification', () => {
      csms.answers.delete('BootNotification');
      void csms.charger?.close({ force: true });
      return new Promise(() => {});
    });
    await csms.start();
    await eventually(() => expect(methods()).toEqual(['BootNotification', 'BootNotification']));
  });

  it('makes the charger repeat transaction messages, and id tags are refused without a rule for them', async () => {
    const { client } = await site();
    const charger = client();
    await charger.connect();
    await expect(charger.call('StartTransaction', START)).rejects.toThrow(/try again/);
    await expect(charger.call('Authorize', { idTag: 'A' })).rejects.toThrow(/try again/);
    const meterValue = [{ timestamp: '2026-06-01T17:00:00Z', sampledValue: [{ value: '1' }] }];
    const valuesOf = (transactionId: number) => ({ connectorId: 1, transactionId, meterValue });
    await expect(charger.call('MeterValues', valuesOf(7))).rejects.toThrow(/try again/);
    // These values belong to no transaction.
    expect(await charger.call('MeterValues', valuesOf(0))).toEqual({});
    expect(await charger.call('Heartbeat', {})).toHaveProperty('currentTime');
  });

  it('can be replaced by a rule for id tags', async () => {
    const { client } = await site({ idTags: { kind: 'list', idTags: new Set(['A']) } });
    const charger = client();
    await charger.connect();
    expect(await charger.call('Authorize', { idTag: 'A' })).toEqual({ idTagInfo: { status: 'Accepted' } });
    expect(await charger.call('Authorize', { idTag: 'B' })).toEqual({ idTagInfo: { status: 'Invalid' } });
  });

  it('is treated as unreachable if it does not answer, and receives missed messages after it answers again', async () => {
    await csms.start();
    csms.answers.set('StatusNotification', () => new Promise(() => {}));
    const { client, count } = await site();
    const charger = client({ callTimeoutMs: 60_000 });
    await charger.connect();
    expect(await charger.call('StatusNotification', statusOf('Available'))).toEqual({});
    expect(await count('headroom_gateway_csms_total', { result: 'unanswered' })).toBe(1);
    csms.answers.delete('StatusNotification');
    await charger.call('DataTransfer', { vendorId: 'A' });
    await eventually(() => expect(statuses()).toHaveLength(2));
  });
});

describe('A hostile management system', () => {
  it('that sends too many, invalid or too long messages is disconnected, and the charger keeps charging', async () => {
    await csms.start();
    const { charger, count } = await site();
    const one = charger();
    await eventually(() => expect(one.limitA).toBe(15.9));
    for (let i = 0; i < 600; i++) csms.charger?.sendRaw(`[2,"f${i}","Nonsense",{}]`);
    await eventually(async () =>
      expect(await count('headroom_gateway_csms_total', { result: 'limited' })).toBeGreaterThan(0),
    );
    const before = csms.charger;
    await eventually(() => expect(csms.charger).not.toBe(before));
    csms.charger?.sendRaw(`[2,"x","DataTransfer",{"vendorId":"${'x'.repeat(200_000)}"}]`);
    await eventually(() => expect(csms.charger?.state).toBe(3));
    expect(one.limitA).toBe(15.9);
    expect(one.isConnected).toBe(true);
  });
});
