// Checks the files of an installation: their permissions, and access by the service.
import { accessSync, constants, existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type Config, databaseUrlOf, variableOf } from '../../src/config.js';
import { createTokenKeys } from '../../src/inbound/http/token-keys.js';
import { createMetrics } from '../../src/metrics.js';
import { databaseFileOf } from '../../src/outbound/knex/engine.js';
import type { Clock } from '../../src/ports/clock.js';
import type { Log } from '../../src/ports/log.js';
import { exposureOf } from '../../src/private-files.js';
import { openTlsFiles, plainTextHostsOf } from '../../src/tls-files.js';
import { toInstant } from '../../src/wire/instants.js';
import { type Finding, fail, messageOf, ok, warn } from './finding.js';
import { nearestOf } from './host-checks.js';

/** The data directory, the database in it, and other files with secrets. */
export function checkFiles(config: Config, provisioningFile: string | undefined): readonly Finding[] {
  const database = databaseFileOf(databaseUrlOf(config));
  const written = [config.dataDir, ...(database === undefined ? [] : filesOf(database))];
  const { tlsKey } = config;
  const tokenKeys = tokenKeysFileOf(config);
  const secret = [tokenKeys, tlsKey, provisioningFile].filter((file) => file !== undefined);
  const there = [...new Set([...written, ...secret])].filter((path) => existsSync(path));
  const found = [...new Set(written.map(placeOf))].flatMap(writable).concat(there.flatMap(exposed));
  if (found.length > 0) return found;
  return [ok(there.length === 0 ? 'there are none yet' : `only their owner can read ${there.join(', ')}`)];
}

/** Files of an SQLite database, with the files that SQLite creates next to it during use. */
function filesOf(database: string): readonly string[] {
  return [dirname(database), ...['', '-wal', '-shm'].map((end) => `${database}${end}`)];
}

function tokenKeysFileOf({ tokenKeys, dataDir }: Config): string | undefined {
  if (tokenKeys?.trimStart().startsWith('{')) return undefined;
  return tokenKeys ?? join(dataDir, 'token-keys.json');
}

/** A missing file will be created in the nearest existing directory above it. */
function placeOf(path: string): string {
  return existsSync(path) ? path : nearestOf(path);
}

function writable(place: string): readonly Finding[] {
  try {
    accessSync(place, constants.R_OK | constants.W_OK);
    return [];
  } catch {
    return [fail(`${place} cannot be written by this user`, "chown it, or run this as the service's user")];
  }
}

function exposed(path: string): readonly Finding[] {
  const exposure = exposureOf(path);
  if (exposure === undefined) return [];
  const at = exposure.lastIndexOf(': ');
  return [warn(exposure.slice(0, at), exposure.slice(at + 2))];
}

export function checkTokenKeys(config: Config): readonly Finding[] {
  const file = tokenKeysFileOf(config);
  if (file !== undefined && config.tokenKeys === undefined && !existsSync(file))
    return [ok('the first start makes them')];
  try {
    // The keys exist, so this call creates none.
    createTokenKeys(config);
    return [ok(file === undefined ? 'given as JSON' : `${file} is readable`)];
  } catch (error) {
    return [
      fail(messageOf(error), 'put the right ones there; without them, no access token is issued or accepted'),
    ];
  }
}

/** The certificate of REST and the embedded broker. */
export function checkCertificate(config: Config, clock: Clock): readonly Finding[] {
  if (config.tlsCert === undefined) return [plainText(config)];
  try {
    const files = openTlsFiles(config, { clock, log: SILENT, metrics: createMetrics() });
    return [validityOf(config.tlsCert, files?.validity ?? { startsAtMs: 0, expiresAtMs: 0 }, clock)];
  } catch (error) {
    return [fail(messageOf(error), 'put the right files there: the service does not start with these')];
  }
}

function plainText(config: Config): Finding {
  const exposed = plainTextHostsOf(config);
  if (exposed.length === 0) return ok('none; nothing but this host can reach the service');
  return warn(
    `none, and the service listens on ${exposed.join(', ')}: keys and passwords travel unencrypted`,
    `let only a TLS proxy reach it, or set ${variableOf('tlsCert')} and ${variableOf('tlsKey')}`,
  );
}

const SOON_MS = 14 * 24 * 3600 * 1000;

/** @param what name of the certificate in messages. */
export function validityOf(
  what: string,
  { startsAtMs, expiresAtMs }: { readonly startsAtMs: number; readonly expiresAtMs: number },
  clock: Clock,
): Finding {
  const nowMs = clock.nowMs();
  const day = (atMs: number) => toInstant(atMs).slice(0, 10);
  if (nowMs < startsAtMs)
    return fail(
      `${what} is not valid before ${day(startsAtMs)}`,
      'check the clock, or take another certificate',
    );
  if (nowMs >= expiresAtMs)
    return fail(`${what} ended on ${day(expiresAtMs)}: clients refuse it`, 'renew it');
  if (nowMs >= expiresAtMs - SOON_MS) return warn(`${what} ends on ${day(expiresAtMs)}`, 'renew it');
  return ok(`${what} is valid until ${day(expiresAtMs)}`);
}

const SILENT: Log = { debug() {}, info() {}, warn() {}, error() {} };
