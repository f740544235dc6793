// The OCPP-J server: manages the web sockets of chargers, limits them, and carries calls in both directions.

import { createRequire } from 'node:module';
import { createRPCError, createValidator, type IHandlersOption, RPCServer } from 'ocpp-rpc';
import type * as serverClient from 'ocpp-rpc/lib/server-client.js';
import type { Cancel, Clock } from '../../ports/clock.js';
import type { Log } from '../../ports/log.js';
import { createRareLog, type RareLog } from '../../rare-log.js';
import { createTokenBucket } from '../../token-bucket.js';
import type { ChargerConnection } from '../charger-bridge.js';
import { ChargerRefusal } from '../charger-dialect.js';
import type { GatewayMetrics } from '../gateway-metrics.js';
import type { ChargerDoor, Eviction, Guest } from './charger-door.js';
import { ChargerHttp, type ChargerHttpOptions, refuseUpgrade } from './charger-http.js';
import { CsmsProxy } from './csms-proxy.js';
import type { OcppBridge } from './ocpp-charger.js';
import {
  answerCall,
  type Call,
  ForwardedError,
  type OcppDialect,
  PROTOCOLS,
  UnknownMethod,
  UnusableMessage,
} from './ocpp-dialect.js';
import { SocketScope } from './socket-scope.js';

// Limits the messages of one charger on its web socket, and the bytes that it leaves unread.

/** Far more than any charger sends. */
const MESSAGES = { ratePerS: 20, burst: 400 };
const UNREAD_AT_MOST_BYTES = 1_048_576;
/** Begin of a call; answers and errors have other numbers (OCPP-J). */
const CALL = /^\s*\[\s*2\s*,/;

export class MessageLimit {
  readonly #clock: Clock;
  readonly #unreadBytes: () => number;
  readonly #bucket = createTokenBucket(MESSAGES);
  /** Calls to the charger that it may still answer. */
  #unanswered = 0;

  /** @param unreadBytes bytes sent to the charger that it has not taken from the connection */
  constructor(clock: Clock, unreadBytes: () => number) {
    this.#clock = clock;
    this.#unreadBytes = unreadBytes;
  }

  /** Counts a message to the charger. @returns false if too many bytes are unread */
  told(message: string): boolean {
    if (CALL.test(message)) this.#unanswered++;
    return this.#unreadBytes() <= UNREAD_AT_MOST_BYTES;
  }

  /** Counts a message of the charger. Answers to calls are free. @returns false above the rate */
  said(message: string): boolean {
    if (this.#unanswered > 0 && !CALL.test(message)) {
      this.#unanswered--;
      return true;
    }
    return this.#bucket.take(this.#clock.monotonicMs());
  }
}

// Sends calls to a charger one after another, and gives each up if no answer comes.
const ANSWERED_WITHIN_MS = 15_000;

/**
 * Replaces the queue and the timeout of the library. Those make four errors
 * with stacks for each call, a tenth of all work.
 */
export class ChargerLine {
  readonly #client: serverClient.default;
  readonly #clock: Clock;
  #last: Promise<unknown> = Promise.resolve();

  constructor(client: serverClient.default, clock: Clock) {
    this.#client = client;
    this.#clock = clock;
  }

  /** Resolves to the answer. Rejects if that is an error, and 15 s after the call was sent without an answer. */
  call(method: string, params: object): Promise<unknown> {
    const answer = this.#last.then(() => this.#send(method, params));
    this.#last = answer.catch(() => {});
    return answer;
  }

  async #send(method: string, params: object): Promise<unknown> {
    const patience = new AbortController();
    const cancel = this.#clock.after(ANSWERED_WITHIN_MS, () => patience.abort('no answer came'));
    try {
      return await this.#client.call(method, params, { callTimeoutMs: 0, signal: patience.signal });
    } finally {
      cancel();
    }
  }
}

// Adapts the schemas of OCPP 2.1 to `ocpp-rpc`. The library ships them under other names
// than it looks up, and would refuse every message.
interface Definition {
  readonly type?: string;
}
interface Schema {
  readonly $id: string;
  readonly definitions?: Readonly<Record<string, Definition>>;
}

const schemas = createRequire(import.meta.url)('ocpp-rpc/lib/schemas/ocpp2_1.json') as readonly Schema[];

/** `additionalProperties` has no meaning on other types than objects, and the validator complains about each. */
function meant(definition: Definition): Definition {
  if (definition.type === 'object') return definition;
  return Object.fromEntries(Object.entries(definition).filter(([name]) => name !== 'additionalProperties'));
}

function usable({ $id, definitions = {}, ...schema }: Schema): Schema {
  return {
    ...schema,
    $id: $id.replace(/Request$/, '.req').replace(/Response$/, '.conf'),
    definitions: Object.fromEntries(Object.entries(definitions).map(([name, each]) => [name, meant(each)])),
  };
}

const STRICT_VALIDATORS = [createValidator('ocpp2.1', schemas.map(usable))];

type RpcClient = serverClient.default;

const MOST_BYTES = 131_072;
const BAD_MESSAGES_IN_A_ROW = 20;
/**
 * A charger is pinged after this many heartbeats without a message, so one that sends its values is not. An idle
 * charger counts as present for two heartbeats after its last message.
 */
const QUIET_HEARTBEATS = 1.1;
const GOING_AWAY = 1001;
const POLICY_VIOLATION = 1008;
/** A charger that reads nothing is cut off then. */
const FAREWELL_WITHIN_MS = 2_000;
/** Close codes of RFC 6455, 7.4.1. A changed charger may come back at once. */
const FAREWELLS: Readonly<Record<Eviction, { readonly code: number; readonly why: string }>> = {
  removed: { code: POLICY_VIOLATION, why: 'the provisioning file no longer has this charger' },
  changed: { code: GOING_AWAY, why: 'the provisioning file has changed this charger' },
};
const CLOSED_WITHOUT_REASON = 'the charger or the network closed the connection';
/** Error codes of a charger that does not support the call. */
const REFUSED = [
  'NotImplemented',
  'NotSupported',
  'FormationViolation',
  'FormatViolation',
  'PropertyConstraintViolation',
  'OccurenceConstraintViolation',
  'OccurrenceConstraintViolation',
  'TypeConstraintViolation',
];

export interface OcppServerOptions {
  readonly door: ChargerDoor;
  readonly dialectOf: (guest: Guest, call: Call) => OcppDialect;
  /** Set if the gateway is in front of a CSMS, which then validates the messages that pass. */
  readonly proxy: { readonly asksIdTags: boolean } | undefined;
  readonly tls: ChargerHttpOptions['tls'];
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: GatewayMetrics;
}

type Receive = (method: string, params: unknown) => Promise<object>;

/** State of a web socket after its charger was admitted. */
interface SocketSession {
  readonly guest: Guest;
  readonly scope: SocketScope;
}

interface Connected extends SocketSession {
  readonly client: RpcClient;
}

export class OcppServer {
  readonly #options: OcppServerOptions;
  readonly #rpc: RPCServer;
  readonly #http: ChargerHttp;
  readonly #rareLog: RareLog;
  /** A scope for every requested web socket, admitted or not. */
  readonly #scopes = new Set<SocketScope>();
  readonly #connected = new Map<OcppBridge, Connected>();

  constructor(options: OcppServerOptions) {
    this.#options = options;
    this.#rareLog = createRareLog(options.clock);
    this.#rpc = new RPCServer({
      protocols: [...PROTOCOLS],
      strictMode: options.proxy === undefined,
      strictModeValidators: STRICT_VALIDATORS,
      maxBadMessages: BAD_MESSAGES_IN_A_ROW,
      // `#welcome` sets an interval for each charger.
      pingIntervalMs: 0,
      deferPingsOnActivity: true,
      wssOptions: { maxPayload: MOST_BYTES },
    });
    this.#rpc.auth((accept, reject, handshake) => void this.#admit(accept, reject, handshake));
    this.#rpc.on('client', (client: RpcClient) => this.#welcome(client));
    this.#rpc.on('error', (error: Error) => options.log.warn({ err: error }, 'OCPP server'));
    const { tls, metrics } = options;
    const onUpgrade: ChargerHttpOptions['onUpgrade'] = (...asked) => void this.#rpc.handleUpgrade(...asked);
    this.#http = new ChargerHttp({ tls, metrics, onUpgrade });
  }

  /** Listens on `port`, 0 for a free one. @returns the port in use */
  listen(port: number, host: string): Promise<number> {
    return this.#http.listen(port, host);
  }

  /** Disconnects each charger that the door evicts. */
  evict(): void {
    for (const { guest, scope, client } of [...this.#connected.values()]) {
      const eviction = this.#options.door.evictionOf(guest);
      if (eviction === undefined) continue;
      this.#options.metrics.refusals.inc({ reason: eviction });
      const { code, why } = FAREWELLS[eviction];
      void scope.end(why, this.#farewell(client, code, why));
    }
  }

  /** Resolves once the charger has closed the web socket, too, or its time for that is over. */
  #farewell(client: RpcClient, code: number, reason: string): Promise<unknown> {
    let cancel: Cancel = () => {};
    const late = new Promise<void>((resolve) => {
      cancel = this.#options.clock.after(FAREWELL_WITHIN_MS, resolve);
    });
    return Promise.race([client.close({ code, reason }), late]).finally(() => cancel());
  }

  async close(): Promise<void> {
    const scopes = [...this.#scopes];
    await Promise.all(scopes.map((scope) => scope.end('the gateway stops')));
    await this.#rpc.close({ code: GOING_AWAY, force: true });
    await this.#http.close();
  }

  async #admit(
    accept: (session: SocketSession, protocol: string) => void,
    reject: (code: number, message: string) => void,
    handshake: serverClient.IHandshakeInterface,
  ): Promise<void> {
    const { door, log } = this.#options;
    const { socket } = handshake.request;
    const scope = new SocketScope(socket, log);
    this.#scopes.add(scope);
    void scope.ended.then(() => this.#scopes.delete(scope));
    try {
      const admitted = await door.admit(handshake, scope);
      if (admitted === undefined) return;
      if ('reason' in admitted) {
        const { status, message, retryAfterS } = admitted;
        const headers = retryAfterS === undefined ? undefined : { 'retry-after': String(retryAfterS) };
        refuseUpgrade(socket, status, message, headers);
        return;
      }
      accept({ guest: admitted, scope }, admitted.protocol);
    } catch (error) {
      log.error({ err: error }, 'a charger could not be admitted');
      reject(500, 'Internal error');
    }
  }

  #welcome(client: RpcClient): void {
    const { guest, scope } = client.session as SocketSession;
    const { bridge, protocol } = guest;
    const { clock, log, metrics, dialectOf } = this.#options;
    const before = this.#connected.get(bridge);
    if (before !== undefined) {
      metrics.refusals.inc({ reason: 'taken-over' });
      void before.scope.end('the charger connected again');
    }
    const line = new ChargerLine(client, clock);
    const dialect = dialectOf(guest, (method, params) => callOf(line, method, params));
    const socket: ChargerConnection = {
      dialect: dialect.requests,
      close: (reason) => void scope.end(reason),
    };
    this.#connected.set(bridge, { guest, scope, client });
    metrics.chargers.inc({ protocol });
    scope.add(() => {
      if (this.#connected.get(bridge)?.scope === scope) this.#connected.delete(bridge);
      metrics.chargers.dec({ protocol });
      bridge.close(socket);
    });
    const { remoteAddress } = client.handshake;
    log.info({ ...bridge.address, protocol, remoteAddress }, 'charger connected');
    client.on('close', ({ code, reason }: { code: number; reason: string }) =>
      log.info(
        { ...bridge.address, code, why: scope.why ?? (reason || CLOSED_WITHOUT_REASON) },
        'charger disconnected',
      ),
    );
    this.#watch(client, guest, socket);
    const receive = this.#receiverOf(line, guest, dialect);
    client.handle((call: IHandlersOption) => this.#answer(call, guest, receive));
    client.handshake.request.socket.on('data', () => bridge.session.received(clock.monotonicMs()));
    const pings = { pingIntervalMs: QUIET_HEARTBEATS * bridge.heartbeatMs };
    // The library's types require all options, but it takes only the changed ones.
    client.reconfigure(pings as Parameters<RpcClient['reconfigure']>[0]);
    void bridge.open(socket, guest.uplink);
  }

  /** The calls of the charger go to the gateway, or to the CSMS behind it. */
  #receiverOf(line: ChargerLine, { bridge, csms, protocol }: Guest, dialect: OcppDialect): Receive {
    const { proxy, log, metrics } = this.#options;
    if (csms === undefined || proxy === undefined)
      return (method, params) => answerCall(dialect.events, method, params);
    const { controllerUuid } = bridge.address;
    const call = (method: string, params: object) => forwardTo(line, method, params);
    const { asksIdTags } = proxy;
    const parts = { controllerUuid, link: csms, dialect, call, asksIdTags, log, metrics };
    const between = new CsmsProxy({ ...parts, rareLog: this.#rareLog });
    csms.serve(protocol, between);
    return (method, params) => between.receive(method, params);
  }

  /** Counts the messages of one charger, and ends its connection above the limit. */
  #watch(client: RpcClient, { bridge }: Guest, socket: ChargerConnection): void {
    const { clock, log, metrics } = this.#options;
    const { controllerUuid } = bridge.address;
    const { socket: stream } = client.handshake.request;
    const limit = new MessageLimit(clock, () => stream.writableLength);
    let isCutOff = false;
    client.on('message', ({ message, outbound }: { message: string; outbound: boolean }) => {
      if (outbound ? limit.told(message) : limit.said(message)) return;
      if (!outbound) metrics.messages.inc({ result: 'limited' });
      // Messages of the same burst still arrive.
      if (isCutOff) return;
      isCutOff = true;
      const reason = outbound ? 'unread' : 'flood';
      metrics.refusals.inc({ reason });
      this.#rareLog(`${controllerUuid} ${reason}`, () =>
        log.warn({ controllerUuid, reason }, 'the connection of a charger was cut off'),
      );
      socket.close(outbound ? 'too many unread messages' : 'too many messages');
    });
    const malformed = ({ error }: { error: Error }) => {
      const isUnknown = 'rpcErrorCode' in error && error.rpcErrorCode === 'NotImplemented';
      metrics.messages.inc({ result: isUnknown ? 'unknown' : 'malformed' });
      this.#rareLog(controllerUuid, () =>
        log.warn({ controllerUuid, problem: error.message }, 'a message of a charger is not valid OCPP'),
      );
    };
    client.on('badMessage', malformed);
    client.on('strictValidationFailure', malformed);
    client.on('socketError', (error: Error) => malformed({ error }));
  }

  async #answer({ method = '', params }: IHandlersOption, { bridge }: Guest, receive: Receive) {
    const { metrics, log } = this.#options;
    try {
      const answer = await receive(method, params);
      metrics.messages.inc({ result: 'accepted' });
      return answer;
    } catch (error) {
      if (error instanceof ForwardedError)
        throw createRPCError(error.code, error.message, error.details ?? {});
      const isUnknown = error instanceof UnknownMethod;
      if (!isUnknown && !(error instanceof UnusableMessage))
        log.error({ err: error, method }, 'a call of a charger failed');
      const { controllerUuid } = bridge.address;
      const why = error instanceof Error ? error.message : String(error);
      this.#rareLog(`${controllerUuid} ${method}`, () =>
        log.warn({ controllerUuid, method, why }, 'a call of a charger cannot be used'),
      );
      metrics.messages.inc({ result: isUnknown ? 'unknown' : 'malformed' });
      throw createRPCError(isUnknown ? 'NotImplemented' : 'PropertyConstraintViolation', why);
    }
  }
}

/** Forwards a call of the CSMS to the charger. @throws ForwardedError */
async function forwardTo(line: ChargerLine, method: string, params: object): Promise<unknown> {
  try {
    return await line.call(method, params);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    const code =
      error instanceof Error && 'rpcErrorCode' in error ? String(error.rpcErrorCode) : 'GenericError';
    const details = error instanceof Error && 'details' in error ? error.details : {};
    throw new ForwardedError(code, message, details);
  }
}

async function callOf(line: ChargerLine, method: string, params: object): Promise<unknown> {
  try {
    return await line.call(method, params);
  } catch (error) {
    if (!(error instanceof Error) || !('rpcErrorCode' in error)) throw error;
    const code = String(error.rpcErrorCode);
    throw REFUSED.includes(code) ? new ChargerRefusal(`${code} ${error.message}`.trim()) : error;
  }
}
