// A broker the operator runs: this service is one of its clients and hears the chargers of all tenants.
import { connect, type MqttClient } from 'mqtt';
import type { Clock } from '../../ports/clock.js';
import type { Log } from '../../ports/log.js';
import type { MessageBus } from '../../ports/telemetry.js';
import { createRareLog } from '../../rare-log.js';
import { TO_THE_SERVICE } from '../../wire/topics.js';

const RECONNECT_EVERY_MS = 1_000;
const CONNECT_TIMEOUT_MS = 5_000;
const KEEPALIVE_S = 30;

/**
 * A bus over the broker at `url`. `clientId` must be this process's own. `start` resolves after the first attempt to
 * connect, good or bad: attempts go on until `stop`, and `isHealthy` tells how it stands. What is published while there
 * is no connection is dropped, because it would be out of date by the time there is one.
 */
export function createExternalBroker(options: {
  readonly url: string;
  /** Who may have signed its certificate, as PEM; undefined for whom the system trusts. */
  readonly ca?: string | undefined;
  readonly clientId: string;
  readonly clock: Clock;
  readonly log: Log;
}): MessageBus {
  const { url, ca, clientId, clock, log } = options;
  const rareLog = createRareLog(clock);
  let client: MqttClient | undefined;
  let isSubscribed = false;

  function logFault(what: string, error: unknown): void {
    rareLog(what, () => log.warn({ err: error }, what));
  }

  async function subscribe(on: MqttClient): Promise<void> {
    try {
      const granted = await on.subscribeAsync([...TO_THE_SERVICE], { qos: 1 });
      isSubscribed = on.connected && granted.every(({ qos }) => qos < 128);
    } catch (error) {
      logFault('MQTT broker refused the subscription', error);
    }
  }

  return {
    async start(onMessage) {
      const connecting = connect(url, {
        clientId,
        clean: true,
        resubscribe: false,
        keepalive: KEEPALIVE_S,
        reconnectPeriod: RECONNECT_EVERY_MS,
        connectTimeout: CONNECT_TIMEOUT_MS,
        ...(ca === undefined ? {} : { ca }),
      });
      client = connecting;
      connecting.on('message', (topic, payload) => onMessage(topic, payload));
      connecting.on('error', (error) => logFault('MQTT broker cannot be reached', error));
      await new Promise<void>((resolve) => {
        connecting.on('close', () => {
          isSubscribed = false;
          resolve();
        });
        // A session starts clean, so each connection subscribes anew.
        connecting.on('connect', () => void subscribe(connecting).then(resolve));
      });
      return { url: withoutSecrets(url) };
    },
    publish(topic, payload, { qos, retain }) {
      if (client?.connected !== true) return;
      client.publish(topic, payload, { qos, retain }, (error) => {
        if (error) logFault('MQTT broker did not take a message', error);
      });
    },
    isHealthy: () => client?.connected === true && isSubscribed,
    async stop() {
      await client?.endAsync(client.connected !== true);
    },
  };
}

function withoutSecrets(url: string): string {
  const parsed = new URL(url);
  parsed.username = '';
  parsed.password = '';
  return parsed.href;
}
