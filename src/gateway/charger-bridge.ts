// Joins the two connections of one charger: OCPP on one side, MQTT to the service on the other, its session in between.
import { ChargerSession, type Proofs } from '../../machines/session/charger-session.js';
import { CsmsProfiles } from '../../machines/session/csms-profiles.js';
import type { Fallbacks } from '../../machines/session/failsafe-profile.js';
import type {
  GatewayAnswer,
  GatewayMessage,
  GatewayRequest,
} from '../../machines/session/gateway-request.js';
import type { ChargerAddress, ConnectorId } from '../../machines/values/ids.js';
import type { OcppState } from '../../machines/values/ocpp-state.js';
import type { Cancel, Clock } from '../ports/clock.js';
import type { Log } from '../ports/log.js';
import { createTokenBucket, type TokenBucket } from '../token-bucket.js';
import type { LimitMessage } from '../wire/mqtt.js';
import { topicPrefixOf, topicUnder } from '../wire/topics.js';
import type { Call, Dialect } from './dialect.js';
import { EvseUses } from './evse-uses.js';
import { type GatewayMemory, proofsOf } from './gateway-memory.js';
import type { GatewayMetrics } from './gateway-metrics.js';
import { TransactionIds } from './transaction-ids.js';
import { type TransactionPlace, TransactionPlaces } from './transaction-places.js';
import type { ChargerUplink, LastWill, UplinkReceiver } from './uplink.js';

export interface BridgedConnector {
  readonly connectorId: ConnectorId;
  readonly evse: number;
  readonly phases: 1 | 3;
  readonly voltageV: number;
  readonly maxCurrentA: number;
  readonly failsafeA: number;
}

/** An OCPP connection of the charger. */
export interface ChargerSocket {
  readonly dialect: Dialect;
  readonly call: Call;
  close(reason: string): void;
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

export interface BridgeParts {
  readonly heartbeatMs: number;
  readonly newBoot: () => string;
  readonly memory: GatewayMemory;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: GatewayMetrics;
  readonly monitor?: BridgeMonitor | undefined;
}

interface Live {
  readonly socket: ChargerSocket;
  readonly uplink: ChargerUplink;
}

export class ChargerBridge implements UplinkReceiver {
  readonly address: ChargerAddress;
  readonly connectors: readonly BridgedConnector[];
  readonly session: ChargerSession<ConnectorId>;
  /** Charging profiles of the CSMS. */
  readonly csmsProfiles: CsmsProfiles;
  /** For OCPP 2.0.1 and 2.1. */
  readonly evseUses = new EvseUses();
  /** For OCPP 1.6 without a CSMS. */
  readonly transactionIds: TransactionIds;
  /** For OCPP 2.0.1 and 2.1. */
  readonly transactionPlaces: TransactionPlaces;
  readonly #parts: BridgeParts;
  readonly #topicPrefix: string;
  readonly #proven = new Set<ConnectorId>();
  readonly #requests: TokenBucket;
  #warnedAtMs = Number.NEGATIVE_INFINITY;
  /** As logged last. */
  readonly #ocppStates = new Map<ConnectorId, OcppState>();
  /** The value written last. */
  #provenFirmware: Proofs | undefined;
  #fallbacksA: Fallbacks | undefined;
  #live: Live | undefined;
  /** The charger's start that the last will of its login names. */
  #willBoot: string | undefined;
  #cancelWake: Cancel = () => {};
  #isRetired = false;

  constructor(address: ChargerAddress, connectors: readonly BridgedConnector[], options: BridgeParts) {
    this.address = address;
    this.connectors = connectors;
    this.#parts = options;
    this.#topicPrefix = topicPrefixOf(address);
    const { ratePerS, burst } = REQUESTS;
    const places = Math.max(1, connectors.length);
    this.#requests = createTokenBucket({ ratePerS: ratePerS * places, burst: burst * places });
    const { heartbeatMs, newBoot, memory } = options;
    this.csmsProfiles = new CsmsProfiles(memory.csmsProfiles.get(address));
    this.#provenFirmware = proofsOf(memory.provenFirmware.get(address), connectors);
    this.transactionIds = new TransactionIds(memory.transactionIds.get(address), (id) =>
      this.#keepTransactionId(id),
    );
    this.transactionPlaces = new TransactionPlaces(memory.transactionPlaces.get(address), (places) =>
      this.#keepTransactionPlaces(places),
    );
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

  /** The charger is connected by `socket` and logged in. This replaces an earlier connection. */
  async open(socket: ChargerSocket, uplink: ChargerUplink): Promise<void> {
    const live = { socket, uplink };
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

  /** The socket is gone. @returns false if the charger has another socket by now */
  close(socket: ChargerSocket): boolean {
    const live = this.#live;
    if (live?.socket !== socket) return false;
    this.#live = undefined;
    this.#cancelWake();
    this.session.closed(this.#parts.clock.monotonicMs());
    this.#say(live, { kind: 'state', body: this.session.lastWill() });
    live.uplink.detach(this.address);
    return true;
  }

  /** The charger has another bridge from now on, or none. Late work of this one must not overwrite the other's data. */
  retire(): void {
    this.#isRetired = true;
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
    this.#live?.socket.close('the service refuses its login');
  }

  /** The profiles of the CSMS have changed. */
  review(): void {
    this.#remember();
    this.session.review(this.#parts.clock.monotonicMs());
    this.wake();
  }

  /** Limit of the CSMS for a connector in a span of the monotonic clock, A per phase. */
  #ceilingA(evse: number, fromMs: number, untilMs: number): number {
    const connector = this.connectors.find((each) => each.evse === evse);
    if (connector === undefined || this.csmsProfiles.all.length === 0) return Number.POSITIVE_INFINITY;
    const { clock } = this.#parts;
    const aheadMs = clock.nowMs() - clock.monotonicMs();
    const limited = { ...connector, transaction: this.session.leaseAt(evse)?.transaction };
    return this.csmsProfiles.lowestA(limited, fromMs + aheadMs, untilMs + aheadMs);
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
    if (isReceived) for (const message of this.session.takeMessages(nowMs)) this.#say(live, message);
    this.#tellNotes();
    const dueInMs = Math.ceil(this.session.nextDueMs(nowMs, isReceived) - nowMs);
    const mostMs = isKept ? Math.max(LONGEST_SLEEP_MS, this.heartbeatMs) : WRITES_AGAIN_MS;
    const sleepMs = Math.min(mostMs, Math.max(SHORTEST_SLEEP_MS, dueInMs));
    this.#cancelWake = clock.after(sleepMs, () => this.wake());
  }

  /** A CSMS profile may count from the begin of a transaction, and end with it. */
  #noteTransactions(): void {
    const nowMs = this.#parts.clock.nowMs();
    for (const { evse } of this.connectors) {
      const transaction = this.session.leaseAt(evse)?.transaction;
      if (transaction !== undefined) this.csmsProfiles.began(evse, transaction, nowMs);
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
    void live.socket.dialect.perform(request, live.socket.call).then((answer) => {
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

  #say({ uplink }: Live, message: GatewayMessage<ConnectorId>): void {
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
      memory.csmsProfiles.set(this.address, this.csmsProfiles.kept);
    } catch {
      return false;
    }
    this.#provenFirmware = provenFirmware;
    this.#fallbacksA = fallbacksA;
    return true;
  }

  /** A car may charge although the disk takes no write. */
  #keepTransactionId(id: number): void {
    if (this.#isRetired) return;
    try {
      this.#parts.memory.transactionIds.set(this.address, id);
    } catch {
      // The file logs the reason.
    }
  }

  /** Leases go on although the disk takes no write: the places are needed only after a restart. */
  #keepTransactionPlaces(places: readonly TransactionPlace[] | undefined): void {
    if (this.#isRetired) return;
    try {
      this.#parts.memory.transactionPlaces.set(this.address, places);
    } catch {
      // The file logs the reason.
    }
  }

  #tellNotes(): void {
    const { log, metrics } = this.#parts;
    const { controllerUuid } = this.address;
    for (const { connectorId, ocppState, whyNot } of this.session.connectors()) {
      if (this.#ocppStates.get(connectorId) === ocppState) continue;
      this.#ocppStates.set(connectorId, ocppState);
      log.debug({ controllerUuid, connectorId, ocppState, why: whyNot }, 'a connector changed its state');
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
