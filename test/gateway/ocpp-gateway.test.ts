// OCPP chargers join a running service through the gateway, over real sockets on both sides.
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createRPCError } from 'ocpp-rpc';
import { afterEach, describe, expect, it } from 'vitest';
import { temporaryDirectory } from '../cli/headroom.js';
import { eventually } from '../eventually.js';
import { silentLog } from '../service/running-service.js';
import { CHARGER, CLIENT, LEASE_S, type OcppSite, runOcppSite } from './ocpp-site.js';
import { askUpgrade } from './raw-upgrade.js';

let running: OcppSite | undefined;

async function site(...options: Parameters<typeof runOcppSite>): Promise<OcppSite> {
  running = await runOcppSite(...options);
  return running;
}

afterEach(async () => {
  await running?.stop();
  running = undefined;
});

describe.each(['ocpp1.6', 'ocpp2.0.1', 'ocpp2.1'] as const)('A charger with %s', (protocol) => {
  it('charges below the limit of its location, and follows a new limit', async () => {
    const { charger, live, service } = await site();
    const one = charger({ protocol });
    await eventually(async () => expect(await live()).toMatchObject({ reason: 'fairShare', limitA: 15.9 }));
    await eventually(() => expect(one.limitA).toBe(15.9));
    await eventually(() => expect(one.drawnA).toBeGreaterThan(15));
    await service.call('PUT', '/locations/quay/limit', { limitKw: 6 });
    await eventually(() => expect(one.limitA).toBe(8.6));
    await eventually(async () => expect(await live()).toMatchObject({ limitA: 8.6, reservedKw: 5.934 }));
  });

  it('falls back within a second of the end of its lease after the gateway stops', async () => {
    const { charger, gateway, live } = await site();
    const one = charger({ protocol });
    await eventually(async () => expect(await live()).toMatchObject({ reason: 'fairShare' }));
    await eventually(() => expect(one.limitA).toBe(15.9));
    await gateway.stop();
    const goneAtMs = performance.now();
    // Computed from the received limits, so that a busy machine does not matter.
    expect(one.limitAt(goneAtMs)).toBe(15.9);
    expect(one.limitAt(goneAtMs + 1000 * (LEASE_S + 1))).toBe(6);
    await eventually(() => expect(one.limitA).toBe(6));
  });

  it('receives grants despite a clock in the 1970s', async () => {
    const { charger, live } = await site();
    const one = charger({ protocol, aheadMs: -55 * 365 * 86_400_000 });
    await eventually(async () => expect(await live()).toMatchObject({ reason: 'fairShare', limitA: 15.9 }));
    await eventually(() => expect(one.limitA).toBe(15.9));
  });

  it('is counted at its maximum if it drops the second period, and the gateway records the reason', async () => {
    const { charger, live, gateway } = await site();
    charger({ protocol, behaviours: ['loses-periods'] });
    await eventually(async () => {
      const { reason, reservedKw } = await live();
      expect(reason).toBe('readOnly');
      // The reserve counts the measured 230 V, and more before the first measurement.
      expect(reservedKw).toBeGreaterThanOrEqual(22.08);
    });
    await eventually(() => {
      const [connector] = gateway.bridges[0]?.session.connectors() ?? [];
      expect(connector?.whyNot).toMatch('does not lower its current when the lease ends');
    });
  });

  it('has its OCPP state shown to the operator until it is gone', async () => {
    const { charger, live } = await site();
    const one = charger({ protocol });
    await eventually(async () =>
      expect(await live()).toMatchObject({ ocppState: 'leased', whyNoLease: null }),
    );
    await one.stop();
    await eventually(async () => expect(await live()).toMatchObject({ ocppState: null, link: 'offline' }));
  });
});

describe('The OCPP state of a connector', () => {
  it('is shown with the reason against its lease', async () => {
    const { client, live } = await site();
    const charger = client();
    charger.handle(() => {
      throw createRPCError('NotSupported');
    });
    await charger.connect();
    await eventually(async () =>
      expect(await live()).toMatchObject({
        ocppState: 'unleased',
        whyNoLease: 'it does not report its capabilities',
      }),
    );
  });

  it('is shown while the charger leaves the first request unanswered', async () => {
    const { client, live } = await site();
    const charger = client();
    charger.handle(() => new Promise(() => {}));
    await charger.connect();
    await eventually(async () => expect(await live()).toMatchObject({ ocppState: 'configuring' }));
  });
});

describe('A gateway that cannot write to its disk', () => {
  it('keeps running, and its charger receives a grant after its fail-safe can be written', async () => {
    const dataDir = temporaryDirectory();
    const unwritable = join(dataDir, 'ocpp-fail-safes.json.new');
    mkdirSync(unwritable);
    const errors: object[] = [];
    const log = { ...silentLog, error: (fields: object) => void errors.push(fields) };
    const { charger, live } = await site({ dataDir, log });
    charger();
    await eventually(() => expect(errors).toHaveLength(1));
    expect(await live()).not.toMatchObject({ reason: 'fairShare' });
    rmSync(unwritable, { recursive: true });
    await eventually(async () => expect(await live()).toMatchObject({ reason: 'fairShare', limitA: 15.9 }));
    expect(errors).toHaveLength(1);
  });
});

describe('A connection', () => {
  it.each([
    ['with a wrong password', { password: 'not this one, surely' }, 401, 'credentials'],
    ['without a password', { password: null }, 401, 'credentials'],
    ['of an unknown charger', { identity: 'quay-z' }, 404, 'unknown'],
    ['that speaks another protocol', { protocols: ['ocpp9.9'] }, 400, 'subprotocol'],
  ])('%s is refused', async (_, options, code, reason) => {
    const { client, count } = await site();
    await expect(client(options).connect()).rejects.toMatchObject({ code });
    expect(await count('headroom_gateway_refusals_total', { reason })).toBe(1);
  });

  it('is refused with 503 while the service is unreachable', async () => {
    const { client, service, count } = await site({ mqttUrl: 'mqtt://127.0.0.1:1' });
    expect(service.mqttUrl).not.toBe('mqtt://127.0.0.1:1');
    await expect(client().connect()).rejects.toMatchObject({ code: 503 });
    expect(await count('headroom_gateway_refusals_total', { reason: 'unreachable' })).toBe(1);
  });

  it('may have its tenant in the path', async () => {
    const { client, ocppUrl, gateway } = await site();
    const tenantUuid = gateway.bridges[0]?.address.tenantUuid;
    await client({ endpoint: `${ocppUrl}/${tenantUuid}` }).connect();
    await eventually(() => expect(gateway.bridges[0]?.isOpen).toBe(true));
  });

  it('replaces the previous connection of the charger', async () => {
    const { client, count, gateway } = await site();
    const [first, second] = [client(), client()];
    const closed = new Promise((resolve) => first.once('close', resolve));
    await first.connect();
    await eventually(() => expect(gateway.bridges[0]?.isOpen).toBe(true));
    await second.connect();
    await closed;
    expect(await count('headroom_gateway_refusals_total', { reason: 'taken-over' })).toBe(1);
    await expect(second.call('Heartbeat', {})).resolves.toHaveProperty('currentTime');
  });

  it('without a new boot of the charger keeps its verified lease', async () => {
    const { charger, client, count, gateway } = await site();
    const its = charger();
    const [bridge] = gateway.bridges;
    await eventually(() => expect(bridge?.provenCount).toBe(1));
    const intruder = client();
    await intruder.connect();
    await eventually(() => expect(its.isConnected).toBe(false));
    await intruder.close({ force: true });
    await eventually(() => expect(its.isConnected && bridge?.isOpen).toBe(true));
    await eventually(() => expect(bridge?.provenCount).toBe(1));
    expect(await count('headroom_gateway_leases_lost_total')).toBe(0);
  });

  it('with an invalid path or without WebSocket is refused', async () => {
    const { ocppUrl, client } = await site();
    const { port } = new URL(ocppUrl);
    const answer = await new Promise<string>((resolve) => {
      const socket = connect(Number(port), '127.0.0.1', () => {
        socket.write(
          'GET /ocpp/%E0%A4%A HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n',
        );
      });
      socket.once('data', (data) => resolve(data.toString()));
    });
    expect(answer).toMatch('400 Bad Request');
    const status = await new Promise((resolve) => {
      httpRequest({ port, host: '127.0.0.1', path: '/ocpp/quay-a' }, (response) =>
        resolve(response.statusCode),
      ).end();
    });
    expect(status).toBe(426);
    await expect(client().connect()).resolves.toBeDefined();
  });
});

it.each(['', 'ocpp1.6,', 'ocpp1.6,ocpp1.6', 'ocpp 1.6'])(
  'A charger with the subprotocol header "%s" receives 400',
  async (protocol) => {
    const { ocppUrl } = await site();
    const { socket, status, isClosed } = askUpgrade(ocppUrl, { protocol });
    await eventually(() => expect(isClosed()).toBe(true));
    expect(status()).toBe(400);
    socket.destroy();
  },
);

describe('A message in OCPP 2.0.1 without a management system', () => {
  const EVENT = {
    eventType: 'Started',
    triggerReason: 'CablePluggedIn',
    seqNo: 0,
    timestamp: '2026-06-01T17:00:00Z',
  };

  async function connected(protocol: string, options: Parameters<typeof runOcppSite>[0] = {}) {
    const all = await site(options);
    const client = all.client({ protocols: [protocol] });
    await client.connect();
    return { ...all, client };
  }

  it.each(['ocpp2.0.1', 'ocpp2.1'])('is answered according to %s', async (protocol) => {
    const { client } = await connected(protocol);
    const idToken = { idToken: 'A', type: 'Central' };
    expect(await client.call('Authorize', { idToken })).toEqual({ idTokenInfo: { status: 'Accepted' } });
    const chargingLimit = { chargingLimitSource: 'EMS' };
    expect(await client.call('NotifyChargingLimit', { chargingLimit })).toEqual({});
    expect(await client.call('DataTransfer', { vendorId: 'A' })).toEqual({ status: 'UnknownVendorId' });
    await expect(client.call('Nonsense', {})).rejects.toThrow();
    await expect(client.call('StatusNotification', { evseId: 'one' })).rejects.toThrow();
  });

  it.each(['ocpp2.0.1', 'ocpp2.1'])(
    'declares the needs of its car with %s, until the car leaves',
    async (protocol) => {
      const { client, service } = await connected(protocol);
      client.handle(() => {
        throw createRPCError('NotSupported');
      });
      const transactionInfo = { transactionId: 'tx-1', chargingState: 'SuspendedEVSE' };
      await client.call('TransactionEvent', { ...EVENT, evse: { id: 1 }, transactionInfo });
      const session = async () =>
        (await service.call('GET', `/chargers/${CHARGER}/connectors/1/session`)).body;
      const absurd = {
        requestedEnergyTransfer: 'AC_three_phase',
        departureTime: '1950-01-01T00:00:00Z',
        acChargingParameters: { energyAmount: 2e9, evMinCurrent: 6, evMaxCurrent: 32, evMaxVoltage: 400 },
      };
      await client.call('NotifyEVChargingNeeds', { evseId: 1, chargingNeeds: absurd });
      await eventually(async () => expect(await session()).toMatchObject({ declared: [] }));
      const departureTime = '2030-06-01T06:00:00.000Z';
      const acChargingParameters = {
        energyAmount: 21_500,
        evMinCurrent: 6,
        evMaxCurrent: 32,
        evMaxVoltage: 400,
      };
      const needs = { requestedEnergyTransfer: 'AC_three_phase', departureTime, acChargingParameters };
      const answer = await client.call('NotifyEVChargingNeeds', { evseId: 1, chargingNeeds: needs });
      expect(answer).toEqual({ status: 'Accepted' });
      const preferences = { departureTime, energyNeedKwh: 21.5 };
      await eventually(async () =>
        expect(await session()).toMatchObject({ declared: [{ source: 'charger', preferences }] }),
      );
      const byCar = async (dcChargingParameters: object) =>
        client.call('NotifyEVChargingNeeds', {
          evseId: 1,
          chargingNeeds: { requestedEnergyTransfer: 'DC', departureTime, dcChargingParameters },
        });
      const limits = { evMaxCurrent: 400, evMaxVoltage: 800 };
      await byCar({ ...limits, evEnergyCapacity: 0, fullSoC: 0, stateOfCharge: 40 });
      await eventually(async () =>
        expect(await session()).toMatchObject({ declared: [{ preferences: { departureTime } }] }),
      );
      await byCar({ ...limits, evEnergyCapacity: 60_000, fullSoC: 90, stateOfCharge: 40 });
      await eventually(async () =>
        expect(await session()).toMatchObject({
          preferences: { departureTime, batteryCapacityKwh: 60, targetSocPercent: 90, energyNeedKwh: 30 },
        }),
      );
      await client.call('TransactionEvent', { ...EVENT, eventType: 'Ended', seqNo: 1, transactionInfo });
      await eventually(async () =>
        expect(await session()).toMatchObject({ error: { code: 'SESSION_NOT_FOUND' } }),
      );
    },
  );

  it('may name the EVSE of a transaction only once, and the gateway remembers it', async () => {
    const { client, gateway } = await connected('ocpp2.0.1');
    const at = () => gateway.bridges[0]?.session.leaseAt(1)?.transaction;
    const transactionInfo = { transactionId: 'tx-1', chargingState: 'Charging' };
    await client.call('TransactionEvent', { ...EVENT, evse: { id: 1 }, transactionInfo });
    expect(at()).toBe('tx-1');
    await client.call('TransactionEvent', { ...EVENT, eventType: 'Updated', seqNo: 1, transactionInfo });
    await client.call('TransactionEvent', { ...EVENT, eventType: 'Ended', seqNo: 2, transactionInfo });
    expect(at()).toBeUndefined();
  });

  it('may update a transaction after its EVSE was available, and the gateway restores the transaction', async () => {
    const { client, gateway } = await connected('ocpp2.0.1');
    const at = () => gateway.bridges[0]?.session.leaseAt(1)?.transaction;
    const transactionInfo = { transactionId: 'tx-1', chargingState: 'Charging' };
    await client.call('TransactionEvent', { ...EVENT, evse: { id: 1 }, transactionInfo });
    const free = { evseId: 1, connectorId: 1, connectorStatus: 'Available' };
    await client.call('StatusNotification', { ...free, timestamp: EVENT.timestamp });
    await eventually(() => expect(at()).toBeUndefined());
    const timestamp = new Date(Date.parse(EVENT.timestamp) + 60_000).toISOString();
    const next = { ...EVENT, eventType: 'Updated', timestamp, seqNo: 1, transactionInfo };
    await client.call('TransactionEvent', next);
    expect(at()).toBe('tx-1');
  });

  it.each([
    ['by the first event of the transaction', { id: 1, connectorId: 1 }, 'Available'],
    ['by its status', { id: 1 }, 'Occupied'],
  ] as const)(
    'identifies the connector of the car %s, and statuses of other connectors do not affect it',
    async (_, evse, first) => {
      const { client, gateway } = await connected('ocpp2.0.1');
      const say = (connectorId: number, connectorStatus: string) => {
        const { timestamp } = EVENT;
        return client.call('StatusNotification', { timestamp, connectorStatus, evseId: 1, connectorId });
      };
      const at = () => gateway.bridges[0]?.session.leaseAt(1)?.transaction;
      await say(1, first);
      const transactionInfo = { transactionId: 'tx-1', chargingState: 'Charging' };
      await client.call('TransactionEvent', { ...EVENT, evse, transactionInfo });
      for (const word of ['Faulted', 'Unavailable', 'Reserved', 'Available']) {
        await say(2, word);
        expect(at()).toBe('tx-1');
      }
      await say(1, 'Available');
      await eventually(() => expect(at()).toBeUndefined());
      // The next car may be at the other connector, whichever messages were lost meanwhile.
      await say(1, 'Occupied');
      await say(2, 'Occupied');
      const next = {
        ...EVENT,
        evse: { id: 1 },
        transactionInfo: { ...transactionInfo, transactionId: 'tx-2' },
      };
      await client.call('TransactionEvent', next);
      await say(1, 'Available');
      expect(at()).toBe('tx-2');
      await say(2, 'Available');
      await eventually(() => expect(at()).toBeUndefined());
    },
  );

  it('is answered by a list of id tokens', async () => {
    const idTags = { kind: 'list', idTags: new Set(['KNOWN']) } as const;
    const { client } = await connected('ocpp2.0.1', { idTags });
    const transactionInfo = { transactionId: 'tx-1' };
    const event = { ...EVENT, evse: { id: 1 }, transactionInfo };
    const asked = (idToken: string) =>
      client.call('TransactionEvent', { ...event, idToken: { idToken, type: 'Central' } });
    expect(await asked('KNOWN')).toEqual({ idTokenInfo: { status: 'Accepted' } });
    expect(await asked('OTHER')).toEqual({ idTokenInfo: { status: 'Invalid' } });
  });

  it('uses the newest version that charger and gateway support', async () => {
    const { client } = await site();
    const charger = client({ protocols: ['ocpp1.6', 'ocpp2.1', 'ocpp2.0.1'] });
    await charger.connect();
    expect(charger.protocol).toBe('ocpp2.1');
  });
});

describe('A message in OCPP 1.6 without a management system', () => {
  const BOOT = { chargePointVendor: 'Maker', chargePointModel: 'Model' };

  async function connected(...options: Parameters<typeof runOcppSite>) {
    const all = await site(...options);
    const client = all.client();
    await client.connect();
    await client.call('BootNotification', BOOT);
    return { ...all, client };
  }

  it('is answered according to OCPP 1.6', async () => {
    const { client } = await connected();
    expect(await client.call('Authorize', { idTag: 'A' })).toEqual({ idTagInfo: { status: 'Accepted' } });
    expect(await client.call('DataTransfer', { vendorId: 'A' })).toEqual({ status: 'UnknownVendorId' });
    expect(await client.call('FirmwareStatusNotification', { status: 'Idle' })).toEqual({});
    expect(await client.call('DiagnosticsStatusNotification', { status: 'Idle' })).toEqual({});
    await expect(client.call('Nonsense', {})).rejects.toThrow();
  });

  it('starts a transaction with a rising id, and receives the same id after a repetition', async () => {
    const { client } = await connected();
    const start = { connectorId: 1, idTag: 'A', meterStart: 0, timestamp: '2026-06-01T17:00:00Z' };
    const first = (await client.call('StartTransaction', start)) as { transactionId: number };
    const again = (await client.call('StartTransaction', start)) as { transactionId: number };
    const next = (await client.call('StartTransaction', { ...start, meterStart: 5 })) as {
      transactionId: number;
    };
    expect(again.transactionId).toBe(first.transactionId);
    expect(next.transactionId).toBeGreaterThan(first.transactionId);
  });

  it('starts a transaction with a unique id, also after a reconnection and a restart of the gateway', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'headroom-ids-'));
    const { client } = await connected({ dataDir });
    const begin = async (by: typeof client, meterStart: number) => {
      const start = { connectorId: 1, idTag: 'A', meterStart, timestamp: '2026-06-01T17:00:00Z' };
      return ((await by.call('StartTransaction', start)) as { transactionId: number }).transactionId;
    };
    const ids: number[] = [];
    // Starts held back offline: in reality more than seconds pass between them.
    for (let i = 0; i < 12; i++) ids.push(await begin(client, i));
    const next = running?.client();
    await next?.connect();
    // The charger missed the answer to the last one.
    expect(await begin(next ?? client, 11)).toBe(ids.at(-1));
    ids.push(await begin(next ?? client, 12));
    // The charger got that id. Without clock and meter its next start has the same fields.
    await next?.call('StopTransaction', {
      transactionId: ids.at(-1),
      meterStop: 12,
      timestamp: '2026-06-01T17:00:00Z',
    });
    ids.push(await begin(next ?? client, 12));
    await running?.stop();
    const { client: last } = await connected({ dataDir });
    ids.push(await begin(last, 13));
    expect(ids).toEqual([...new Set(ids)].sort((one, other) => one - other));
    rmSync(dataDir, { recursive: true });
  });

  it('is answered by a list of id tags', async () => {
    const { client } = await connected({ idTags: { kind: 'list', idTags: new Set(['KNOWN']) } });
    expect(await client.call('Authorize', { idTag: 'KNOWN' })).toEqual({ idTagInfo: { status: 'Accepted' } });
    expect(await client.call('Authorize', { idTag: 'OTHER' })).toEqual({ idTagInfo: { status: 'Invalid' } });
  });

  it('is counted if it is not valid OCPP, and the connection stays open', async () => {
    const { client, count } = await connected();
    const malformed = () => count('headroom_gateway_messages_total', { result: 'malformed' });
    for (const frame of [
      '',
      '{}',
      '[]',
      '[2]',
      '[2,5,"Heartbeat",{}]',
      '[9,"a",{}]',
      'not json',
      '[4,"x","E","",{}]',
    ])
      client.sendRaw(frame);
    client.sendRaw('[2,"m","MeterValues",{"connectorId":1,"meterValue":[]}]');
    client.sendRaw('[2,"n","StatusNotification",{"connectorId":"one"}]');
    await eventually(async () => expect(await malformed()).toBeGreaterThanOrEqual(9));
    await expect(client.call('Heartbeat', {})).resolves.toHaveProperty('currentTime');
  });

  it('is answered twice if it is sent twice with one id', async () => {
    const { client } = await connected();
    const answers: unknown[] = [];
    client.on('message', ({ message, outbound }: { message: string; outbound: boolean }) => {
      if (!outbound && message.includes('"twice"')) answers.push(JSON.parse(message));
    });
    client.sendRaw('[2,"twice","Heartbeat",{}]');
    client.sendRaw('[2,"twice","Heartbeat",{}]');
    await eventually(() => expect(answers).toHaveLength(2));
    await expect(client.call('Heartbeat', {})).resolves.toHaveProperty('currentTime');
  });

  it('ends the connection after too many unsolicited errors', async () => {
    const { client, count, gateway } = await connected();
    const closed = new Promise((resolve) => client.once('close', resolve));
    for (let i = 0; i < 40; i++) client.sendRaw(`[4,"none-${i}","InternalError","",{}]`);
    await closed;
    expect(await count('headroom_gateway_messages_total', { result: 'malformed' })).toBeGreaterThan(20);
    await eventually(() => expect(gateway.bridges[0]?.isOpen).toBe(false));
    await expect(running?.client().connect()).resolves.toBeDefined();
  });

  it('ends the connection if it is too long or one of too many', async () => {
    const { client, client: first } = await connected();
    const closed = new Promise((resolve) => first.once('close', resolve));
    client.sendRaw(`[2,"a","DataTransfer",{"vendorId":"A","data":"${'x'.repeat(200_000)}"}]`);
    await closed;
    const second = running?.client();
    await second?.connect();
    const flooded = new Promise((resolve) => second?.once('close', resolve));
    for (let i = 0; i < 500; i++) second?.sendRaw(`[2,"h${i}","Heartbeat",{}]`);
    await flooded;
    expect(await running?.count('headroom_gateway_refusals_total', { reason: 'flood' })).toBeGreaterThan(0);
  });

  it('ends the connection if the charger reads no answers', async () => {
    const { client, gateway } = await connected();
    await client.close({ force: true });
    const { hostname, port, pathname } = new URL(running?.ocppUrl ?? '');
    const socket = connect(Number(port), hostname);
    const basic = Buffer.from(`${CLIENT.identity}:${CLIENT.password}`).toString('base64');
    const asks = [
      `GET ${pathname}/${CLIENT.identity} HTTP/1.1`,
      'host: a',
      'connection: upgrade',
      'upgrade: websocket',
      'sec-websocket-version: 13',
      `sec-websocket-key: ${Buffer.alloc(16).toString('base64')}`,
      'sec-websocket-protocol: ocpp1.6',
      `authorization: Basic ${basic}`,
    ];
    socket.on('error', () => {});
    socket.write(`${asks.join('\r\n')}\r\n\r\n`);
    await once(socket, 'data');
    socket.pause();
    const text = `[2,"${'x'.repeat(100_000)}","Nothing",{}]`;
    const head = Buffer.from([0x81, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    head.writeUInt32BE(text.length, 6);
    for (let i = 0; i < 300; i++) socket.write(Buffer.concat([head, Buffer.from(text)]));
    await eventually(() => expect(gateway.bridges[0]?.isOpen).toBe(false));
    expect(await running?.count('headroom_gateway_refusals_total', { reason: 'unread' })).toBeGreaterThan(0);
    socket.destroy();
  });
});
