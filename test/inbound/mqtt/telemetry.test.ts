// From bytes to the ledger: accepted messages of chargers, and hostile ones.
import { createClock } from '@sinonjs/fake-timers';
import fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import { MeterLedger, type MeterSlot } from '../../../machines/power/meter-ledger.js';
import { Telemetry } from '../../../src/inbound/mqtt/telemetry.js';
import { createMetrics, type Metrics } from '../../../src/metrics.js';
import type { Clock } from '../../../src/ports/clock.js';
import type { TelemetryHandler, TopicMemo } from '../../../src/ports/telemetry.js';
import { HARBOUR, type LogLine, recordingLog, STRANGER, topicOf } from '../../outbound/mqtt/broker-rig.js';

const METER = topicOf('c/1/meter');
const STATE = topicOf('state');
const FULL = {
  v: 1,
  boot: '0b6cf0c4-6d0f-4e0e-9f0a-5f6c3b1d2a10',
  hb: 17,
  at: '2026-06-01T17:00:00.000Z',
  status: 'Charging',
  powerW: 7360,
  currentA: [10.6, 10.7, 10.7],
  voltageV: [230.1, 229.9, 230],
  energyWh: 123456,
  epoch: 0,
  seq: 0,
  limitA: 16,
  leaseLeftS: 41.5,
};

let now: ReturnType<typeof createClock>;
let ledger: MeterLedger;
let slot: MeterSlot;
let lines: LogLine[];
let metrics: Metrics;
let lookUps: number;
let receive: Telemetry['receive'];
let send: (topic: string, payload: Buffer) => void;

/** One charger of one location, in front of a real ledger. */
function sinkOf(): TelemetryHandler {
  const isOurs = (tenant: string, location: string, charger: string) =>
    tenant === HARBOUR && location === 'quay-1' && charger === 'q1-a';
  return {
    connectorMeter(tenantUuid, locationId, controllerUuid, connectorId) {
      lookUps++;
      if (connectorId !== '1' || !isOurs(tenantUuid, locationId, controllerUuid)) return undefined;
      const found = slot;
      if (!found.isCurrent) return undefined;
      return {
        get isCurrent() {
          return found.isCurrent;
        },
        record: (reading, nowMs) => ledger.record(found, reading, nowMs),
        acknowledge: () => 'refused',
      };
    },
    recordState(tenantUuid, locationId, controllerUuid, { online, boot }) {
      if (!isOurs(tenantUuid, locationId, controllerUuid)) return undefined;
      return ledger.recordState(slot, { online, boot }, 0);
    },
    recordSite: () => undefined,
  };
}

beforeEach(() => {
  now = createClock();
  const clock: Clock = {
    nowMs: () => now.Date.now(),
    monotonicMs: () => now.performance.now(),
    after: () => () => {},
  };
  ledger = new MeterLedger(30_000);
  slot = ledger.addConnector('1');
  lines = [];
  lookUps = 0;
  metrics = createMetrics();
  const telemetry = new Telemetry({ sink: sinkOf(), clock, log: recordingLog(lines), metrics });
  receive = (topic, payload, memo) => telemetry.receive(topic, payload, memo);
  send = (topic, payload) => receive(topic, payload);
});

function sendJson(topic: string, value: unknown): void {
  send(topic, Buffer.from(JSON.stringify(value)));
}

async function counts(): Promise<Record<string, number>> {
  const { values } = await metrics.mqttMessages.get();
  const counted = values.filter(({ value }) => value > 0);
  return Object.fromEntries(counted.map(({ labels, value }) => [`${labels.kind} ${labels.result}`, value]));
}

describe('a meter value', () => {
  it('reaches the ledger with every number it carries', async () => {
    sendJson(METER, FULL);
    const { powerW, boot, hb, status, limitA, currentA, voltageV, energyWh } = FULL;
    expect(slot).toMatchObject({
      isFresh: true,
      powerW,
      boot,
      hb,
      status,
      limitA,
      currentA,
      voltageV,
      energyWh,
    });
    expect(await counts()).toEqual({ 'meter accepted': 1 });
  });

  it('may be powerW alone', () => {
    sendJson(METER, { powerW: 3_680 });
    expect(ledger.measuredW).toBe(3_680);
    sendJson(METER, { powerW: 0 });
    expect(ledger.measuredW).toBe(0);
  });

  it('is counted as stale when doubled, and changes nothing', async () => {
    sendJson(METER, FULL);
    sendJson(METER, { ...FULL, powerW: 1 });
    expect(ledger.measuredW).toBe(7_360);
    expect(await counts()).toEqual({ 'meter accepted': 1, 'meter stale': 1 });
  });

  it('has its unknown fields ignored', () => {
    send(METER, Buffer.from('{"powerW":5,"x":{"y":[1]},"__proto__":{"powerW":9},"constructor":1}'));
    expect(ledger.measuredW).toBe(5);
    expect(Object.keys(Object.prototype)).toEqual([]);
  });

  it.each([
    ['a version that is not 1', { powerW: 1, v: 2 }],
    ['no powerW', { hb: 1 }],
    ['power below 0, which would hide what others draw', { powerW: -1 }],
    ['powerW as text', { powerW: '1' }],
    ['powerW null', { powerW: null }],
    ['powerW with a fraction', { powerW: 0.5 }],
    ['powerW beyond any charger', { powerW: 10_000_001 }],
    ['an empty boot', { powerW: 1, boot: '' }],
    ['a boot of 65 characters', { powerW: 1, boot: 'x'.repeat(65) }],
    ['a negative hb', { powerW: 1, hb: -1 }],
    ['an hb that is no integer', { powerW: 1, hb: 2 ** 53 }],
    ['a status OCPP does not know', { powerW: 1, status: 'charging' }],
    ['two phases', { powerW: 1, currentA: [1, 2] }],
    ['a phase that is no number', { powerW: 1, voltageV: [230, 230, null] }],
    ['a negative limit', { powerW: 1, limitA: -1 }],
    ['a list', [{ powerW: 1 }]],
    ['a number', 1],
    ['null', null],
  ])('with %s is dropped and counted', async (_, value) => {
    sendJson(METER, value);
    expect(await counts()).toEqual({ 'meter malformed': 1 });
    expect(slot.isFresh).toBe(false);
  });

  it.each([
    ['nothing', ''],
    ['no JSON', 'powerW=1'],
    ['half of it', '{"powerW":'],
    ['a number beyond all', '{"powerW":1e999}'],
    ['NaN', '{"powerW":NaN}'],
    ['16 KiB of brackets', '['.repeat(16_384)],
    ['16 KiB of nested objects', `${'{"powerW":'.repeat(1_600)}`],
    ['deep, well-formed JSON', `{"powerW":${'['.repeat(8_000)}${']'.repeat(8_000)}}`],
    ['an inherited powerW', '{"__proto__":{"powerW":1}}'],
    ['bytes that are no UTF-8', '\u00ff\u00fe{"powerW"'],
    ['more than 16 KiB', `{"powerW":1,"x":"${'x'.repeat(16_384)}"}`],
  ])('of %s is dropped and counted', async (_, text) => {
    send(METER, Buffer.from(text, 'latin1'));
    expect(await counts()).toEqual({ 'meter malformed': 1 });
    expect(ledger.measuredW).toBe(0);
  });

  it('of any bytes never throws, and never makes the total anything but an integer', () => {
    const payloads = fc.oneof(
      fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
      fc.json().map((text) => Buffer.from(text)),
      fc
        .dictionary(fc.constantFrom('powerW', 'hb', 'boot', 'limitA', 'currentA', 'v'), fc.jsonValue())
        .map((value) => Buffer.from(JSON.stringify(value))),
    );
    fc.assert(
      fc.property(payloads, fc.constantFrom(METER, STATE, 'x', topicOf('c/2/meter')), (payload, topic) => {
        send(topic, payload);
        expect(Number.isSafeInteger(ledger.measuredW)).toBe(true);
      }),
    );
  });
});

describe('a topic', () => {
  it.each([
    ["another tenant's", topicOf('c/1/meter', 'q1-a', STRANGER)],
    ['an unknown charger', topicOf('c/1/meter', 'q9-z')],
    ['an unknown connector', topicOf('c/2/meter')],
  ])('of %s is unknown, however often it comes', async (_, topic) => {
    sendJson(topic, FULL);
    sendJson(topic, FULL);
    expect(await counts()).toEqual({ 'meter unknown': 2 });
    expect(ledger.measuredW).toBe(0);
  });

  it('is looked up once while its connector is current, and again after it was removed', async () => {
    for (let hb = 1; hb <= 3; hb++) sendJson(METER, { powerW: hb, hb });
    expect(lookUps).toBe(1);
    ledger.removeConnector(slot);
    sendJson(METER, { powerW: 9, hb: 9 });
    expect(await counts()).toEqual({ 'meter accepted': 3, 'meter unknown': 1 });
    slot = ledger.addConnector('1');
    sendJson(METER, { powerW: 4, hb: 1 });
    expect(ledger.measuredW).toBe(4);
    expect(lookUps).toBe(3);
  });

  it('is looked up once for each connection that keeps a memo of it', async () => {
    const memos: readonly TopicMemo[] = [{}, {}];
    const [first, second] = memos;
    const from = (hb: number, memo?: TopicMemo) =>
      receive(METER, Buffer.from(JSON.stringify({ powerW: hb, hb })), memo);
    for (let hb = 1; hb <= 4; hb++) from(hb, hb % 2 === 0 ? first : second);
    expect(lookUps).toBe(2);
    ledger.removeConnector(slot);
    from(9, first);
    expect(first).toEqual({});
    slot = ledger.addConnector('1');
    from(1, first);
    from(2, second);
    expect([lookUps, ledger.measuredW]).toEqual([5, 2]);
    expect(await counts()).toEqual({ 'meter accepted': 6, 'meter unknown': 1 });
  });

  it('that chargers do not publish to is passed over', async () => {
    for (const rest of ['sync', 'c/1/limit', 'c/1/else']) sendJson(topicOf(rest), FULL);
    send('$SYS/broker', Buffer.alloc(0));
    expect(await counts()).toEqual({});
  });
});

describe("a charger's state", () => {
  it('takes its connectors offline, as its last will does, and back', async () => {
    sendJson(METER, FULL);
    sendJson(STATE, { v: 1, online: false, boot: FULL.boot, connectors: [] });
    expect(slot.isFresh).toBe(false);
    const connectors = [{ id: '1', phases: 3, minA: 6, maxA: 32, failsafeA: 6, lease: 'heartbeat' }];
    sendJson(STATE, { v: 1, online: true, boot: 'next', firmware: '1.2', connectors });
    expect(slot).toMatchObject({ isFresh: false, boot: 'next' });
    sendJson(STATE, { online: false, boot: FULL.boot });
    sendJson(topicOf('state', 'q9-z'), { online: true });
    expect(await counts()).toEqual({
      'meter accepted': 1,
      'state accepted': 2,
      'state stale': 1,
      'state unknown': 1,
    });
  });

  it.each([
    ['no word on being online', {}],
    ['online as text', { online: 'true' }],
    [
      'two phases',
      { online: true, connectors: [{ id: '1', phases: 2, minA: 6, maxA: 32, failsafeA: 6, lease: 'none' }] },
    ],
    [
      'an unknown lease',
      { online: true, connectors: [{ id: '1', phases: 1, minA: 6, maxA: 32, failsafeA: 6, lease: 'x' }] },
    ],
    [
      'too many connectors',
      {
        online: true,
        connectors: Array(101).fill({ id: '1', phases: 1, minA: 6, maxA: 32, failsafeA: 6, lease: 'none' }),
      },
    ],
    ['another version', { v: '1', online: true }],
  ])('with %s is dropped and counted', async (_, value) => {
    sendJson(STATE, value);
    expect(await counts()).toEqual({ 'state malformed': 1 });
  });
});

describe('the log', () => {
  it('names a charger that sends nonsense once a minute', () => {
    for (let i = 0; i < 100; i++) sendJson(METER, { powerW: 'much' });
    expect(lines).toHaveLength(1);
    expect(lines[0]?.fields).toMatchObject({ charger: topicOf('').slice(0, -1), kind: 'meter' });
    now.tick(59_000);
    sendJson(STATE, {});
    expect(lines).toHaveLength(1);
    now.tick(2_000);
    sendJson(STATE, {});
    expect(lines).toHaveLength(2);
    expect(lines[1]?.fields).toMatchObject({ kind: 'state', problem: expect.stringContaining('online') });
  });

  it.each([
    ['{', /^message: must be JSON of at most 16384 bytes$/],
    ['null', /^message: must be a group of fields: .*, not null$/],
    ['{"powerW":"4"}', /^powerW: must be a number, not text$/],
    ['{"powerW":4,"status":"charging"}', /^status: must be one of Available, [^:]*Unavailable$/],
  ])('has the field and the rule of %s in plain words', (text, problem) => {
    send(METER, Buffer.from(text));
    expect(lines.map(({ fields }) => fields)).toEqual([
      expect.objectContaining({ problem: expect.stringMatching(problem) }),
    ]);
  });

  it('names a fault of ours, and the next message is taken all the same', async () => {
    let isBroken = true;
    const clock: Clock = { nowMs: () => 0, monotonicMs: () => 0, after: () => () => {} };
    const sink = sinkOf();
    const faulty: TelemetryHandler = {
      ...sink,
      connectorMeter(...ids) {
        if (isBroken) throw new Error('planted');
        return sink.connectorMeter(...ids);
      },
    };
    const telemetry = new Telemetry({ sink: faulty, clock, log: recordingLog(lines), metrics });
    telemetry.receive(METER, Buffer.from('{"powerW":1}'));
    isBroken = false;
    telemetry.receive(METER, Buffer.from('{"powerW":2}'));
    expect(ledger.measuredW).toBe(2);
    expect(lines).toMatchObject([{ level: 'error', message: 'telemetry failed' }]);
  });
});
