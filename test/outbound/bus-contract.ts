// The contract of any bus between chargers and the service, tested at both ends: with real MQTT clients and at the
// port.
import type { IClientOptions, MqttClient } from 'mqtt';
import type { TestOptions } from 'vitest';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { TenantUuid } from '../../machines/values/ids.js';
import type { MessageBus } from '../../src/ports/telemetry.js';
import { eventually } from '../eventually.js';
import { connectOnce } from '../mqtt-client.js';
import { HARBOUR, STRANGER, topicOf } from './mqtt/broker-rig.js';

export interface BusUnderTest {
  readonly bus: MessageBus;
  /** The broker's URL for a charger's nth connection: another each time, if there are several. */
  readonly urlOf: (time: number) => string;
  /** Stop and start a bus that runs separately from the service. */
  readonly leave?: () => Promise<void>;
  readonly comeBack?: () => Promise<void>;
  stop(): Promise<void>;
}

type Heard = { readonly topic: string; readonly text: string };

const QOS_1 = { qos: 1, retain: false } as const;
const ONLINE = '{"online":true}';
const OFFLINE = '{"online":false}';

/**
 * @param between given for a bus that runs separately from the service: whether it keeps the last states of chargers
 * meanwhile
 */
export function describeBus(
  name: string,
  options: TestOptions,
  open: () => Promise<BusUnderTest>,
  between?: { readonly areStatesKept: boolean },
): void {
  describe(`a bus between chargers and the service: ${name}`, options, () => {
    let under: BusUnderTest;
    let heard: Heard[];
    let clients: MqttClient[];
    let timesBack: number;

    beforeEach(async () => {
      under = await open();
      heard = [];
      clients = [];
      timesBack = 0;
    });

    afterEach(async () => {
      await Promise.all(clients.map((client) => client.endAsync(true)));
      await under.bus.stop();
      await under.stop();
    });

    async function start(): Promise<void> {
      const onMessage = (topic: string, payload: Buffer) => heard.push({ topic, text: payload.toString() });
      await under.bus.start(onMessage, () => void timesBack++);
      await eventually(() => expect(under.bus.isHealthy()).toBe(true));
    }

    /** @param time number of its earlier connections */
    async function charger(
      controller = 'q1-a',
      { tenant = HARBOUR, time = 0, ...rest }: IClientOptions & { tenant?: string; time?: number } = {},
    ): Promise<MqttClient> {
      const client = await connectOnce(under.urlOf(time), {
        clientId: controller,
        username: `${tenant}/${controller}`,
        password: `password of ${controller}`,
        keepalive: 30,
        will: {
          topic: topicOf('state', controller, tenant),
          payload: Buffer.from(OFFLINE),
          qos: 1,
          retain: true,
        },
        ...rest,
      });
      clients.push(client);
      return client;
    }

    function hears(text: string, topic?: string): Promise<void> {
      return eventually(() =>
        expect(heard.filter((each) => each.text === text && topic === (topic && each.topic))).not.toEqual([]),
      );
    }

    const statesHeard = () => heard.filter(({ topic }) => topic === topicOf('state')).map(({ text }) => text);

    it('delivers messages of chargers of all tenants with their topics, in the order of sending', async () => {
      await start();
      const own = await charger();
      const foreign = await charger('q1-a', { tenant: STRANGER });
      for (let i = 0; i < 10; i++) own.publish(topicOf('c/1/meter'), `${i}`, { qos: 1 });
      await own.publishAsync(topicOf('c/1/ack'), 'ä"\n', { qos: 1 });
      await foreign.publishAsync(topicOf('c/1/meter', 'q1-a', STRANGER), 'foreign', { qos: 1 });
      await hears('ä"\n', topicOf('c/1/ack'));
      await hears('foreign', topicOf('c/1/meter', 'q1-a', STRANGER));
      const meters = heard.filter(({ topic }) => topic === topicOf('c/1/meter'));
      expect(meters.map(({ text }) => text)).toEqual(Array.from({ length: 10 }, (_, i) => `${i}`));
    });

    it('delivers a limit to its charger, and to no other', async () => {
      await start();
      const got: string[] = [];
      for (const [controller, tenant] of [
        ['q1-a', HARBOUR],
        ['q1-b', HARBOUR],
        ['q1-a', STRANGER],
      ] as const) {
        const client = await charger(controller, { tenant });
        client.on('message', (topic, payload) => got.push(`${topic} ${payload}`));
        await client.subscribeAsync(topicOf('c/1/limit', controller, tenant), { qos: 1 });
      }
      under.bus.publish(topicOf('c/1/limit'), 'six', QOS_1);
      under.bus.publish(topicOf('c/1/limit', 'q1-a', STRANGER), 'seven', QOS_1);
      await eventually(() => expect(got).toHaveLength(2));
      expect(got.sort()).toEqual([
        `${topicOf('c/1/limit')} six`,
        `${topicOf('c/1/limit', 'q1-a', STRANGER)} seven`,
      ]);
    });

    it('publishes the last will of a charger after a broken connection, and none after a clean disconnect', async () => {
      await start();
      const first = await charger();
      await first.publishAsync(topicOf('state'), ONLINE, { qos: 1 });
      await first.endAsync();
      const second = await charger('q1-a', { time: 1 });
      await second.publishAsync(topicOf('c/1/meter'), 'second', { qos: 1 });
      await hears('second');
      expect(statesHeard()).not.toContain(OFFLINE);
      second.stream.destroy();
      await hears(OFFLINE, topicOf('state'));
    });

    it('delivers the newest state of a charger last, though its old connection was still open', async () => {
      await start();
      for (let time = 0; time < 6; time++) {
        const client = await charger('q1-a', { time });
        await client.publishAsync(topicOf('state'), `online ${time}`, { qos: 1 });
        await hears(`online ${time}`);
        // Messages from earlier connections that were still pending have arrived by then.
        await client.publishAsync(topicOf('c/1/meter'), `after ${time}`, { qos: 1 });
        await hears(`after ${time}`);
        expect(statesHeard().at(-1)).toBe(`online ${time}`);
      }
      await eventually(() => expect(clients.filter(({ connected }) => connected)).toHaveLength(1));
      expect(statesHeard().at(-1)).toBe('online 5');
    });

    it('delivers nothing after its stop', async () => {
      await start();
      const client = await charger();
      await under.bus.stop();
      expect(under.bus.isHealthy()).toBe(false);
      const closed = client.stream.closed
        ? Promise.resolve()
        : new Promise((resolve) => client.stream.once('close', resolve));
      if (client.connected) client.publish(topicOf('c/1/meter'), 'too late');
      client.stream.destroy();
      await closed;
      expect(heard).toEqual([]);
    });

    if (between === undefined) return;

    it('delivers only messages of the tenants that it listens to, and adds new tenants to earlier ones', async () => {
      const { bus } = under;
      bus.listenTo?.([STRANGER as TenantUuid]);
      await start();
      const own = await charger();
      const foreign = await charger('q1-a', { tenant: STRANGER });
      const meter = (text: string) => own.publishAsync(topicOf('c/1/meter'), text, { qos: 1 });
      const foreignMeter = (text: string) =>
        foreign.publishAsync(topicOf('c/1/meter', 'q1-a', STRANGER), text, { qos: 1 });
      await meter('early');
      await foreignMeter('theirs');
      await hears('theirs');
      expect(heard.map(({ text }) => text)).toEqual(['theirs']);
      bus.listenTo?.([HARBOUR as TenantUuid]);
      await eventually(async () => {
        await meter('late');
        expect(heard.map(({ text }) => text)).toContain('late');
      });
      await foreignMeter('theirs still');
      await hears('theirs still');
    });

    it('drops messages during an outage, and reports its return if chargers must report again', async () => {
      const { bus, leave, comeBack } = under;
      await start();
      await leave?.();
      await eventually(() => expect(bus.isHealthy()).toBe(false));
      bus.publish(topicOf('sync'), 'while away', QOS_1);
      await comeBack?.();
      await eventually(() => expect(bus.isHealthy()).toBe(true));
      const got: string[] = [];
      await eventually(async () => {
        const client = await charger();
        client.on('message', (_, payload) => got.push(payload.toString()));
        await client.subscribeAsync(topicOf('sync'), { qos: 1 });
        await client.publishAsync(topicOf('c/1/meter'), 'back', { qos: 1 });
        expect(heard.map(({ text }) => text)).toContain('back');
      });
      bus.publish(topicOf('sync'), 'now', QOS_1);
      await eventually(() => expect(got).toContain('now'));
      expect(got).not.toContain('while away');
      expect(timesBack).toBe(between.areStatesKept ? 0 : 1);
    });
  });
}
