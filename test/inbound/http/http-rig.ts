// The real REST side on a free port over a fake application, with credentials, a virtual clock and the log in memory.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createClock } from '@sinonjs/fake-timers';
import { TenantCredentials } from '../../../src/features/credentials/credentials.js';
import {
  type CredentialDirectory,
  CredentialUses,
  createCredentialDirectory,
} from '../../../src/inbound/http/credentials.js';
import { createNodeApp, type HttpParts, type HttpSettings } from '../../../src/inbound/http/node-app.js';
import { HttpServer, type ServerSettings } from '../../../src/inbound/http/server.js';
import { createTokenKeys } from '../../../src/inbound/http/token-keys.js';
import { createTokens } from '../../../src/inbound/http/tokens.js';
import { createLogger } from '../../../src/log.js';
import { createMetrics } from '../../../src/metrics.js';
import type { Clock } from '../../../src/ports/clock.js';
import type { CredentialRecord, CredentialSet } from '../../../src/ports/credentials.js';
import type { Log } from '../../../src/ports/log.js';
import { ENERGY_MANAGEMENT, SCOPES } from '../../../src/ports/records.js';
import { formatApiKey, hashSecret } from '../../../src/secrets.js';
import type { Health } from '../../../src/wire/health.js';
import { fetchOnce } from '../../fetch-once.js';
import { type Answers, createFakeApplication, OTHER_TENANT, TENANT } from './fake-application.js';

export const NOW_MS = Date.parse('2026-06-01T12:00:00Z');
const KEY_SECRET = '3vQmTq8XbW0yZr5sLk2JdN7cHf1GpA9uEoViBxSt';

export const API_KEY = formatApiKey('harbour1', KEY_SECRET);
export const OTHER_API_KEY = formatApiKey('airport1', KEY_SECRET);
export const CLIENT = { id: 'harbour-backend', secret: 'a secret: with +, % and /' };

export const WELL: Health = {
  status: 'ok',
  version: '0.1.0',
  uptimeSeconds: 1,
  checks: { database: 'ok', broker: 'ok', scheduler: 'ok' },
};

const SETTINGS: ServerSettings & HttpSettings = {
  httpHost: '127.0.0.1',
  httpPort: 0,
  httpBodyLimitBytes: 100_000,
  httpHeaderTimeoutS: 10,
  httpRequestTimeoutS: 30,
  httpConnections: 2_000,
  httpConnectionsPerAddress: 1_000,
  httpRatePerS: 10_000,
  authFailuresPerMin: 60,
  trustProxy: 0,
};

function credentialRecord(kind: CredentialRecord['kind'], id: string): CredentialRecord {
  return {
    kind,
    id,
    tenantUuid: TENANT,
    secretHash: '',
    scopes: SCOPES,
    expiresAtMs: null,
    endedAtMs: null,
    name: null,
    createdAtMs: null,
    createdBy: null,
    endedBy: null,
    lastUsedAtMs: null,
  };
}

export function apiKeyRecord(overrides: Partial<CredentialRecord> = {}): CredentialRecord {
  return { ...credentialRecord('apiKey', 'harbour1'), secretHash: hashSecret(KEY_SECRET), ...overrides };
}

export function clientRecord(overrides: Partial<CredentialRecord> = {}): CredentialRecord {
  return { ...credentialRecord('client', CLIENT.id), secretHash: hashSecret(CLIENT.secret), ...overrides };
}

export function credentialSet({
  apiKeys = [apiKeyRecord(), apiKeyRecord({ id: 'airport1', tenantUuid: OTHER_TENANT })],
  oauthClients = [clientRecord()],
  ...overrides
}: Partial<CredentialSet> & {
  readonly apiKeys?: readonly CredentialRecord[];
  readonly oauthClients?: readonly CredentialRecord[];
} = {}): CredentialSet {
  return {
    tenants: [
      { tenantUuid: TENANT, name: 'Harbour Charging', features: [ENERGY_MANAGEMENT] },
      { tenantUuid: OTHER_TENANT, name: 'Airport Charging', features: [ENERGY_MANAGEMENT] },
    ],
    credentials: [...apiKeys, ...oauthClients],
    mqttLogins: [],
    ...overrides,
  };
}

export interface RigOptions {
  readonly settings?: Partial<ServerSettings & HttpSettings>;
  /** Answers of operations instead of those of the fake. */
  readonly answers?: Answers;
  readonly health?: () => Health;
  /** Keys of an earlier rig, for a restart. */
  readonly dataDir?: string;
  readonly pageDirectory?: string;
  readonly forwardElsewhere?: HttpParts['forwardElsewhere'];
  readonly silentAtMostMs?: number;
  readonly openFiles?: number;
}

export type Rig = Awaited<ReturnType<typeof createRig>>;

export async function createRig(options: RigOptions = {}) {
  const dataDir = options.dataDir ?? mkdtempSync(join(tmpdir(), 'headroom-http-'));
  const time = createClock(NOW_MS);
  const clock: Clock = {
    nowMs: () => time.now,
    monotonicMs: () => time.now - NOW_MS,
    after(delayMs, callback) {
      const timer = time.setTimeout(callback, delayMs);
      return () => time.clearTimeout(timer);
    },
  };
  const logLines: string[] = [];
  const metrics = createMetrics();
  const destination = { write: (line: string) => void logLines.push(line) };
  const log = createLogger({ level: 'debug', metrics, clock, destination });
  const credentials = createCredentialDirectory();
  credentials.replace(credentialSet());
  const tokenKeys = createTokenKeys({ tokenKeys: undefined, dataDir });
  const tokens = createTokens({ keys: tokenKeys, clock });
  const fake = createFakeApplication(options.answers);
  const config = { ...SETTINGS, ...options.settings };
  const server = new HttpServer({
    config,
    clock,
    log,
    metrics,
    ...(options.openFiles !== undefined && { openFiles: options.openFiles }),
    ...(options.silentAtMostMs !== undefined && { silentAtMostMs: options.silentAtMostMs }),
  });
  server.answerWith((exchanges) =>
    createNodeApp(config, {
      clock,
      log,
      metrics,
      credentials,
      ...administrationOf({ clock, log, credentials, asked: fake.asked }),
      tokens,
      withApplication: (_tenant, _exchange, handle) => handle(fake.application),
      storeOf: () => {
        throw new Error('no request of this rig has an Idempotency-Key');
      },
      health: options.health ?? (() => WELL),
      areReadsRefused: () => false,
      version: '0.1.0',
      ...(options.pageDirectory !== undefined && { pageDirectory: options.pageDirectory }),
      ...(options.forwardElsewhere && { forwardElsewhere: options.forwardElsewhere }),
      ...exchanges,
    }),
  );
  const { url } = await server.start();

  return {
    url,
    asked: fake.asked,
    listeners: fake.listeners,
    time,
    logLines,
    metrics,
    credentials,
    tokens,
    tokenKeys,
    dataDir,
    server,
    /** Calls a path below the server's address. A body that is no string is sent as JSON. */
    call(method: string, path: string, init: { headers?: Record<string, string>; body?: unknown } = {}) {
      const isText = typeof init.body === 'string' || init.body === undefined;
      return fetchOnce(`${url}${path}`, {
        method,
        headers: {
          ...(init.body !== undefined && { 'content-type': 'application/json' }),
          ...init.headers,
        },
        ...(init.body !== undefined && { body: isText ? String(init.body) : JSON.stringify(init.body) }),
      });
    },
    async stop() {
      await server.stop();
      if (options.dataDir === undefined) rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

/** The administration of credentials over rows that never change. */
function administrationOf(parts: {
  clock: Clock;
  log: Log;
  credentials: CredentialDirectory;
  asked: ReturnType<typeof createFakeApplication>['asked'];
}) {
  const held = [
    ...['harbour1', 'spare-key'].map((id) => credentialRecord('apiKey', id)),
    ...[CLIENT.id, 'spare-client'].map((id) => credentialRecord('client', id)),
  ];
  const credentialUses = new CredentialUses({ ...parts, store: { noteCredentialUses: async () => {} } });
  const tenantCredentials = new TenantCredentials({
    ...parts,
    storeOf: (tenantUuid) => {
      parts.asked.push(['credentials', tenantUuid]);
      return {
        tenantCredentials: async () => held,
        changeCredentials: async (_, decide) => decide(held),
      };
    },
    apply: (change) => parts.credentials.apply(change),
    lastUsedAtMs: (kind, id) => credentialUses.lastUsedAtMs(kind, id),
  });
  return { tenantCredentials, credentialUses };
}

/** A token as a client of the tenant gets it. */
export function bearer(rig: Rig, overrides: Partial<CredentialRecord> = {}): Record<string, string> {
  const client = clientRecord(overrides);
  return { authorization: `Bearer ${rig.tokens.issue(client, client.scopes)}` };
}
