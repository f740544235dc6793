// All checks of `headroom doctor`, in an order in which later checks use the results of earlier ones.

import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { get as getPlain } from 'node:http';
import { get as getEncrypted } from 'node:https';
import { dirname } from 'node:path';
import { text } from 'node:stream/consumers';
import { counted } from '../../machines/values/counted.js';
import {
  type Config,
  databaseUrlOf,
  flagOf,
  hasOwnBroker,
  unknownVariables,
  variableOf,
} from '../../src/config.js';
import { createMetrics } from '../../src/metrics.js';
import { databaseFileOf } from '../../src/outbound/knex/engine.js';
import {
  Inspection,
  type SeenLocation,
  type SeenOwner,
  type SeenServer,
  UnreadableWithoutWritingError,
} from '../../src/outbound/knex/inspection.js';
import { ExternalBroker } from '../../src/outbound/mqtt/external-broker.js';
import { reachBroker } from '../../src/outbound/mqtt/reach-broker.js';
import { NatsBus } from '../../src/outbound/nats/nats-bus.js';
import type { Clock } from '../../src/ports/clock.js';
import type { Log } from '../../src/ports/log.js';
import { DatabaseLostError } from '../../src/ports/store.js';
import type { MessageBus } from '../../src/ports/telemetry.js';
import { readCertificates } from '../../src/tls-files.js';
import { VERSION } from '../../src/version.js';
import { type Health, healthSchema } from '../../src/wire/health.js';
import { isInUse, listeningError } from '../ports.js';
import { readProvisioningFile } from '../provision.js';
import { statusCommand } from '../remote.js';
import { checkCertificate, checkFiles, checkTokenKeys, validityOf } from './file-checks.js';
import { type Finding, fail, messageOf, ok, warn } from './finding.js';
import type { Host } from './host.js';
import { checkClock, checkDisk, checkNode, checkOpenFiles, checkTimeZone } from './host-checks.js';
import { checkOcppPasswords, checkSites, sitesOfDatabase, sitesOfFile } from './site-checks.js';

// Checks the ports of the service, and the broker to which it connects.

// Finds the process that listens on a port of this machine, and checks for a running Headroom.

/** A process of this machine, within the permissions of this user. */
interface Holder {
  readonly pid: number;
  readonly name: string;
}

const LISTENING = '0A';
const ANSWER_WITHIN_MS = 2_000;
const ANYWHERE: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' };

/** undefined if the system does not report it: for a process of another user, or on a system other than Linux. */
function holderOf(port: number): Holder | undefined {
  try {
    const sockets = new Set(['tcp', 'tcp6'].flatMap((kind) => socketsAt(`/proc/net/${kind}`, port)));
    const pid = readdirSync('/proc').find((name) => /^\d+$/.test(name) && hasOneOf(name, sockets));
    if (pid === undefined) return undefined;
    return { pid: Number(pid), name: readFileSync(`/proc/${pid}/comm`, 'utf8').trim() };
  } catch {
    return undefined;
  }
}

/** Lines are `number local:port remote:port state … inode`, the ports in hex. */
function socketsAt(table: string, port: number): readonly string[] {
  const lines = readFileSync(table, 'utf8').trim().split('\n').slice(1);
  return lines
    .map((line) => line.trim().split(/\s+/))
    .filter(
      ([, local = '', , state]) => state === LISTENING && parseInt(local.split(':')[1] ?? '', 16) === port,
    )
    .map((columns) => `socket:[${columns[9]}]`);
}

function hasOneOf(pid: string, sockets: ReadonlySet<string>): boolean {
  const directory = `/proc/${pid}/fd`;
  try {
    return readdirSync(directory).some((name) => sockets.has(readlinkSync(`${directory}/${name}`)));
  } catch {
    // The process belongs to another user, or has ended meanwhile.
    return false;
  }
}

/** Health of the Headroom that listens there; undefined if no Headroom answers. */
async function healthAt(host: string, port: number, isTls: boolean): Promise<Health | undefined> {
  const hostname = ANYWHERE[host] ?? host;
  const options = { hostname, port, path: '/health', timeout: ANSWER_WITHIN_MS, agent: false };
  return new Promise((resolve) => {
    const take = (answer: Parameters<typeof text>[0]) => {
      text(answer).then(
        (body) => resolve(parsed(body)),
        () => resolve(undefined),
      );
    };
    // The request carries no secret, and the identity of the server decides nothing, so any certificate is accepted.
    const request = isTls
      ? getEncrypted({ ...options, rejectUnauthorized: false }, take)
      : getPlain(options, take);
    request.on('timeout', () => request.destroy());
    request.on('error', () => resolve(undefined));
  });
}

function parsed(body: string): Health | undefined {
  try {
    return healthSchema.safeParse(JSON.parse(body)).data;
  } catch {
    return undefined;
  }
}

/** The service that listens on the REST port of the settings. */
interface RunningService {
  readonly health: Health;
  /** undefined if the system does not report it. */
  readonly holder: Holder | undefined;
}

/** undefined if no process listens there, or the process is not a Headroom. */
async function runningService(config: Config): Promise<RunningService | undefined> {
  const { httpPort, httpHost, tlsCert } = config;
  if (httpPort === 0) return undefined;
  const health = await healthAt(httpHost, httpPort, tlsCert !== undefined);
  return health && { health, holder: holderOf(httpPort) };
}

function checkService(running: RunningService | undefined): readonly Finding[] {
  if (running === undefined) return [ok('none runs on the REST port')];
  const { health, holder } = running;
  const role = health.role === undefined ? '' : `, ${health.role}`;
  const who = `version ${health.version}${role}${holder === undefined ? '' : `, pid ${holder.pid}`}`;
  const failing = Object.entries(health.checks).flatMap(([name, check]) =>
    check === 'failing' ? [name] : [],
  );
  const found: Finding[] = [];
  if (failing.length > 0)
    found.push(
      fail(`${who}: ${failing.join(', ')} failing`, 'its log has the reason; so may the other lines here'),
    );
  if (health.version !== VERSION)
    found.push(warn(`${who}, and this is version ${VERSION}`, 'restart the service to finish the upgrade'));
  return found.length > 0 ? found : [ok(`${who}: well`)];
}

async function checkPorts(config: Config, running: RunningService | undefined): Promise<readonly Finding[]> {
  const found = [await checkPort('httpPort', config.httpHost, config.httpPort, running)];
  if (hasOwnBroker(config))
    found.push(await checkPort('mqttPort', config.mqttHost, config.mqttPort, running));
  return found;
}

async function checkPort(
  key: 'httpPort' | 'mqttPort',
  host: string,
  port: number,
  running: RunningService | undefined,
): Promise<Finding> {
  const name = `${key === 'httpPort' ? 'REST' : 'MQTT'} ${host}:${port}`;
  const wayOut = `choose another with ${flagOf(key)} or ${variableOf(key)}, or end the process that holds it`;
  if (port === 0) return ok(`${key === 'httpPort' ? 'REST' : 'MQTT'}: a free one is picked`);
  const error = await listeningError(host, port);
  if (error === undefined) return ok(`${name} is free`);
  if (!isInUse(error)) return fail(`${name}: ${error.message}`, wayOut);
  const holder = holderOf(port);
  const who = holder === undefined ? 'another process' : `${holder.name}, pid ${holder.pid}`;
  if (running !== undefined && isSame(holder, running.holder)) return ok(`${name} is the running service's`);
  return fail(`${name} is held by ${who}`, wayOut);
}

/** If the system reports neither process, the running service is assumed to hold both ports. */
function isSame(one: Holder | undefined, other: Holder | undefined): boolean {
  return one?.pid === other?.pid;
}

const WAY_OUT = `see ${variableOf('mqttUrl')}; chargers receive nothing until the service reaches its broker`;

/**
 * @param isOwned a service runs on the database. In that case the check does not sign in: some brokers use the user's
 * name as the client's, and would close the connection of the service.
 */
async function checkBroker(config: Config, clock: Clock, isOwned: boolean): Promise<readonly Finding[]> {
  const { mqttUrl, mqttCa, busUrl } = config;
  if (busUrl !== undefined) return [await checkBus(config, busUrl, clock)];
  if (mqttUrl === undefined) return [ok('its own')];
  try {
    const ca = mqttCa === undefined ? undefined : readCertificates(variableOf('mqttCa'), mqttCa);
    const found = [await checkConnection(mqttUrl, ca, clock)];
    if (found[0]?.status !== 'fail')
      found.push(
        isOwned
          ? ok('not checked beside the running service, because only one may sign in')
          : await signIn(mqttUrl, ca, clock),
      );
    return found;
  } catch (error) {
    return [fail(messageOf(error), WAY_OUT)];
  }
}

async function checkConnection(mqttUrl: string, ca: string | undefined, clock: Clock): Promise<Finding> {
  const { place, validity } = await reachBroker(mqttUrl, ca, clock);
  if (validity === undefined) return ok(`${place} is reached`);
  return validityOf(`${place} is reached; its certificate`, validity, clock);
}

/** Signs in as the service does, with its rights: subscribes to all chargers for a moment, and publishes nothing. */
function signIn(url: string, ca: string | undefined, clock: Clock): Promise<Finding> {
  return listenTo(
    (log) => new ExternalBroker({ url, ca, clientId: `headroom-doctor-${randomUUID()}`, clock, log }),
    'signed in, and received topics of chargers',
    WAY_OUT,
  );
}

/** The same over NATS, which separates any number of connections. */
async function checkBus({ busCa }: Config, url: string, clock: Clock): Promise<Finding> {
  const wayOut = `see ${variableOf('busUrl')}; nodes and fronts cannot exchange messages until both reach it`;
  try {
    const ca = busCa === undefined ? undefined : readCertificates(variableOf('busCa'), busCa);
    const metrics = createMetrics();
    return await listenTo(
      (log) => new NatsBus({ url, ca, name: 'headroom doctor', clock, log, metrics }),
      'NATS is reached, and accepted the sign-in',
      wayOut,
    );
  } catch (error) {
    return fail(messageOf(error), wayOut);
  }
}

async function listenTo(open: (log: Log) => MessageBus, done: string, wayOut: string): Promise<Finding> {
  const told: string[] = [];
  const note = (fields: object, message: string) => {
    const cause = 'err' in fields ? messageOf(fields.err) : '';
    told.push(`${message}${cause === '' ? '' : `: ${cause}`}`);
  };
  const bus = open({ debug() {}, info() {}, warn: note, error: note });
  try {
    await bus.start(() => {});
    return bus.isHealthy() ? ok(done) : fail(told[0] ?? 'it closed the connection', wayOut);
  } finally {
    await bus.stop();
  }
}

// Checks of the database, which other processes may use at the same time.

const SLOW_ROUND_TRIP_MS = 20;
const CLOCKS_APART_AT_MOST_MS = 2_000;

/** Findings about a database that cannot be opened. */
function checkUnopened(error: unknown): readonly Finding[] {
  if (error instanceof UnreadableWithoutWritingError)
    return [warn(error.message, 'start the service, then check again')];
  return [
    fail(
      messageOf(error),
      error instanceof DatabaseLostError
        ? 'see its message'
        : 'bring it back, or correct HEADROOM_DATABASE_URL',
    ),
  ];
}

/** Checks schema, damage, lost writes and the duration of a query, and the durability settings of PostgreSQL. */
async function checkDatabase(inspection: Inspection, clock: Clock): Promise<readonly Finding[]> {
  const { missing, unknown } = await inspection.schema();
  if (unknown.length > 0)
    return [
      fail(
        `its schema is of a newer version (${unknown.join(', ')})`,
        'start that version, or restore a backup from before the upgrade',
      ),
    ];
  await inspection.checkWhole();
  const server = await inspection.server();
  const found: Finding[] = server === undefined ? [ok('SQLite, whole')] : [...judgeServer(server)];
  if (missing.length > 0)
    found.push(
      warn(`its schema is older (lacks ${missing.join(', ')})`, 'run headroom migrate, or start the service'),
    );
  if (server !== undefined) found.push(judgeRoundTrip(await inspection.roundTripMs(clock)));
  return found;
}

export function judgeServer({ isReplica, flushes, asynchronousReplicas }: SeenServer): readonly Finding[] {
  if (isReplica)
    return [fail('PostgreSQL, a replica that takes no writes', 'name the primary in HEADROOM_DATABASE_URL')];
  if (!flushes)
    return [
      fail(
        'PostgreSQL with fsync off: acknowledged writes may be lost',
        'set fsync = on in its postgresql.conf',
      ),
    ];
  if (asynchronousReplicas > 0)
    return [
      warn(
        `PostgreSQL with ${counted(asynchronousReplicas, 'asynchronous replica')}: an answer may be lost with the primary`,
        'set synchronous_standby_names, or treat a failover as a restore',
      ),
    ];
  return [ok('PostgreSQL, and it flushes commits')];
}

export function judgeRoundTrip(ms: number): Finding {
  const said = `a query takes ${ms.toFixed(1)} ms there and back`;
  if (ms < SLOW_ROUND_TRIP_MS) return ok(said);
  return warn(said, 'a write takes several of these: run service and database in one data centre');
}

function judgeOwner(owner: SeenOwner, isStandby: boolean): Finding {
  const { ownerTerm, nodeUrl, leaseLeftMs, isConnected, isVacant } = owner;
  const term = ownerTerm === 0 ? 'no service has run on it' : `term ${ownerTerm}`;
  const node = nodeUrl ?? 'a node';
  if (leaseLeftMs !== undefined && leaseLeftMs <= 0)
    return warn(
      `${term}: the lease of ${node} ended ${Math.round(-leaseLeftMs / 1000)} s ago, and no node took over`,
      'start a node; the log of standby nodes has the reason why they do not run',
    );
  if (leaseLeftMs !== undefined && !isStandby)
    return warn(
      `${term}: ${node} runs on it, with standby nodes`,
      'set HEADROOM_STANDBY=true: a service without it takes the database from that node',
    );
  if (leaseLeftMs !== undefined) return ok(`${term}, ${node} runs on it`);
  if (isConnected === true && isStandby)
    return warn(
      `${term}: a service without HEADROOM_STANDBY runs on it`,
      'set it there too: with a lease, other nodes notice its end at once',
    );
  if (isConnected === true) return ok(`${term}, a service runs on it`);
  return ok(isVacant && ownerTerm > 0 ? `${term}, no service runs on it` : term);
}

/** @param aheadMs lead of the database's clock; undefined if it has no clock of its own. */
function judgeDatabaseClock(aheadMs: number | undefined, isStandby: boolean): readonly Finding[] {
  if (aheadMs === undefined) return [];
  const apart = `the database's clock is ${(Math.abs(aheadMs) / 1000).toFixed(1)} s ${aheadMs < 0 ? 'behind' : 'ahead'}`;
  if (Math.abs(aheadMs) <= CLOCKS_APART_AT_MOST_MS) return [ok(apart)];
  const wayOut = 'synchronize both (NTP)';
  if (isStandby) return [fail(`${apart}: this node would not take over`, wayOut)];
  return [warn(`${apart}: one of the two clocks is wrong`, wayOut)];
}

export interface CheckupOptions {
  readonly config: Config;
  readonly host: Host;
  readonly provisioningFile: string | undefined;
  readonly ntpServer: string | undefined;
}

/** A finding, and its check. */
export interface NamedFinding extends Finding {
  readonly check: string;
}

type Look = () => readonly Finding[] | Promise<readonly Finding[]>;

export class Checkup {
  readonly #options: CheckupOptions;
  #running: RunningService | undefined;
  #inspection: Inspection | undefined;
  #owner: SeenOwner | undefined;
  #locations: readonly SeenLocation[] = [];

  constructor(options: CheckupOptions) {
    this.#options = options;
  }

  /** Yields each finding at once. */
  async *findings(): AsyncGenerator<NamedFinding> {
    try {
      for (const [check, look] of this.#checks()) {
        for (const finding of await this.#looked(look)) yield { check, ...finding };
      }
    } finally {
      await this.#inspection?.close();
    }
  }

  #checks(): readonly (readonly [string, Look])[] {
    const { config, host, provisioningFile, ntpServer } = this.#options;
    const file: Look = () => this.#checkFile();
    return [
      ['node', () => checkNode(host)],
      ['settings', () => checkSettings(config)],
      ['time zone', () => checkTimeZone(host)],
      ['clock', () => checkClock(host, ntpServer)],
      ['files', () => checkFiles(config, provisioningFile)],
      ['token keys', () => checkTokenKeys(config)],
      ['certificate', () => checkCertificate(config, host.clock)],
      ['disk', () => checkDisk(host, diskOf(config))],
      ['service', () => this.#checkService()],
      ['ports', () => checkPorts(config, this.#running)],
      ['database', () => this.#checkDatabase()],
      ['owner', () => this.#checkOwner()],
      ['open files', () => this.#checkOpenFiles()],
      ['broker', () => checkBroker(config, host.clock, this.#isOwned())],
      ['sites', () => this.#checkSites()],
      ...(provisioningFile === undefined ? [] : [['file', file] as const]),
    ];
  }

  async #looked(look: Look): Promise<readonly Finding[]> {
    try {
      return await look();
    } catch (error) {
      return [fail(messageOf(error), 'check the file or directory that it names')];
    }
  }

  async #checkService(): Promise<readonly Finding[]> {
    this.#running = await runningService(this.#options.config);
    return checkService(this.#running);
  }

  async #checkDatabase(): Promise<readonly Finding[]> {
    try {
      this.#inspection = await Inspection.open(databaseUrlOf(this.#options.config));
      if (this.#inspection === undefined) return [ok('none yet: the first start makes it')];
      const found = await checkDatabase(this.#inspection, this.#options.host.clock);
      const isUsable = found.every(({ status }) => status !== 'fail');
      const { missing } = await this.#inspection.schema();
      if (!isUsable || missing.length > 0) await this.#leaveDatabase();
      return found;
    } catch (error) {
      await this.#leaveDatabase();
      return checkUnopened(error);
    }
  }

  /** Skips later checks, which need a database that this version can read. */
  async #leaveDatabase(): Promise<void> {
    await this.#inspection?.close();
    this.#inspection = undefined;
  }

  async #checkOwner(): Promise<readonly Finding[]> {
    const inspection = this.#inspection;
    if (inspection === undefined) return [ok('not checked')];
    const { config, host } = this.#options;
    this.#owner = await inspection.owner();
    return [
      judgeOwner(this.#owner, config.standby || config.sharded),
      ...judgeDatabaseClock(await inspection.clockAheadMs(host.clock), config.standby || config.sharded),
    ];
  }

  /** True if a service may run on the database; an unknown owner counts as one. */
  #isOwned(): boolean {
    return this.#running !== undefined || this.#owner?.isVacant !== true;
  }

  async #checkOpenFiles(): Promise<readonly Finding[]> {
    const { config, host } = this.#options;
    this.#locations = (await this.#inspection?.locations()) ?? [];
    const chargers = new Set(
      this.#locations.flatMap(({ tenantUuid, location }) =>
        location.connectors.map(({ controllerUuid }) => `${tenantUuid}/${controllerUuid}`),
      ),
    );
    const needs = {
      http: config.httpConnections,
      chargers: hasOwnBroker(config) ? chargers.size : 0,
    };
    return checkOpenFiles(host, needs, this.#running?.holder?.pid);
  }

  #checkSites(): readonly Finding[] {
    if (this.#inspection === undefined) return [ok('not checked')];
    return checkSites(sitesOfDatabase(this.#locations), 'of the database');
  }

  #checkFile(): readonly Finding[] {
    const { provisioningFile = '' } = this.#options;
    try {
      const content = readProvisioningFile(provisioningFile);
      return [
        ok(`${provisioningFile} is valid`),
        ...checkSites(sitesOfFile(content), `of ${provisioningFile}`),
        ...checkOcppPasswords(content),
      ];
    } catch (error) {
      return [fail(messageOf(error).replaceAll('\n', '; '), 'correct the file')];
    }
  }
}

/**
 * The disk of durable writes. With PostgreSQL it is the disk of the data directory, of which only the free space
 * matters.
 */
function diskOf({ dataDir, ...config }: Config): string {
  const database = databaseFileOf(databaseUrlOf({ dataDir, ...config }));
  return database === undefined ? dataDir : dirname(database);
}

/** @returns findings about valid settings that are unusual or inconsistent. */
function checkSettings(config: Config): readonly Finding[] {
  const ofClients = statusCommand().options.map(({ envVar }) => envVar);
  const found = unknownVariables()
    .filter((name) => !ofClients.includes(name))
    .map((name) => warn(`${name} is no setting`, 'see headroom serve --help; a wrong name is ignored'));
  if ((config.standby || config.sharded) && config.tokenKeys === undefined)
    found.push(
      warn(
        `${variableOf('tokenKeys')} is not set: access tokens end when another node takes over`,
        'name one file or JSON for all nodes',
      ),
    );
  if (config.logLevel === 'silent' || config.logLevel === 'fatal')
    found.push(
      warn(
        `${variableOf('logLevel')} is ${config.logLevel}: the log lacks failures`,
        'set it to warn or info',
      ),
    );
  return found.length > 0 ? found : [ok('readable, and fit together')];
}
