// A charger like real firmware: an mqtt.js client that logs in, reports that it is online, and sends meter values.
import type { MqttClient } from 'mqtt';
import type { TenantUuid } from '../../machines/values/ids.js';
import { connectOnce } from '../mqtt-client.js';
import { CHARGER_PASSWORD, HARBOUR } from './running-service.js';

export interface ChargerClient {
  readonly client: MqttClient;
  /** The topic below this charger's prefix. */
  topic(rest: string): string;
  /** One heartbeat of a connector; resolves once the socket has it. */
  meter(connectorId: string, fields: object): Promise<void>;
  /** Loses the connection without signing off: the broker publishes the last will. */
  vanish(): void;
  stop(): Promise<void>;
}

/** Connects the charger `${locationId}-a` of the tenant; `boot` is new at every start. */
export async function connectCharger(
  mqttUrl: string,
  locationId: string,
  { tenantUuid = HARBOUR, boot = 'boot-1' }: { tenantUuid?: TenantUuid; boot?: string } = {},
): Promise<ChargerClient> {
  const controllerUuid = `${locationId}-a`;
  const topic = (rest: string) => `ems/v1/${tenantUuid}/${locationId}/${controllerUuid}/${rest}`;
  const heartbeats = new Map<string, number>();
  const client = await connectOnce(mqttUrl, {
    clientId: controllerUuid,
    username: `${tenantUuid}/${controllerUuid}`,
    password: CHARGER_PASSWORD,
    protocolVersion: 4,
    keepalive: 30,
    will: {
      topic: topic('state'),
      payload: Buffer.from(JSON.stringify({ v: 1, online: false, boot })),
      qos: 1,
      retain: true,
    },
  });
  await client.publishAsync(topic('state'), JSON.stringify({ v: 1, online: true, boot }), {
    qos: 1,
    retain: true,
  });
  return {
    client,
    topic,
    async meter(connectorId, fields) {
      const hb = (heartbeats.get(connectorId) ?? 0) + 1;
      heartbeats.set(connectorId, hb);
      await client.publishAsync(
        topic(`c/${connectorId}/meter`),
        JSON.stringify({ v: 1, boot, hb, ...fields }),
      );
    },
    vanish: () => void client.stream.destroy(),
    stop: () => client.endAsync(true),
  };
}
