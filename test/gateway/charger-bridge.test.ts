// A charger between its two connections: the gateway's timers while one is missing, and the state that outlasts one.
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { ConnectorId } from '../../machines/values/ids.js';
import { createVirtualClock } from '../../sim/virtual-clock.js';
import { bridgesOf } from '../../src/gateway/bridged-chargers.js';
import { openGatewayMemory } from '../../src/gateway/gateway-memory.js';
import { createGatewayMetrics } from '../../src/gateway/gateway-metrics.js';
import { OcppState, openOcppMemory, speaking } from '../../src/gateway/ocpp/ocpp-charger.js';
import { answerCall, type Call, type Protocol } from '../../src/gateway/ocpp/ocpp-dialect.js';
import type { LastWill } from '../../src/gateway/uplink.js';
import { parseProvisioning } from '../../src/provisioning/parse-provisioning.js';
import { type MeterMessage, meterSchema } from '../../src/wire/mqtt.js';
import { temporaryDirectory } from '../cli/headroom.js';
import { MACHINES, mutantsOf } from '../mutants/mutants.js';
import { silentLog } from '../service/running-service.js';

const fileOf = (connectorIds: readonly string[]) => ({
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
              connectors: connectorIds.map((connectorId) => ({
                connectorId,
                phases: 3,
                voltageV: 230,
                maxCurrentA: 32,
                status: 'ACTIVE',
              })),
            },
          ],
        },
      ],
    },
  ],
});

/** A charger that never answers, with a count of the timers that the gateway sets for it. */
function bridged(
  heartbeatMs: number,
  memory = openGatewayMemory(undefined),
  connectorIds = ['1'],
  ocppMemory = openOcppMemory(undefined),
) {
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
  const warnings: string[] = [];
  const log = { ...silentLog, warn: (_: object, words: string) => void warnings.push(words) };
  const { tenants } = parseProvisioning(JSON.stringify(fileOf(connectorIds)), 'charger-bridge');
  const [bridge] = bridgesOf(
    { tenants },
    {
      heartbeatMs,
      clock: counted,
      log,
      memory,
      stateOf: (address) => new OcppState(address, ocppMemory),
      metrics: createGatewayMetrics({ processMetrics: false }),
      newBoot: () => `boot-${++boots}`,
    },
  );
  if (bridge === undefined) throw new Error('the charger was left out');
  const speaks = (protocol: Protocol, call: Call = () => new Promise(() => {})) =>
    speaking(protocol, bridge, call, { clock: counted, log: silentLog, idTags: { kind: 'all' } });
  const { requests, events } = speaks('ocpp1.6');
  const said: string[] = [];
  const meters: MeterMessage[] = [];
  const wills: unknown[] = [];
  const uplink = {
    isListening: false,
    attach: async () => {},
    detach: () => {},
    setWill: ({ body }: LastWill) => void wills.push(body),
    publish: (topic: string, body: object) => {
      said.push(topic);
      if (topic.endsWith('/meter')) meters.push(meterSchema.parse(body));
    },
  };
  const socket = { dialect: requests, close() {} };
  const passed = async (seconds: number) => {
    for (let step = 0; step < 10 * seconds; step++) {
      clock.advance(100);
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  return { bridge, speaks, events, uplink, socket, said, meters, wills, warnings, set, clock, passed };
}

it('A retired bridge answers a late call of its charger, and stores nothing', async () => {
  const memory = openOcppMemory(undefined);
  const { bridge, events } = bridged(10_000, undefined, undefined, memory);
  const start = (meterStart: number) => {
    const timestamp = '2026-06-01T00:00:00Z';
    return events.answer('StartTransaction', { connectorId: 1, idTag: 'car', meterStart, timestamp });
  };
  await start(1);
  const stored = memory.transactionIds.get(bridge.address);
  expect(stored).toBeGreaterThan(0);
  bridge.retire();
  await expect(start(2)).resolves.toHaveProperty('transactionId');
  bridge.protocolState.csmsProfiles.began(1, 'tx', 0);
  bridge.review();
  expect(memory.transactionIds.get(bridge.address)).toBe(stored);
});

it('The gateway sets few timers for a charger without a service, and sends its state after the service returns', async () => {
  const { bridge, events, uplink, socket, said, set, clock } = bridged(10_000);
  await bridge.open(socket, uplink);
  for (let seconds = 0; seconds < 60; seconds += 5) {
    const status = seconds % 10 === 0 ? 'Available' : 'Preparing';
    events.received('StatusNotification', { connectorId: 1, status, errorCode: 'NoError' });
    clock.advance(5_000);
  }
  expect(set.timers).toBeLessThan(60);
  expect(said).toEqual([]);
  uplink.isListening = true;
  bridge.listening();
  expect(said.map((topic) => topic.split('/').at(-1))).toEqual(['state', 'meter']);
});

it('The gateway sets one timer per heartbeat for an idle charger with a heartbeat of 30 s', async () => {
  const { bridge, uplink, socket, set, clock } = bridged(30_000);
  await bridge.open(socket, uplink);
  set.timers = 0;
  clock.advance(600_000);
  expect(set.timers).toBe(20);
});

it('A charger has its current boot in its last will after each start', async () => {
  const { bridge, events, uplink, socket, wills, clock } = bridged(30_000);
  const started = { chargePointVendor: 'Maker', chargePointModel: 'Model' };
  const answer = { status: 'Accepted', currentTime: '2026-06-01T00:00:00Z', interval: 900 };
  await bridge.open(socket, uplink);
  for (let start = 0; start < 2; start++) {
    events.received('BootNotification', started);
    events.answered('BootNotification', started, answer);
    clock.advance(1_000);
  }
  expect(wills).toEqual(['boot-1', 'boot-2', 'boot-3'].map((boot) => ({ v: 1, online: false, boot })));
});

it('A limit in watts for a charger with one current value counts only the used phases', async () => {
  const site = bridged(10_000);
  const { bridge, speaks, events, uplink, socket, meters, clock, passed } = site;
  uplink.isListening = true;
  const told: unknown[] = [];
  const call = async (method: string, params: object) => {
    told.push(params);
    if (method !== 'GetConfiguration') return { status: 'Accepted' };
    const configurationKey = [
      { key: 'ChargingScheduleAllowedChargingRateUnit', readonly: true, value: 'Power' },
    ];
    return { configurationKey };
  };
  const timestamp = () => new Date(clock.nowMs()).toISOString();
  await bridge.open({ ...socket, dialect: speaks('ocpp1.6', call).requests }, uplink);
  events.received('StatusNotification', { connectorId: 1, status: 'Charging', errorCode: 'NoError' });
  const start = { connectorId: 1, idTag: 'A', meterStart: 0, timestamp: timestamp() };
  const { transactionId } = (await answerCall(events, 'StartTransaction', start)) as {
    transactionId: number;
  };
  await passed(5);
  const sampledValue = [
    { value: '2300', measurand: 'Power.Active.Import', unit: 'W' },
    { value: '10', measurand: 'Current.Import', unit: 'A' },
  ];
  const values = { connectorId: 1, transactionId, meterValue: [{ timestamp: timestamp(), sampledValue }] };
  await answerCall(events, 'MeterValues', values);
  await passed(1);
  const { boot = '', hb: ref = 0 } = meters.at(-1) ?? {};
  const limit = { v: 1, boot, epoch: 1, seq: 1, ref, ttlS: 60, limitA: 10, limitW: 6_900, thenA: 6 } as const;
  bridge.limit(bridge.connectors[0]?.connectorId as ConnectorId, { ...limit, reason: 'fairShare' });
  await passed(1);
  expect(told).toContainEqual(
    expect.objectContaining({
      csChargingProfiles: expect.objectContaining({
        chargingProfilePurpose: 'TxProfile',
        chargingSchedule: expect.objectContaining({
          chargingRateUnit: 'W',
          chargingSchedulePeriod: [expect.objectContaining({ limit: 2_300 }), expect.anything()],
        }),
      }),
    }),
  );
});

describe('A charger whose gateway cannot write to its disk', () => {
  const IDLE = { connectorId: 1, status: 'Available', errorCode: 'NoError' };

  /** A memory whose fail-safe file cannot be written, as on a full disk, until `free` is called. */
  function fullDisk() {
    const folder = temporaryDirectory();
    const logged: string[] = [];
    const log = {
      ...silentLog,
      info: (_: object, message: string) => void logged.push(message),
      error: (_: object, message: string) => void logged.push(message),
    };
    const unwritable = join(folder, 'ocpp-fail-safes.json.new');
    const fill = () => mkdirSync(unwritable);
    return {
      memory: openGatewayMemory(folder, log),
      logged,
      fill,
      free: () => rmSync(unwritable, { recursive: true }),
    };
  }

  async function joined(memory: ReturnType<typeof openGatewayMemory>) {
    const site = bridged(10_000, memory);
    site.uplink.isListening = true;
    await site.bridge.open(site.socket, site.uplink);
    site.events.received('StatusNotification', IDLE);
    return site;
  }

  it('is reported to the service after its fail-safe is on disk; the gateway retries every 5 s and logs once', async () => {
    const { memory, logged, fill, free } = fullDisk();
    fill();
    const { said, clock, bridge, events } = await joined(memory);
    clock.advance(60_000);
    expect(said).toEqual([]);
    expect(logged).toEqual(['facts about chargers cannot be written to the disk']);
    free();
    events.received('StatusNotification', IDLE);
    clock.advance(5_000);
    expect(said.map((topic) => topic.split('/').at(-1)).slice(0, 2)).toEqual(['state', 'meter']);
    expect(logged.slice(1)).toEqual(['facts about chargers are written to the disk again']);
    expect(memory.fallbacksA.get(bridge.address)).toEqual({ '1': 6 });
  });

  it('is reported as usual if its fail-safe is unchanged', async () => {
    const { memory, logged, fill } = fullDisk();
    memory.fallbacksA.set(bridged(10_000).bridge.address, { '1': 6 });
    fill();
    const { meters, clock } = await joined(memory);
    clock.advance(60_000);
    expect(meters.length).toBeGreaterThan(1);
    expect(logged).toEqual([]);
  });
});

describe('A charger that requests the time', () => {
  const IDLE = { connectorId: 1, status: 'Available', errorCode: 'NoError' };
  /** Records the later answer or error. */
  function asking({ events }: ReturnType<typeof bridged>) {
    const heard: { answer?: object; error?: unknown } = {};
    answerCall(events, 'Heartbeat', {}).then(
      (answer) => Object.assign(heard, { answer }),
      (error: unknown) => Object.assign(heard, { error }),
    );
    return heard;
  }
  async function passed({ clock }: ReturnType<typeof bridged>, ms: number): Promise<void> {
    clock.advance(ms);
    await new Promise((resolve) => setImmediate(resolve));
  }

  it('is answered with the current time after the service allows for later ends of its leases', async () => {
    const site = bridged(10_000);
    const { bridge, events, uplink, socket, meters } = site;
    uplink.isListening = true;
    await bridge.open(socket, uplink);
    events.received('StatusNotification', IDLE);
    await passed(site, 2_000);
    expect(meters.at(-1)).not.toHaveProperty('isEndOpen');
    const heard = asking(site);
    await passed(site, 1_000);
    expect(heard).toEqual({});
    const { boot, hb: ref = 0, isEndOpen } = meters.at(-1) ?? {};
    expect(isEndOpen).toBe(true);
    const limit = {
      v: 1,
      epoch: 1,
      seq: 1,
      ttlS: 60,
      limitA: 0,
      limitW: 0,
      thenA: 0,
      reason: 'idle',
    } as const;
    bridge.limit(bridge.connectors[0]?.connectorId as ConnectorId, { ...limit, boot: boot ?? '', ref });
    await passed(site, 0);
    expect(heard).toEqual({ answer: { currentTime: '2026-06-01T00:00:03.000Z' } });
  });

  it('is answered after 5 s if the service is unreachable, and has no lease left', async () => {
    const site = bridged(10_000);
    await site.bridge.open(site.socket, site.uplink);
    site.events.received('StatusNotification', IDLE);
    const heard = asking(site);
    await passed(site, 4_999);
    expect(heard).toEqual({});
    await passed(site, 1);
    expect(heard).toEqual({ answer: { currentTime: '2026-06-01T00:00:05.000Z' } });
  });

  it.each([
    ['one of a gateway before', { '1': 'Maker Model' }],
    ['one of a gateway of an earlier version', 'Maker Model'],
  ])('is answered with an error if it may hold a lease, as %s', async (_, kept) => {
    const memory = openGatewayMemory(undefined);
    const { address } = bridged(10_000).bridge;
    memory.provenFirmware.set(address, kept);
    memory.fallbacksA.set(address, { '1': 6 });
    const site = bridged(10_000, memory);
    await site.bridge.open(site.socket, site.uplink);
    const heard = asking(site);
    await passed(site, 0);
    expect(heard).toMatchObject({ error: { code: 'InternalError' } });
  });

  it.each(['ocpp1.6', 'ocpp2.0.1', 'ocpp2.1'] as const)(
    'is also answered after 5 s in %s with the time of the management system',
    async (protocol) => {
      const site = bridged(10_000);
      const { bridge, speaks, clock, uplink, socket } = site;
      await bridge.open(socket, uplink);
      bridge.session.receivedStatus(1, 'Available', undefined, clock.monotonicMs());
      const { events } = speaks(protocol);
      const left: object[] = [];
      // The management system's own clock.
      const given = { currentTime: '2026-06-01T02:30:00+02:00' };
      events.answered('Heartbeat', {}, given).then((answer) => left.push(answer));
      await passed(site, 4_999);
      expect(left).toEqual([]);
      await passed(site, 1);
      expect(left).toEqual([{ currentTime: '2026-06-01T00:30:05.000Z' }]);
    },
  );
});

describe('A charger with OCPP 2.0.1 that reconnects without a boot', () => {
  /** A charger with two EVSEs, which reconnects at each call from the gateway. */
  function reconnecting() {
    const site = bridged(10_000, openGatewayMemory(undefined), ['1', '2']);
    const { bridge, speaks, clock, uplink, meters } = site;
    uplink.isListening = true;
    const connect = async (protocol: Protocol) => {
      const { requests, events } = speaks(protocol);
      await bridge.open({ ...site.socket, dialect: requests }, uplink);
      const say = (method: string, params: object) => answerCall(events, method, params);
      const event = (eventType: string, more: object = {}) => {
        const timestamp = new Date(clock.nowMs()).toISOString();
        const meterValue = [{ timestamp, sampledValue: [{ value: 3000, measurand: 'Power.Active.Import' }] }];
        const transactionInfo = { transactionId: 'tx-1' };
        return say('TransactionEvent', { eventType, timestamp, transactionInfo, meterValue, ...more });
      };
      const status = (connectorStatus: string) =>
        say('StatusNotification', { connectorStatus, evseId: 2, connectorId: 1 });
      return { event, status };
    };
    return { connect, clock, meters, transaction: () => bridge.session.leaseAt(2)?.transaction };
  }
  const STARTED = { evse: { id: 2 }, transactionInfo: { transactionId: 'tx-1', chargingState: 'Charging' } };

  it('keeps the EVSE of its transaction and the state of the car', async () => {
    const { connect, clock, meters, transaction } = reconnecting();
    await (await connect('ocpp2.0.1')).event('Started', STARTED);
    clock.advance(2_000);
    const { event, status } = await connect('ocpp2.0.1');
    await status('Occupied');
    clock.advance(10_000);
    await event('Updated');
    clock.advance(2_000);
    expect(meters.at(-1)).toMatchObject({ status: 'Charging', powerW: 3000 });
    await event('Ended');
    expect(transaction()).toBeUndefined();
  });

  it('keeps the newest transaction of an EVSE and the previous one, despite lost ends', async () => {
    const { connect, clock, meters, transaction } = reconnecting();
    const { event } = await connect('ocpp2.0.1');
    const of = (transactionId: string, more: object = {}) => ({
      transactionInfo: { transactionId, ...more },
    });
    for (const id of ['tx-1', 'tx-2', 'tx-3'])
      await event('Started', { ...STARTED, ...of(id, { chargingState: 'Charging' }) });
    await event('Updated', of('tx-2'));
    expect(transaction()).toBe('tx-3');
    await event('Updated', of('tx-1', { chargingState: 'SuspendedEV' }));
    clock.advance(2_000);
    expect(meters.at(-1)).toMatchObject({ status: 'Charging' });
  });

  it('loses the state of the car if it used another version in between', async () => {
    const { connect, clock, meters } = reconnecting();
    await (await connect('ocpp2.1')).event('Started', STARTED);
    clock.advance(2_000);
    await connect('ocpp1.6');
    const { event, status } = await connect('ocpp2.0.1');
    await status('Occupied');
    clock.advance(2_000);
    await event('Updated');
    clock.advance(2_000);
    expect(meters.at(-1)).toMatchObject({ status: 'Preparing', powerW: 3000 });
  });
});

/** Without this part the first step of a configuration repeats without end. */
const ENDLESS = 'chargePoint.configuration.takenUp.configuring: step.answered 3';

it('A session that asks without end sends a hundred requests at once and then three a second, with a warning', async () => {
  const mutant = [...MACHINES.values()].flatMap(mutantsOf).find(({ name }) => name === ENDLESS);
  const putBack = mutant?.plant();
  const { bridge, uplink, socket, warnings, passed } = bridged(10_000);
  let asked = 0;
  const carryOut = async () => {
    if (++asked > 1_000) throw new Error('no limit holds');
    return {};
  };
  const dialect = new Proxy(socket.dialect, {
    get: ({ names }, name) => (name === 'names' ? names : carryOut),
  });
  try {
    await bridge.open({ ...socket, dialect }, uplink);
    await passed(3);
    expect(asked).toBeGreaterThanOrEqual(100);
    expect(asked).toBeLessThanOrEqual(104);
    await passed(10);
    expect(asked).toBeGreaterThanOrEqual(129);
    expect(asked).toBeLessThanOrEqual(134);
    expect(warnings).toEqual(['too many requests to a charger: the next ones wait']);
  } finally {
    putBack?.();
  }
});
