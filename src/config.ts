// The settings, and the only reader of the environment. An invalid setting stops the start with one readable line.

import { z } from 'zod';
import { isBrokerUrl, isBusUrl } from './broker-url.js';
import { brokenConstraintOf, type FindBrokenConstraint } from './config-constraints.js';
import { OperatorError } from './ports/operator-error.js';

interface Setting {
  /** Name of the environment variable without `HEADROOM_`; the flag is the same in kebab-case. */
  readonly name: string;
  readonly schema: z.ZodType;
  readonly about: string;
  /** Its value is never printed. */
  readonly isSecret?: boolean;
}

const port = z.coerce.number().int().min(0).max(65535);
const positive = z.coerce.number().positive().finite();
const count = z.coerce.number().int().min(1);
const optionalText = z.string().min(1).optional();

function setting<S extends z.ZodType>(name: string, schema: S, about: string) {
  return { name, schema, about } as const satisfies Setting;
}

/** In the order of `serve --help`. Units are part of the name or the description. */
export const SETTINGS = {
  httpPort: setting('HTTP_PORT', port.default(8080), 'REST port; 0 picks a free one'),
  httpHost: setting('HTTP_HOST', z.string().min(1).default('127.0.0.1'), 'address the REST server binds to'),
  mqttPort: setting('MQTT_PORT', port.default(1883), 'port of the embedded broker; 0 picks a free one'),
  mqttHost: setting(
    'MQTT_HOST',
    z.string().min(1).default('127.0.0.1'),
    'address the embedded broker binds to',
  ),
  mqttUrl: setting(
    'MQTT_URL',
    z.string().refine(isBrokerUrl, 'must be mqtt://…, mqtts://…, ws://… or wss://…').optional(),
    'external broker instead of the embedded one, e.g. mqtt://user:secret@host:1883',
  ),
  mqttCa: setting(
    'MQTT_CA',
    optionalText,
    "PEM file with the certificate authority of the external broker; the system's own if left out",
  ),
  busUrl: setting(
    'BUS_URL',
    z.string().refine(isBusUrl, 'must be nats://… or tls://…, several with commas between them').optional(),
    'NATS between nodes and the fronts that chargers connect to (serve --front), instead of a broker, e.g. nats://user:secret@host:4222',
  ),
  busCa: setting(
    'BUS_CA',
    optionalText,
    "PEM file with the certificate authority of NATS; the system's own if left out",
  ),
  tlsCert: setting(
    'TLS_CERT',
    optionalText,
    'PEM file with the certificate, and the intermediate ones after it; with it REST and the embedded broker use TLS',
  ),
  tlsKey: setting(
    'TLS_KEY',
    optionalText,
    'PEM file with the private key of that certificate, not encrypted',
  ),
  tlsClientCa: setting(
    'TLS_CLIENT_CA',
    optionalText,
    'PEM file with the authority that signed the certificates of chargers; with it each must present one',
  ),
  dataDir: setting('DATA_DIR', z.string().min(1).default('./data'), 'SQLite file and generated keys'),
  databaseUrl: setting(
    'DATABASE_URL',
    z
      .string()
      .regex(/^(sqlite:.+|postgres(ql)?:\/\/.+)$/, 'must be sqlite:PATH or postgres://…')
      .optional(),
    'sqlite:PATH or postgres://…; SQLite in the data directory if left out',
  ),
  standby: setting(
    'STANDBY',
    z.stringbool().default(false),
    'true: one of several nodes on one PostgreSQL; it runs while no other does, and otherwise forwards requests to that one',
  ),
  sharded: setting(
    'SHARDED',
    z.stringbool().default(false),
    'true: one of several nodes on one PostgreSQL, with one external broker or fronts, that share the tenants and run at the same time',
  ),
  ownerTtlS: setting(
    'OWNER_TTL_S',
    positive.min(1).max(60).default(5),
    'seconds after which other nodes take over from a node that no longer renews its lease',
  ),
  nodeUrl: setting(
    'NODE_URL',
    z
      .string()
      .refine(
        (text) => URL.canParse(text) && /^https?:$/.test(new URL(text).protocol),
        'must be http://… or https://…',
      )
      .optional(),
    'address at which other nodes reach the REST port of this one; its own address if left out',
  ),
  tokenKeys: setting(
    'TOKEN_KEYS',
    optionalText,
    'file with a JWK Set of private P-256 keys (the first signs, all verify), or the JSON itself; generated in the data directory if left out',
  ),
  logLevel: setting(
    'LOG_LEVEL',
    z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).default('info'),
    'trace, debug, info, warn, error, fatal or silent',
  ),
  heartbeatS: setting('HEARTBEAT_S', positive.default(10), "seconds between a charger's meter values"),
  leaseTtlS: setting(
    'LEASE_TTL_S',
    positive.default(60),
    'seconds a granted limit is valid without renewal; at least three heartbeats',
  ),
  settleS: setting(
    'SETTLE_S',
    positive.default(10),
    'seconds a charger and its car may take to follow a limit',
  ),
  powerRetentionDays: setting(
    'POWER_RETENTION_DAYS',
    positive.default(90),
    'days that measured power is kept, a row per location and minute; events are deleted after a year',
  ),
  energyRetentionDays: setting(
    'ENERGY_RETENTION_DAYS',
    positive.default(3650),
    'days that energy is kept, a row per connector and day',
  ),
  connectorPowerRetentionDays: setting(
    'CONNECTOR_POWER_RETENTION_DAYS',
    positive.default(90),
    'days that the power of connectors is kept, a row per connector and day',
  ),
  chargerOfflineS: setting(
    'CHARGER_OFFLINE_S',
    positive.default(240),
    'seconds without a message after which the event log has a charger as offline; alarms come at once',
  ),
  webhookPrivate: setting(
    'WEBHOOK_PRIVATE',
    z.stringbool().default(false),
    'true: webhooks may lead to private addresses, and use http',
  ),
  smtpUrl: {
    ...setting(
      'SMTP_URL',
      z
        .string()
        .refine(
          (text) => URL.canParse(text) && /^smtps?:$/.test(new URL(text).protocol),
          'must be smtp://… or smtps://…',
        )
        .optional(),
      'mail server of mail subscriptions, e.g. smtp://user:secret@host:587; without it no mail is sent',
    ),
    isSecret: true,
  },
  mailFrom: setting(
    'MAIL_FROM',
    z
      .string()
      .regex(/^[^\s<>@,;:"]{1,64}@[A-Za-z0-9.-]{1,253}$/, 'must be one address such as headroom@example.com')
      .optional(),
    'sender of mails, such as headroom@example.com',
  ),
  httpBodyLimitBytes: setting('HTTP_BODY_LIMIT_BYTES', count.default(500_000), 'largest request body, bytes'),
  httpHeaderTimeoutS: setting(
    'HTTP_HEADER_TIMEOUT_S',
    positive.default(10),
    'seconds a client may take to send its headers',
  ),
  httpRequestTimeoutS: setting(
    'HTTP_REQUEST_TIMEOUT_S',
    positive.default(30),
    'seconds a client may take to send a whole request',
  ),
  httpConnections: setting(
    'HTTP_CONNECTIONS',
    count.default(2_000),
    'HTTP connections at once; never more than a quarter of the files that may be open',
  ),
  httpConnectionsPerAddress: setting(
    'HTTP_CONNECTIONS_PER_ADDRESS',
    count.default(1_000),
    'HTTP connections at once of one address; a reverse proxy is one address',
  ),
  httpRatePerS: setting(
    'HTTP_RATE_PER_S',
    positive.default(10_000),
    'requests per second of one tenant; twice that at once',
  ),
  authFailuresPerMin: setting(
    'AUTH_FAILURES_PER_MIN',
    positive.default(60),
    'failed sign-in attempts per minute of one address; 100 at once',
  ),
  trustProxy: setting(
    'TRUST_PROXY',
    z.coerce.number().int().min(0).default(0),
    'number of reverse proxies in front whose X-Forwarded-For is trusted',
  ),
  metricsToken: {
    ...setting(
      'METRICS_TOKEN',
      z
        .string()
        .regex(/^[\w.~+/-]{16,256}=*$/, 'must be 16 to 256 characters of A-Z a-z 0-9 . _ ~ + / -')
        .optional(),
      'bearer token that /metrics requires; without it, anybody who reaches the port can read the figures',
    ),
    isSecret: true,
  },
  mqttPacketLimitBytes: setting(
    'MQTT_PACKET_LIMIT_BYTES',
    count.default(16_384),
    'largest MQTT packet, bytes',
  ),
  mqttConnectTimeoutS: setting(
    'MQTT_CONNECT_TIMEOUT_S',
    positive.default(5),
    'seconds a connection may take for its TLS handshake, and to send CONNECT',
  ),
  mqttTopicLevels: setting('MQTT_TOPIC_LEVELS', count.default(10), 'levels a topic may have'),
  mqttKeepaliveMaxS: setting(
    'MQTT_KEEPALIVE_MAX_S',
    count.default(60),
    'longest keepalive a charger may ask for, seconds',
  ),
  mqttMessagesPerS: setting(
    'MQTT_MESSAGES_PER_S',
    positive.default(5),
    'messages per second of one MQTT client',
  ),
  mqttMessageBurst: setting(
    'MQTT_MESSAGE_BURST',
    count.default(20),
    'messages one MQTT client may send at once',
  ),
  mqttSubscriptions: setting(
    'MQTT_SUBSCRIPTIONS',
    count.default(8),
    'subscriptions one MQTT client may hold',
  ),
  mqttConnections: setting('MQTT_CONNECTIONS', count.default(20_000), 'MQTT connections at once'),
  mqttPendingConnections: setting(
    'MQTT_PENDING_CONNECTIONS',
    count.default(1_000),
    'MQTT connections at once that have not logged in; the oldest give way to new ones',
  ),
} as const satisfies Record<string, Setting>;

const SETTING_KEYS = Object.keys(SETTINGS) as (keyof typeof SETTINGS)[];

/** The settings, parsed. Seconds, bytes and counts as in the names. */
export type Config = { readonly [K in keyof typeof SETTINGS]: z.output<(typeof SETTINGS)[K]['schema']> };

/** A setting that cannot be used; the message is the one line to print. */
export class ConfigError extends OperatorError {}

export function variableOf(key: keyof typeof SETTINGS): string {
  return `HEADROOM_${SETTINGS[key].name}`;
}

export function flagOf(key: keyof typeof SETTINGS): string {
  return `--${SETTINGS[key].name.toLowerCase().replaceAll('_', '-')}`;
}

/** A flag or the environment has a value, so that no default applies. An empty variable has none. */
export function isGiven(
  key: keyof typeof SETTINGS,
  flags: Partial<Record<keyof typeof SETTINGS, string>>,
  environment: Readonly<Record<string, string | undefined>> = process.env,
): boolean {
  return (flags[key] ?? environment[variableOf(key)] ?? '') !== '';
}

/**
 * The configuration from flags (by setting key), then the environment, then defaults.
 * @throws ConfigError with the variable and the rule
 */
export function loadConfig(
  flags: Partial<Record<keyof typeof SETTINGS, string>> = {},
  environment: Readonly<Record<string, string | undefined>> = process.env,
  findBrokenConstraint: FindBrokenConstraint = brokenConstraintOf,
): Config {
  const parsed: Record<string, unknown> = {};
  for (const key of SETTING_KEYS) {
    const given = flags[key] ?? environment[variableOf(key)];
    // An empty variable means "not set", as compose files write it.
    const result = SETTINGS[key].schema.safeParse(given === '' ? undefined : given);
    if (!result.success) {
      const source = flags[key] === undefined ? variableOf(key) : flagOf(key);
      const { isSecret }: Setting = SETTINGS[key];
      const value = isSecret === true ? 'its value' : `"${given}"`;
      throw new ConfigError(
        `${source}: ${value} is not valid: ${result.error.issues[0]?.message ?? 'invalid'}`,
      );
    }
    parsed[key] = result.data;
  }
  const config = parsed as Config;
  const contradiction = findBrokenConstraint(config);
  if (contradiction !== undefined) throw new ConfigError(contradiction);
  return config;
}

/** Chargers connect to a broker in a node of this configuration. */
export function hasOwnBroker({ mqttUrl, busUrl }: Pick<Config, 'mqttUrl' | 'busUrl'>): boolean {
  return mqttUrl === undefined && busUrl === undefined;
}

/** The configured database; by default SQLite in the data directory. */
export function databaseUrlOf(config: Pick<Config, 'databaseUrl' | 'dataDir'>): string {
  return config.databaseUrl ?? `sqlite:${config.dataDir}/headroom.sqlite`;
}

/** Confirms a rollback on knex's own command line; not a setting of the service. */
export const ROLLBACK_VARIABLE = 'HEADROOM_ROLLBACK';

/** Variables with the prefix of settings that are none: most likely misspelled. */
export function unknownVariables(
  environment: Readonly<Record<string, string | undefined>> = process.env,
): readonly string[] {
  const known = new Set([ROLLBACK_VARIABLE, ...SETTING_KEYS.map(variableOf)]);
  return Object.keys(environment).filter((name) => name.startsWith('HEADROOM_') && !known.has(name));
}

/** The user of knex's own command line has confirmed that a rollback may drop data. */
export function isRollbackConfirmed(
  environment: Readonly<Record<string, string | undefined>> = process.env,
): boolean {
  return environment[ROLLBACK_VARIABLE] === 'drop-data';
}
