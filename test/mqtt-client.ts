// An MQTT client that connects once. After the end of its connection, pending requests fail at once instead of waiting
// for ever.
import { connectAsync, type IClientOptions, type MqttClient } from 'mqtt';

/** @throws Error if the broker refuses the login, or the connection ends before the answer */
export async function connectOnce(url: string, options: IClientOptions): Promise<MqttClient> {
  const client = await connectAsync(url, { ...options, reconnectPeriod: 0 }, false);
  client.on('error', () => {});
  // The library keeps pending requests for a reconnection that never happens.
  client.once('close', () => client.end(true));
  return client;
}
