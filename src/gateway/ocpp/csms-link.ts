// The connection of one charger to the CSMS behind the gateway. It reconnects by itself.
import { createRPCError, type IHandlersOption, RPCClient } from 'ocpp-rpc';
import type { Cancel, Clock } from '../../ports/clock.js';
import type { Log } from '../../ports/log.js';
import type { RareLog } from '../../rare-log.js';
import { createTokenBucket } from '../../token-bucket.js';
import type { GatewayMetrics } from '../gateway-metrics.js';
import { ForwardedError } from './ocpp-dialect.js';

/** The CSMS cannot be reached, or does not answer in time. */
export class CsmsAway extends Error {}

/** After this the gateway answers in place of a slow CSMS: a charger gives up after 30 s or more. */
const ANSWER_WITHIN_MS = 10_000;
const OPEN_WITHIN_MS = 5_000;
const PING_EVERY_MS = 30_000;
/** Milliseconds between attempts, the shortest and the longest. */
const AGAIN_AFTER_MS = [1_000, 60_000] as const;
/** A connection that lasted this long resets the count of failures. */
const SETTLED_AFTER_MS = 60_000;
const MOST_BYTES = 131_072;
/** Far more than any CSMS sends to one charger. */
const MESSAGES = { ratePerS: 20, burst: 400 };
/** Calls that wait for the charger. OCPP allows one at a time. */
const MOST_CALLS = 10;
const BAD_MESSAGES_IN_A_ROW = 20;
const POLICY_VIOLATION = 1008;

export interface CsmsLinkOptions {
  /** The charger's identity is appended to it. */
  readonly url: string;
  readonly identity: string;
  readonly password: Buffer | undefined;
  /** From 0 to 1. */
  readonly random: () => number;
  readonly clock: Clock;
  readonly log: Log;
  readonly rareLog: RareLog;
  readonly metrics: GatewayMetrics;
}

/** Receives the calls of the CSMS. */
export interface CsmsReceiver {
  /** The answer to a call of the CSMS. @throws ForwardedError */
  called(method: string, params: unknown): Promise<unknown>;
  /** The CSMS is connected, for the first time or again. */
  opened(): void;
}

export class CsmsLink {
  readonly #options: CsmsLinkOptions;
  #protocols: readonly string[] = [];
  #receiver: CsmsReceiver | undefined;
  #client: RPCClient | undefined;
  #failures = 0;
  #waiting = 0;
  #cancelAgain: Cancel = () => {};
  #isEnded = false;

  constructor(options: CsmsLinkOptions) {
    this.#options = options;
  }

  get isOpen(): boolean {
    return this.#client?.state === RPCClient.OPEN;
  }

  /**
   * Connects with one of `protocols`, the newest first.
   * @returns the protocol that the CSMS chose; undefined if it cannot be reached now
   */
  async open(protocols: readonly string[]): Promise<string | undefined> {
    this.#protocols = protocols;
    await this.#connect();
    return this.isOpen ? this.#client?.protocol : undefined;
  }

  /** From now on calls go to `receiver`, and `protocol` is the only one offered. */
  serve(protocol: string, receiver: CsmsReceiver): void {
    this.#protocols = [protocol];
    this.#receiver = receiver;
    if (this.isOpen) receiver.opened();
  }

  /** @throws CsmsAway, ForwardedError */
  async call(method: string, params: unknown): Promise<object> {
    const client = this.#client;
    if (client === undefined || !this.isOpen) throw new CsmsAway('the CSMS cannot be reached');
    try {
      const answer = await client.call(method, params);
      this.#count('forwarded');
      return typeof answer === 'object' && answer !== null ? answer : {};
    } catch (error) {
      if (error instanceof Error && 'rpcErrorCode' in error) {
        this.#count('refused');
        const details = 'details' in error ? error.details : {};
        throw new ForwardedError(String(error.rpcErrorCode), error.message, details);
      }
      this.#count('unanswered');
      throw new CsmsAway('the CSMS does not answer');
    }
  }

  async end(): Promise<void> {
    this.#isEnded = true;
    this.#cancelAgain();
    await this.#client
      ?.close({ code: 1001, reason: 'The charger is not connected', force: true })
      .catch(() => {});
  }

  #count(result: 'forwarded' | 'refused' | 'unanswered' | 'unreachable' | 'limited'): void {
    this.#options.metrics.csms.inc({ result });
  }

  async #connect(): Promise<void> {
    if (this.#isEnded) return;
    const { url, identity, password, clock, log, rareLog } = this.#options;
    const client = new RPCClient({
      ...OTHERWISE,
      endpoint: url,
      identity,
      // The password is passed on as it came: it may be any bytes.
      password: (password ?? null) as string | null,
      protocols: [...this.#protocols],
      callTimeoutMs: ANSWER_WITHIN_MS,
      pingIntervalMs: PING_EVERY_MS,
      maxBadMessages: BAD_MESSAGES_IN_A_ROW,
      wsOpts: { maxPayload: MOST_BYTES, handshakeTimeout: OPEN_WITHIN_MS },
    });
    this.#client = client;
    this.#watch(client);
    client.handle((call: IHandlersOption) => this.#answer(call));
    const cancelGiveUp = clock.after(
      OPEN_WITHIN_MS,
      () => void client.close({ force: true }).catch(() => {}),
    );
    try {
      await client.connect();
      const cancelSettled = clock.after(SETTLED_AFTER_MS, () => {
        this.#failures = 0;
      });
      client.once('close', () => {
        cancelSettled();
        this.#again();
      });
      this.#receiver?.opened();
    } catch (error) {
      this.#count('unreachable');
      rareLog(`csms ${identity}`, () =>
        log.warn({ controllerUuid: identity, err: error }, 'the CSMS cannot be reached for a charger'),
      );
      this.#again();
    } finally {
      cancelGiveUp();
    }
  }

  #again(): void {
    if (this.#isEnded) return;
    const [shortestMs, longestMs] = AGAIN_AFTER_MS;
    const afterMs = Math.min(longestMs, shortestMs * 2 ** this.#failures++);
    this.#cancelAgain = this.#options.clock.after(
      Math.round(afterMs * (0.5 + this.#options.random())),
      () => void this.#connect(),
    );
  }

  #watch(client: RPCClient): void {
    const bucket = createTokenBucket(MESSAGES);
    client.on('message', ({ outbound }: { outbound: boolean }) => {
      if (outbound || bucket.take(this.#options.clock.monotonicMs())) return;
      this.#count('limited');
      void client.close({ code: POLICY_VIOLATION, reason: 'too many messages', force: true });
    });
    // An unreadable answer counts as a missing one, so it is counted there.
    client.on('badMessage', () => {});
    client.on('socketError', () => {});
  }

  async #answer({ method = '', params }: IHandlersOption): Promise<Record<string, unknown>> {
    if (this.#receiver === undefined)
      throw createRPCError('InternalError', 'The charger has not connected yet');
    if (this.#waiting >= MOST_CALLS) {
      this.#count('limited');
      throw createRPCError('GenericError', 'Too many calls wait for this charger');
    }
    this.#waiting++;
    try {
      return (await this.#receiver.called(method, params)) as Record<string, unknown>;
    } catch (error) {
      if (error instanceof ForwardedError)
        throw createRPCError(error.code, error.message, asDetails(error.details));
      this.#options.log.error({ err: error, method }, 'a call of the CSMS failed');
      throw createRPCError('InternalError', 'The gateway failed');
    } finally {
      this.#waiting--;
    }
  }
}

function asDetails(details: unknown): Record<string, unknown> {
  return typeof details === 'object' && details !== null ? { ...details } : {};
}

/** The library requires every option. The two ends validate forwarded messages, not the gateway. */
const OTHERWISE = {
  reconnect: false,
  strictMode: false,
  strictModeValidators: [],
  deferPingsOnActivity: false,
  respondWithDetailedErrors: false,
  callConcurrency: 1,
  headers: {},
  maxReconnects: 0,
  backoff: { initialDelay: 1_000, maxDelay: 2_000, factor: 2, randomisationFactor: 0 },
};
