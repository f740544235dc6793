// Joins the two connections of one charger: its protocol on one side, MQTT to the service on the other, its session in
// between.
import { ChargerSession, type Proofs } from '../../machines/session/charger-session.js';
import type { DcOutput } from '../../machines/session/dc-output.js';
import type { Fallbacks } from '../../machines/session/failsafe-profile.js';
import type {
  GatewayAnswer,
  GatewayMessage,
  GatewayRequest,
  TransactionRef,
} from '../../machines/session/gateway-request.js';
import type { ChargerAddress, ConnectorId } from '../../machines/values/ids.js';
import type { SessionState } from '../../machines/values/session-state.js';
import type { Cancel, Clock } from '../ports/clock.js';
import type { Log } from '../ports/log.js';
import { createTokenBucket, type TokenBucket } from '../token-bucket.js';
import type { LimitMessage } from '../wire/mqtt.js';
import { topicPrefixOf, topicUnder } from '../wire/topics.js';
import { type ChargerDialect, performRequest } from './charger-dialect.js';
import { type GatewayMemory, proofsOf } from './gateway-memory.js';
import type { GatewayMetrics } from './gateway-metrics.js';
import type { ChargerUplink, LastWill, UplinkReceiver } from './uplink.js';

export interface BridgedConnector {
  readonly connectorId: ConnectorId;
  readonly evse: number;
  readonly phases: 1 | 3;
  readonly voltageV: number;
  readonly maxCurrentA: number;
  readonly failsafeA: number;
  /** Undefined for AC. */
  readonly dc?: DcOutput | undefined;
}

/** A connection of the charger. */
export interface ChargerConnection {
  readonly dialect: ChargerDialect;
  close(reason: string): void;
}

/** A connector, and the transaction that runs there. */
export interface LimitedConnector extends Pick<BridgedConnector, 'evse' | 'phases' | 'voltageV' | 'dc'> {
  readonly transaction: TransactionRef | undefined;
}

/** Data of a protocol for one charger, which outlast a connection. */
export interface ProtocolState {
  /**
   * Lowest limit of another system, such as a management system, from `fromMs` to `untilMs` of epoch ms, A per phase;
   * infinite without one.
   */
  lowestA(connector: LimitedConnector, fromMs: number, untilMs: number): number;
  /** That transaction runs there; it may have been reported before. */
  began(evse: number, transaction: TransactionRef, nowMs: number): void;
  /** Writes changed data to the disk, before a message leaves that relies on them. @throws Error if the disk takes none */
  keep(): void;
  /** The charger has another bridge from now on, or none: late work must not overwrite the data of that one. */
  retire(): void;
}

const SHORTEST_SLEEP_MS = 20;
/** Applies if heartbeats are not further apart. */
const LONGEST_SLEEP_MS = 10_000;
/** A failed write is repeated after this at the latest. */
const WRITES_AGAIN_MS = 5_000;

/**
 * Requests for each connector. A connector sends one meter value a second at most, a grant answers it, and three requests
 * carry that grant to the charger. A configuration takes far fewer requests than the burst.
 */
const REQUESTS = { ratePerS: 3, burst: 100 };
const WARNS_EVERY_MS = 60_000;

/** Follows a charger during its acceptance (`headroom gateway check`). */
export interface BridgeMonitor {
  /**
   * False: limits of the service do not reach the session, so that the charger loses
   * its lease. To the service they are lost messages.
   */
  readonly passesLimits: boolean;
  /** The gateway sends `message` to the service. */
  sent(message: GatewayMessage<ConnectorId>): void;
  answered(request: GatewayRequest, answer: GatewayAnswer): void;
}

export interface BridgeParts<State extends ProtocolState = ProtocolState> {
  readonly heartbeatMs: number;
  readonly newBoot: () => string;
  readonly memory: GatewayMemory;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: GatewayMetrics;
  readonly monitor?: BridgeMonitor | undefined;
  /** Data of the charger's protocol. */
  readonly stateOf: (address: ChargerAddress) => State;
}

interface Live {
  readonly connection: ChargerConnection;
  readonly uplink: ChargerUplink;
}

export class ChargerBridge<State extends ProtocolState = ProtocolState> implements UplinkReceiver {
  readonly address: ChargerAddress;
  readonly connectors: readonly BridgedConnector[];
  readonly session: ChargerSession<ConnectorId>;
  readonly protocolState: State;
  readonly #parts: BridgeParts;
  readonly #topicPrefix: string;
  readonly #proven = new Set<ConnectorId>();
  readonly #requests: TokenBucket;
  #warnedAtMs = Number.NEGATIVE_INFINITY;
  /** As logged last. */
  readonly #states = new Map<ConnectorId, SessionState>();
  /** The value written last. */
  #provenFirmware: Proofs | undefined;
  #fallbacksA: Fallbacks | undefined;
  #live: Live | undefined;
  /** The charger's start that the last will of its login names. */
  #willBoot: string | undefined;
  #cancelWake: Cancel = () => {};
  #isRetired = false;

  constructor(address: ChargerAddress, connectors: readonly BridgedConnector[], options: BridgeParts<State>) {
    this.address = address;
    this.connectors = connectors;
    this.#parts = options;
    this.#topicPrefix = topicPrefixOf(address);
    const { ratePerS, burst } = REQUESTS;
    const places = Math.max(1, connectors.length);
    this.#requests = createTokenBucket({ ratePerS: ratePerS * places, burst: burst * places });
    const { heartbeatMs, newBoot, memory } = options;
    this.protocolState = options.stateOf(address);
    this.#provenFirmware = proofsOf(memory.provenFirmware.get(address), connectors);
    this.#fallbacksA = memory.fallbacksA.get(address);
    this.session = new ChargerSession({
      connectors,
      heartbeatMs,
      newBoot,
      provenFirmware: this.#provenFirmware,
      fallbacksA: this.#fallbacksA,
      ceilingA: (evse, fromMs, untilMs) => this.#ceilingA(evse, fromMs, untilMs),
    });
  }

  /** Interval of heartbeats to the service. The charger sends something at least as often, pongs included. */
  get heartbeatMs(): number {
    return this.#parts.heartbeatMs;
  }

  get isOpen(): boolean {
    return this.#live !== undefined;
  }

  /** Number of connectors with a proven lease. */
  get provenCount(): number {
    return this.#proven.size;
  }

  /** The broker publishes this if the gateway is gone. */
  lastWill(): LastWill {
    const topic = topicUnder(this.#topicPrefix, { kind: 'state' });
    return { topic, body: this.session.lastWill() };
  }

  /** The charger is connected and logged in. This replaces an earlier connection. */
  async open(connection: ChargerConnection, uplink: ChargerUplink): Promise<void> {
    const live = { connection, uplink };
    this.#live = live;
    this.#willBoot = undefined;
    await uplink.attach(
      this.address,
      this.connectors.map(({ connectorId }) => connectorId),
      this,
    );
    if (this.#live !== live) return;
    this.session.opened(this.#parts.clock.monotonicMs());
    this.wake();
  }

  /** The connection is gone. @returns false if the charger has another one by now */
  close(connection: ChargerConnection): boolean {
    const live = this.#live;
    if (live?.connection !== connection) return false;
    this.#live = undefined;
    this.#cancelWake();
    this.session.closed(this.#parts.clock.monotonicMs());
    this.#publish(live, { kind: 'state', body: this.session.lastWill() });
    live.uplink.detach(this.address);
    return true;
  }

  /** The charger has another bridge from now on, or none. Late work of this one must not overwrite the other's data. */
  retire(): void {
    this.#isRetired = true;
    this.protocolState.retire();
  }

  limit(connectorId: ConnectorId, limit: LimitMessage): void {
    if (this.#parts.monitor?.passesLimits === false) return;
    this.session.receiveLimit(connectorId, limit, this.#parts.clock.monotonicMs());
    this.wake();
  }

  sync(): void {
    this.session.receiveSync();
    this.wake();
  }

  listening(): void {
    this.sync();
  }

  refused(): void {
    this.#parts.metrics.refusals.inc({ reason: 'revoked' });
    this.#live?.connection.close('the service refuses its login');
  }

  /** Another system has changed its limits. */
  review(): void {
    this.#remember();
    this.session.review(this.#parts.clock.monotonicMs());
    this.wake();
  }

  /** Limit of another system for a connector in a span of the monotonic clock, A per phase. */
  #ceilingA(evse: number, fromMs: number, untilMs: number): number {
    const connector = this.connectors.find((each) => each.evse === evse);
    if (connector === undefined) return Number.POSITIVE_INFINITY;
    const { clock } = this.#parts;
    const aheadMs = clock.nowMs() - clock.monotonicMs();
    const limited = { ...connector, transaction: this.session.leaseAt(evse)?.transaction };
    return this.protocolState.lowestA(limited, fromMs + aheadMs, untilMs + aheadMs);
  }

  /** Does all work that is due, and sets a timer for the next. */
  wake(): void {
    const live = this.#live;
    if (live === undefined) return;
    const { clock } = this.#parts;
    this.#cancelWake();
    const nowMs = clock.monotonicMs();
    this.#noteTransactions();
    this.session.advance(nowMs);
    this.#askNext(live, nowMs);
    // Acknowledged state is on disk first: no message leaves before.
    const isKept = this.#remember();
    this.#renewWill(live);
    const isReceived = isKept && live.uplink.isListening;
    if (isReceived) for (const message of this.session.takeMessages(nowMs)) this.#publish(live, message);
    this.#reportNotes();
    const dueInMs = Math.ceil(this.session.nextDueMs(nowMs, isReceived) - nowMs);
    const mostMs = isKept ? Math.max(LONGEST_SLEEP_MS, this.heartbeatMs) : WRITES_AGAIN_MS;
    const sleepMs = Math.min(mostMs, Math.max(SHORTEST_SLEEP_MS, dueInMs));
    this.#cancelWake = clock.after(sleepMs, () => this.wake());
  }

  /** A limit of another system may count from the begin of a transaction, and end with it. */
  #noteTransactions(): void {
    const nowMs = this.#parts.clock.nowMs();
    for (const { evse } of this.connectors) {
      const transaction = this.session.leaseAt(evse)?.transaction;
      if (transaction !== undefined) this.protocolState.began(evse, transaction, nowMs);
    }
  }

  /** A session that asks without end keeps to the rate, and spares the charger's flash. */
  #askNext(live: Live, nowMs: number): void {
    if (this.#requests.waitMs(nowMs) > 0) {
      if (nowMs - this.#warnedAtMs < WARNS_EVERY_MS) return;
      this.#warnedAtMs = nowMs;
      this.#parts.log.warn({ ...this.address }, 'too many requests to a charger: the next ones wait');
      return;
    }
    const outstanding = this.session.takeRequest(nowMs);
    if (outstanding === undefined) return;
    this.#requests.take(nowMs);
    const { ticket, request } = outstanding;
    const { clock, log, metrics, monitor } = this.#parts;
    void performRequest(live.connection.dialect, request).then((answer) => {
      const result = answer.kind === 'refused' || answer.kind === 'failed' ? answer.kind : 'done';
      metrics.requests.inc({ kind: request.kind, result });
      if ('why' in answer)
        log.debug({ ...this.address, request, why: answer.why }, 'a charger did not carry out a request');
      if (this.#live !== live) return;
      monitor?.answered(request, answer);
      this.session.answered(ticket, answer, clock.monotonicMs());
      this.wake();
    });
  }

  /** The charger has started again: the service would treat a will with an earlier start as outdated. */
  #renewWill({ uplink }: Live): void {
    const { boot } = this.session;
    if (boot === this.#willBoot) return;
    this.#willBoot = boot;
    uplink.setWill(this.lastWill());
  }

  #publish({ uplink }: Live, message: GatewayMessage<ConnectorId>): void {
    const { kind, body } = message;
    this.#parts.monitor?.sent(message);
    uplink.publish(topicUnder(this.#topicPrefix, message), body, {
      qos: kind === 'meter' ? 0 : 1,
      retain: kind === 'state',
    });
  }

  /** @returns false if the disk takes no write; the file logs the reason */
  #remember(): boolean {
    if (this.#isRetired) return false;
    const { provenFirmware, fallbacksA } = this.session;
    const { memory } = this.#parts;
    try {
      if (provenFirmware !== this.#provenFirmware) memory.provenFirmware.set(this.address, provenFirmware);
      if (fallbacksA !== this.#fallbacksA) memory.fallbacksA.set(this.address, fallbacksA);
      this.protocolState.keep();
    } catch {
      return false;
    }
    this.#provenFirmware = provenFirmware;
    this.#fallbacksA = fallbacksA;
    return true;
  }

  #reportNotes(): void {
    const { log, metrics } = this.#parts;
    const { controllerUuid } = this.address;
    for (const { connectorId, state, whyNot } of this.session.connectors()) {
      if (this.#states.get(connectorId) === state) continue;
      this.#states.set(connectorId, state);
      log.debug({ controllerUuid, connectorId, state, why: whyNot }, 'a connector changed its state');
    }
    for (const { connectorId, whyNot } of this.session.takeNotes()) {
      const id = connectorId as ConnectorId;
      const told = { controllerUuid, connectorId };
      if (whyNot === undefined) {
        this.#proven.add(id);
        log.info(told, 'lease verified');
      } else if (this.#proven.delete(id)) {
        metrics.leasesLost.inc();
        log.warn(
          { ...told, why: whyNot },
          'lease no longer verified: the maximum of the connector is reserved',
        );
      } else {
        log.warn(
          { ...told, why: whyNot },
          'lease not verified yet: the maximum of the connector is reserved',
        );
      }
    }
  }
}
