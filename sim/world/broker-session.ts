// One virtual charger's session with the real broker: its client, its last will and its subscriptions.
import { Socket } from 'node:net';
import { connectAsync, type MqttClient } from 'mqtt';
import type { ChargerAddress } from '../../machines/values/ids.js';
import type { ChargerMessage } from '../charger/charger-message.js';

export interface BrokerSession {
  publish(message: ChargerMessage): void;
  /** Breaks the connection without a goodbye, so that the broker publishes the last will. */
  cut(): void;
  /** Ends the session in order: the broker publishes no last will. */
  leave(): Promise<void>;
}

/** Virtual time runs at any speed, keepalives in true time, so neither side may treat a long wait as silence. */
export const KEEPALIVE_S = 65_535;

/**
 * Connects as the contract requires, and resolves once `topics` are subscribed.
 * @param options.onClose called when the broker ends the session, not after `cut` or `leave`
 */
export async function openBrokerSession(options: {
  readonly url: string;
  readonly ca: string | undefined;
  readonly charger: ChargerAddress;
  readonly password: string;
  readonly lastWill: ChargerMessage | undefined;
  readonly topics: readonly string[];
  readonly onMessage: (topic: string, payload: Buffer) => void;
  readonly onClose: () => void;
}): Promise<BrokerSession> {
  const { url, ca, charger, password, lastWill, topics, onMessage, onClose } = options;
  const client = await connectAsync(
    url,
    {
      clientId: charger.controllerUuid,
      username: `${charger.tenantUuid}/${charger.controllerUuid}`,
      password,
      protocolVersion: 4,
      clean: true,
      keepalive: KEEPALIVE_S,
      reschedulePings: false,
      reconnectPeriod: 0,
      ...(ca === undefined ? {} : { ca }),
      ...(lastWill === undefined ? {} : { will: willOf(lastWill) }),
    },
    false,
  );
  sendAtOnce(client);
  client.on('message', onMessage);
  // `close` follows every error.
  client.on('error', () => {});
  if (topics.length > 0) await client.subscribeAsync([...topics], { qos: 1 });
  client.on('close', onClose);
  return {
    publish({ topic, payload, qos, retain }) {
      client.publish(topic, payload, { qos, retain });
    },
    cut() {
      client.off('close', onClose);
      client.end(true);
    },
    async leave() {
      client.off('close', onClose);
      await client.endAsync();
    },
  };
}

function willOf({ topic, payload, qos, retain }: ChargerMessage) {
  return { topic, payload: Buffer.from(payload), qos, retain };
}

/** Otherwise a small packet waits 40 ms of true time for the answer to the packet before it. */
function sendAtOnce({ stream }: MqttClient): void {
  if (stream instanceof Socket) stream.setNoDelay(true);
}
