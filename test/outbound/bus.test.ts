// The three ways between chargers and the service keep to one contract: the embedded broker, mosquitto, and fronts over NATS.
import { systemClock } from '../../src/clock.js';
import { createMqttLogins } from '../../src/inbound/mqtt/logins.js';
import { createMetrics } from '../../src/metrics.js';
import { EmbeddedBroker } from '../../src/outbound/mqtt/embedded-broker.js';
import { ExternalBroker } from '../../src/outbound/mqtt/external-broker.js';
import { FrontBus } from '../../src/outbound/nats/front-bus.js';
import { NatsBus } from '../../src/outbound/nats/nats-bus.js';
import { freePort } from '../free-port.js';
import { startMosquitto } from '../mosquitto.js';
import { startNats } from '../nats.js';
import { missingPrograms, needing } from '../needs.js';
import { silentLog } from '../service/running-service.js';
import { describeBus } from './bus-contract.js';
import { CREDENTIALS, SETTINGS } from './mqtt/broker-rig.js';

const common = () => ({ clock: systemClock, log: silentLog, metrics: createMetrics() });

describeBus('the embedded broker', {}, async () => {
  const config = { ...SETTINGS, mqttPort: await freePort() };
  const bus = new EmbeddedBroker({ config, ...common(), logins: createMqttLogins(CREDENTIALS) });
  return { bus, urlOf: () => `mqtt://127.0.0.1:${config.mqttPort}`, stop: async () => {} };
});

const openMosquitto = async () => {
  const port = await freePort();
  let broker = await startMosquitto({ port, isClientIdTheUsername: true });
  const bus = new ExternalBroker({
    url: broker.url.replace('//', '//service@'),
    clientId: 'headroom',
    clock: systemClock,
    log: silentLog,
  });
  return {
    bus,
    urlOf: () => broker.url,
    leave: () => broker.stop(),
    stop: () => broker.stop(),
    comeBack: async () => {
      broker = await startMosquitto({ port, isClientIdTheUsername: true });
    },
  };
};

const openFronts = async () => {
  const nats = await startNats();
  const fronts = await Promise.all(
    [0, 1, 2].map(async () => {
      const frontBus = new FrontBus({ url: nats.url, name: 'front', ...common() });
      const logins = createMqttLogins(CREDENTIALS);
      const broker = new EmbeddedBroker({ config: SETTINGS, ...common(), logins, siblings: frontBus });
      await frontBus.start((topic, payload) => broker.publish(topic, payload, { qos: 1, retain: false }));
      const { url } = await broker.start((topic, payload) => frontBus.send(topic, payload));
      const stop = async () => {
        await broker.stop();
        await frontBus.stop();
      };
      return { url, stop };
    }),
  );
  return {
    bus: new NatsBus({ url: nats.url, name: 'node', ...common() }),
    urlOf: (time: number) => fronts[time % fronts.length]?.url ?? '',
    leave: () => nats.kill(),
    comeBack: () => nats.start(),
    async stop() {
      for (const front of fronts) await front.stop();
      await nats.stop();
    },
  };
};

describeBus('mosquitto', needing(missingPrograms('mosquitto')), openMosquitto, { areStatesKept: true });
describeBus('fronts over NATS', needing(missingPrograms('nats-server')), openFronts, {
  areStatesKept: false,
});
