// Flags and settings that all gateway commands share, and the resources that they open.
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { type Command, InvalidArgumentError } from 'commander';
import { brokenConstraintOfGateway } from '../src/config-constraints.js';
import { readCertificates, readKey } from '../src/tls-files.js';
import {
  addSettingsFlags,
  configOf,
  type OtherMeanings,
  type SettingKey,
  type SettingsFlags,
} from './settings-flags.js';

export interface ConnectionFlags extends SettingsFlags {
  readonly port: number;
  readonly host: string;
}

/** For a gateway that only checks one charger. */
export const CHECK_SETTINGS: readonly SettingKey[] = [
  'mqttUrl',
  'mqttCa',
  'tlsCert',
  'tlsKey',
  'tlsClientCa',
  'dataDir',
  'heartbeatS',
  'logLevel',
];
const SETTINGS: readonly SettingKey[] = [...CHECK_SETTINGS, 'metricsToken'];

/** Meanings that differ from those of the service. */
const MEANINGS: OtherMeanings = {
  mqttUrl:
    "address of the service's broker: its own or the one that it uses; mqtt://127.0.0.1 at the port of HEADROOM_MQTT_PORT if left out",
  mqttCa:
    "PEM file with the authority of that broker's certificate; the system's own authorities if left out",
  tlsCert:
    "PEM file with the gateway's own certificate, and the intermediate ones after it; with it chargers connect by wss://",
  dataDir: 'directory of files that outlast a restart (ocpp-*.json); one gateway uses it at a time',
  metricsToken: 'bearer token that /metrics requires at --metrics-port',
  heartbeatS:
    "seconds between a charger's meter values, if the file gives it no heartbeat; as for the service",
};

export function parsePort(text: string): number {
  const port = Number(text);
  if (text.trim() !== '' && Number.isInteger(port) && port >= 0 && port <= 65_535) return port;
  throw new InvalidArgumentError('It must be a port, from 0 (a free one) to 65535.');
}

export function addGatewayFlags(command: Command, settings = SETTINGS): Command {
  command
    .option('--port <port>', 'port for chargers; 0 picks a free one', parsePort, 9000)
    .option('--host <address>', 'address to listen on', '127.0.0.1');
  return addSettingsFlags(command, settings, MEANINGS);
}

/** @throws ConfigError, TlsFileError */
export function gatewayConfigOf(flags: SettingsFlags) {
  const given = SETTINGS.flatMap((key) => (flags[key] === undefined ? [] : [[key, flags[key]]]));
  const config = configOf(Object.fromEntries(given), brokenConstraintOfGateway);
  return {
    config,
    mqttUrl: config.mqttUrl ?? `mqtt://127.0.0.1:${config.mqttPort}`,
    mqttCa: config.mqttCa === undefined ? undefined : readCertificates('--mqtt-ca', config.mqttCa),
  };
}

/** @throws OperatorError, TlsFileError */
export function tlsOf({ tlsCert, tlsKey, tlsClientCa }: ReturnType<typeof configOf>) {
  if (tlsCert === undefined || tlsKey === undefined) return undefined;
  const pems = {
    cert: readCertificates('--tls-cert', tlsCert),
    key: readKey('--tls-key', tlsKey),
  };
  return tlsClientCa === undefined ? pems : { ...pems, ca: readCertificates('--tls-client-ca', tlsClientCa) };
}

/**
 * Two gateways would overwrite each other's stored data of chargers. @throws StoreUnavailableError if another gateway
 * uses the directory
 */
export async function lockOf(dataDir: string) {
  const { DatabaseLock } = await import('../src/outbound/knex/database-lock.js');
  const refusal = `${dataDir} is the data directory of another gateway that runs: stop that first, or give this one a --data-dir of its own`;
  return DatabaseLock.alone(join(dataDir, 'ocpp-gateway'), refusal);
}

/** From 0 to 1. */
export function randomShare(): number {
  return Number.parseInt(randomUUID().slice(0, 8), 16) / 2 ** 32;
}
