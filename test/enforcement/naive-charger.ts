// A charger written from the MQTT contract alone. The test controls every reading and every answer.

import type { LimitMessage } from '../../src/wire/mqtt.js';
import { connectOnce } from '../mqtt-client.js';
import { CHARGER_PASSWORD, HARBOUR } from '../service/running-service.js';
import type { EnforcementRig } from './enforcement-rig.js';

export type Fields = Readonly<Record<string, unknown>>;

export interface NaiveCharger {
  /** Received limits, oldest first. */
  readonly limits: readonly LimitMessage[];
  /** Number of requests for its state. */
  syncs(): number;
  last(): LimitMessage;
  /** Time at which the charger sent heartbeat `hb`, ms on the rig's clock. */
  saidAtMs(hb: number): number;
  /** Sends `…/state` with one connector, "1". */
  state(fields?: Fields): Promise<void>;
  /** Sends a heartbeat with a draw of `currentA` on three phases of 230 V. */
  meter(currentA: number, fields?: Fields): Promise<void>;
  /** Sends `…/ack` for the last limit, with `fields` changed. */
  ack(fields?: Fields): Promise<void>;
  /** Sends any message on any topic. */
  publish(topic: string, message: Fields): Promise<void>;
  topic(rest: string): string;
  stop(): Promise<void>;
}

export async function connectNaiveCharger(
  rig: EnforcementRig,
  locationId: string,
  controllerUuid: string,
): Promise<NaiveCharger> {
  const boot = 'naive-boot';
  const topic = (rest: string) => `ems/v1/${HARBOUR}/${locationId}/${controllerUuid}/${rest}`;
  const client = await connectOnce(rig.mqttUrl, {
    clientId: controllerUuid,
    username: `${HARBOUR}/${controllerUuid}`,
    password: CHARGER_PASSWORD,
    protocolVersion: 4,
    keepalive: 30,
  });
  const limits: LimitMessage[] = [];
  const saidAtMs: number[] = [];
  let syncs = 0;
  client.on('message', (heard, payload) => {
    if (heard === topic('sync')) {
      syncs++;
      return;
    }
    limits.push(JSON.parse(payload.toString()));
    rig.noteLimitHeard();
  });
  await client.subscribeAsync([topic('c/1/limit'), topic('sync')], { qos: 1 });

  function last(): LimitMessage {
    const limit = limits.at(-1);
    if (limit === undefined) throw new Error('it was sent no limit');
    return limit;
  }

  async function publish(to: string, message: Fields): Promise<void> {
    await client.publishAsync(to, JSON.stringify(message), { qos: 1 }).catch((error) => {
      // The broker never acknowledges a refused message. It cuts the connection.
      if (client.connected) throw error;
    });
    await rig.settle();
  }

  return {
    limits,
    syncs: () => syncs,
    last,
    topic,
    publish,
    state: (fields = {}) =>
      publish(topic('state'), {
        v: 1,
        online: true,
        boot,
        connectors: [{ id: '1', phases: 3, minA: 6, maxA: 32, failsafeA: 6, lease: 'heartbeat', ...fields }],
      }),
    saidAtMs: (hb) => saidAtMs[hb - 1] ?? Number.NaN,
    meter(currentA, fields = {}) {
      const hb = saidAtMs.push(rig.clock.monotonicMs());
      return publish(topic('c/1/meter'), {
        v: 1,
        boot,
        hb,
        status: 'Charging',
        powerW: Math.round(currentA * 690),
        currentA: [currentA, currentA, currentA],
        voltageV: [230, 230, 230],
        epoch: 0,
        seq: 0,
        ...fields,
      });
    },
    async ack(fields = {}) {
      const { epoch, seq, limitA } = last();
      const message = { v: 1, boot, epoch, seq, result: 'APPLIED', appliedA: limitA, ...fields };
      await publish(topic('c/1/ack'), message);
    },
    stop: () => client.endAsync(true),
  };
}
