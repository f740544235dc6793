// Virtual chargers and the service on the embedded broker. All their messages match the AsyncAPI document.

import { expect, it, onTestFinished } from 'vitest';
import type { ConnectorId, ControllerUuid, LocationId } from '../../machines/values/ids.js';
import { ChargerLink } from '../../sim/charger/charger-link.js';
import { HUNGRY } from '../../sim/charger/traffic.js';
import type { ChargerTraits } from '../../sim/charger/traits.js';
import { VirtualCharger } from '../../sim/charger/virtual-charger.js';
import { systemClock } from '../../src/clock.js';
import { hashSecret } from '../../src/secrets.js';
import { eventually } from '../eventually.js';
import { connectOnce } from '../mqtt-client.js';
import {
  CHARGER_PASSWORD,
  HARBOUR,
  provision,
  type RunningService,
  runService,
  site,
  tenantWith,
} from '../service/running-service.js';
import { asyncApiSchema, channelAt, deliveryOf, unnamedFields, validatorsOf } from './asyncapi-document.js';

const TIMING = { HEADROOM_HEARTBEAT_S: '1', HEADROOM_LEASE_TTL_S: '4', HEADROOM_SETTLE_S: '2' };
const GATEWAY_PASSWORD = 'a gateway knows this';
const LOCATION = 'quay.1' as LocationId;

const TRAITS: Readonly<Record<string, Partial<ChargerTraits>>> = {
  'q:1': {},
  'q:2': { lease: 'receipt' },
  'q:3': { misbehaviours: ['power-only'] },
};
const CONTROLLERS = Object.keys(TRAITS) as ControllerUuid[];

interface Said {
  readonly topic: string;
  readonly payload: string;
  readonly qos: number;
  readonly retain: boolean;
}

function tenant(maxCurrentA: number) {
  const chargers = CONTROLLERS.map((controllerUuid) => ({
    controllerUuid,
    mqttSecretHash: hashSecret(CHARGER_PASSWORD),
    connectors: [
      {
        connectorId: '1' as ConnectorId,
        voltageV: 230,
        maxCurrentA,
        failsafeA: 6,
        ...({ phases: 3, status: 'ACTIVE' } as const),
      },
    ],
  }));
  const gateway = {
    gatewayId: 'ear',
    mqttSecretHash: hashSecret(GATEWAY_PASSWORD),
    controllers: CONTROLLERS,
  };
  const { gateways: _none, ...rest } = tenantWith(HARBOUR, [{ ...site(LOCATION), chargers }]);
  return { ...rest, gateways: [gateway] };
}

/**
 * A gateway may subscribe to the messages for its chargers. Records raw bytes, QoS and retain as delivered by the
 * broker.
 */
async function listenDownward({ mqttUrl }: RunningService, said: Said[]): Promise<void> {
  const client = await connectOnce(mqttUrl, {
    clientId: 'ear',
    username: `${HARBOUR}/ear`,
    password: GATEWAY_PASSWORD,
    keepalive: 30,
    protocolVersion: 4,
  });
  onTestFinished(() => client.endAsync(true));
  client.on('message', (topic, payload, { qos, retain }) =>
    said.push({ topic, payload: payload.toString(), qos, retain }),
  );
  for (const controller of CONTROLLERS) {
    const prefix = `ems/v1/${HARBOUR}/quay%2E1/${controller.replace(':', '%3A')}`;
    await client.subscribeAsync([`${prefix}/sync`, `${prefix}/c/1/limit`], { qos: 1 });
  }
}

function startCharger({ mqttUrl }: RunningService, controllerUuid: ControllerUuid, said: Said[]) {
  const connectorId = '1' as ConnectorId;

  class OverheardCharger extends VirtualCharger {
    override lastWill() {
      const will = super.lastWill();
      if (will !== undefined) said.push(will);
      return will;
    }

    override takeMessages(nowMs: number, wallMs: number) {
      const messages = super.takeMessages(nowMs, wallMs);
      said.push(...messages);
      return messages;
    }
  }

  const charger = new OverheardCharger({
    address: { tenantUuid: HARBOUR, locationId: LOCATION, controllerUuid },
    connectors: [{ connectorId, phases: 3, voltageV: 230, maxCurrentA: 32, failsafeA: 6 }],
    boot: `boot of ${controllerUuid}`,
    seed: 1,
    traffic: HUNGRY,
    startsAtMs: systemClock.monotonicMs(),
    traits: { meterPeriodMs: 1000, pilotDelayMs: 100, ...TRAITS[controllerUuid] },
  });
  const login = { username: `${HARBOUR}/${controllerUuid}`, password: CHARGER_PASSWORD };
  const link = new ChargerLink({ url: mqttUrl, ...login, charger, clock: systemClock });
  onTestFinished(() => link.stop());
  return { charger, link };
}

it('the AsyncAPI document describes every message between virtual chargers and the service', async () => {
  const running = await runService([tenant(32)], {}, TIMING);
  onTestFinished(() => running.stop());
  const document = asyncApiSchema.parse((await running.send('GET', '/asyncapi.json')).body);
  const upward: Said[] = [];
  const downward: Said[] = [];
  await listenDownward(running, downward);
  const [honest] = CONTROLLERS.map((controller) => startCharger(running, controller, upward));
  const receivedFrom = (channel: string, text: string) =>
    [...upward, ...downward].filter(
      ({ topic, payload }) => channelAt(document, topic) === channel && payload.includes(text),
    );

  await eventually(() => expect(receivedFrom('ack', '"APPLIED"').length).toBeGreaterThan(4));
  await running.call('PUT', `/locations/${LOCATION}/limit`, { limitKw: 30 });
  await eventually(() => expect(receivedFrom('limit', '"fairShare"').length).toBeGreaterThan(2));
  honest?.link.reboot('another boot');
  await eventually(() => expect(receivedFrom('limit', '"boot":"another boot"').length).toBeGreaterThan(2));
  // A changed rating makes the service ask the connector for its state again.
  await provision(running.config, tenant(30));
  await eventually(() => expect(receivedFrom('sync', '').length).toBeGreaterThan(0));

  const seen = new Set<string>();
  const validators = validatorsOf(document);
  for (const { topic, payload, qos, retain } of [...upward, ...downward]) {
    const channel = channelAt(document, topic) ?? '';
    seen.add(channel);
    expect([topic, validators[channel]?.safeParse(JSON.parse(payload)).error?.issues]).toEqual([
      topic,
      undefined,
    ]);
    expect([payload, unnamedFields(document, channel, JSON.parse(payload))]).toEqual([payload, []]);
    expect([channel, { qos, retain }]).toEqual([channel, deliveryOf(document, channel)]);
  }
  expect([...seen].sort()).toEqual(['ack', 'limit', 'meter', 'state', 'sync']);
  const { metrics } = running;
  const counted = await metrics.mqttMessages.get();
  const refused = counted.values.filter(({ labels }) => labels.result === 'malformed');
  expect(refused).toEqual([]);
});
