// Checks the ports of the service, and the broker to which it connects.
import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { get as getPlain } from 'node:http';
import { get as getEncrypted } from 'node:https';
import { text } from 'node:stream/consumers';
import { type Config, flagOf, hasOwnBroker, variableOf } from '../../src/config.js';
import { createMetrics } from '../../src/metrics.js';
import { ExternalBroker } from '../../src/outbound/mqtt/external-broker.js';
import { reachBroker } from '../../src/outbound/mqtt/reach-broker.js';
import { NatsBus } from '../../src/outbound/nats/nats-bus.js';
import type { Clock } from '../../src/ports/clock.js';
import type { Log } from '../../src/ports/log.js';
import type { MessageBus } from '../../src/ports/telemetry.js';
import { readCertificates } from '../../src/tls-files.js';
import { VERSION } from '../../src/version.js';
import { type Health, healthSchema } from '../../src/wire/health.js';
import { isInUse, listeningError } from '../ports.js';
import { validityOf } from './file-checks.js';
import { type Finding, fail, messageOf, ok, warn } from './finding.js';

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
export interface RunningService {
  readonly health: Health;
  /** undefined if the system does not report it. */
  readonly holder: Holder | undefined;
}

/** undefined if no process listens there, or the process is not a Headroom. */
export async function runningService(config: Config): Promise<RunningService | undefined> {
  const { httpPort, httpHost, tlsCert } = config;
  if (httpPort === 0) return undefined;
  const health = await healthAt(httpHost, httpPort, tlsCert !== undefined);
  return health && { health, holder: holderOf(httpPort) };
}

export function checkService(running: RunningService | undefined): readonly Finding[] {
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

export async function checkPorts(
  config: Config,
  running: RunningService | undefined,
): Promise<readonly Finding[]> {
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
export async function checkBroker(
  config: Config,
  clock: Clock,
  isOwned: boolean,
): Promise<readonly Finding[]> {
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
