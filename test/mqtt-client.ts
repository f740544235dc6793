// An MQTT client that connects once: where its connection ends, whatever waits for an answer fails at once instead of for ever.
import { connectAsync, type IClientOptions, type MqttClient } from 'mqtt';

/** @throws Error where it is not let in, or the connection ends before it is */
export async function connectOnce(url: string, options: IClientOptions): Promise<MqttClient> {
  const client = await connectAsync(url, { ...options, reconnectPeriod: 0 }, false);
  client.on('error', () => {});
  // The library keeps what is unanswered for a connection that never comes.
  client.once('close', () => client.end(true));
  return client;
}
