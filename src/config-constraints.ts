// Configuration constraints: settings that are each valid and cannot be used
// together. The result is one line for the operator.
import { busServersOf, isTlsUrl } from './broker-url.js';

/** The settings that depend on each other, as in `Config`. */
interface Together {
  readonly tlsCert: string | undefined;
  readonly tlsKey: string | undefined;
  readonly tlsClientCa: string | undefined;
  readonly mqttPort: number;
  readonly mqttUrl: string | undefined;
  readonly mqttCa: string | undefined;
  readonly busUrl: string | undefined;
  readonly busCa: string | undefined;
  readonly standby: boolean;
  readonly sharded: boolean;
  readonly databaseUrl: string | undefined;
  readonly nodeUrl: string | undefined;
  readonly httpHost: string;
  readonly heartbeatS: number;
  readonly leaseTtlS: number;
  readonly smtpUrl: string | undefined;
  readonly mailFrom: string | undefined;
}

/** The first broken constraint, with the names of the variables; undefined without one. */
export type FindBrokenConstraint = (settings: Together) => string | undefined;

/** The constraints of a service. */
export function brokenConstraintOf(settings: Together): string | undefined {
  return (
    ofPairs(settings) ??
    ofForeignBroker(settings) ??
    ofBus(settings) ??
    ofNodes(settings) ??
    (settings.leaseTtlS < 3 * settings.heartbeatS
      ? `HEADROOM_LEASE_TTL_S: ${settings.leaseTtlS} s is too short: a lease must outlast three heartbeats (3 × ${settings.heartbeatS} s)`
      : undefined)
  );
}

/**
 * The constraints of a process that joins a service: `HEADROOM_MQTT_URL` names the
 * service, and TLS is for the process's own port.
 */
export function brokenConstraintOfGateway(settings: Together): string | undefined {
  if (settings.mqttUrl === undefined && settings.mqttPort === 0)
    return 'HEADROOM_MQTT_PORT: with 0 the service picks a port; name that port in HEADROOM_MQTT_URL';
  return ofPairs(settings);
}

function ofPairs({
  tlsCert,
  tlsKey,
  tlsClientCa,
  mqttUrl,
  mqttCa,
  busUrl,
  busCa,
  smtpUrl,
  mailFrom,
}: Together): string | undefined {
  const needed = [
    ['TLS_CERT', tlsCert, 'TLS_KEY', tlsKey],
    ['TLS_KEY', tlsKey, 'TLS_CERT', tlsCert],
    ['TLS_CLIENT_CA', tlsClientCa, 'TLS_CERT', tlsCert],
    ['MQTT_CA', mqttCa, 'MQTT_URL', mqttUrl],
    ['BUS_CA', busCa, 'BUS_URL', busUrl],
    ['SMTP_URL', smtpUrl, 'MAIL_FROM', mailFrom],
    ['MAIL_FROM', mailFrom, 'SMTP_URL', smtpUrl],
  ] as const;
  for (const [name, value, other, otherValue] of needed)
    if (value !== undefined && otherValue === undefined)
      return `HEADROOM_${name}: has no effect without HEADROOM_${other}; set both or neither`;
  if (mqttCa !== undefined && !isTlsUrl(mqttUrl ?? ''))
    return 'HEADROOM_MQTT_CA: needs mqtts://… or wss://… in HEADROOM_MQTT_URL';
  return undefined;
}

function ofForeignBroker({ tlsClientCa, mqttUrl }: Together): string | undefined {
  return tlsClientCa !== undefined && mqttUrl !== undefined
    ? 'HEADROOM_TLS_CLIENT_CA: chargers connect to the broker of HEADROOM_MQTT_URL; let that broker ask for their certificates'
    : undefined;
}

function ofBus({ mqttUrl, busUrl, busCa }: Together): string | undefined {
  if (busUrl === undefined) return undefined;
  if (mqttUrl !== undefined)
    return 'HEADROOM_BUS_URL: chargers reach the nodes by fronts or by the broker of HEADROOM_MQTT_URL; set one of them';
  if (busCa !== undefined && !busServersOf(busUrl).some(isTlsUrl))
    return 'HEADROOM_BUS_CA: needs tls://… in HEADROOM_BUS_URL';
  return undefined;
}

/** Settings with which a node could not run beside others, or they could not reach it. */
function ofNodes({
  standby,
  sharded,
  databaseUrl,
  mqttUrl,
  busUrl,
  nodeUrl,
  httpHost,
}: Together): string | undefined {
  if (!standby && !sharded)
    return nodeUrl === undefined
      ? undefined
      : 'HEADROOM_NODE_URL: has no effect without HEADROOM_STANDBY=true or HEADROOM_SHARDED=true';
  const asked = sharded ? 'HEADROOM_SHARDED' : 'HEADROOM_STANDBY';
  if (standby && sharded)
    return `${asked}: nodes that share the tenants take over from each other already; leave HEADROOM_STANDBY out`;
  if (sharded && mqttUrl === undefined && busUrl === undefined)
    return `${asked}: chargers need a broker that all nodes reach; name it in HEADROOM_MQTT_URL, or run fronts and name their NATS in HEADROOM_BUS_URL`;
  if (databaseUrl === undefined || databaseUrl.startsWith('sqlite:'))
    return `${asked}: several nodes need a PostgreSQL that all of them reach; name it in HEADROOM_DATABASE_URL`;
  if (nodeUrl === undefined && ['0.0.0.0', '::'].includes(httpHost))
    return `HEADROOM_NODE_URL: name the address at which other nodes reach this one; they cannot reach ${httpHost}`;
  return undefined;
}
