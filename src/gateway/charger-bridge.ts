// One charger between its two connections: OCPP on one side, the service over MQTT on the other, its session in between.
import { ChargerSession } from '../../machines/session/charger-session.js';
import type { Fallbacks } from '../../machines/session/failsafe-profile.js';
import { ForeignProfiles } from '../../machines/session/foreign-profiles.js';
import type {
  GatewayAnswer,
  GatewayMessage,
  GatewayRequest,
} from '../../machines/session/gateway-request.js';
import type { Proofs } from '../../machines/session/lease-trust.js';
import type { ChargerAddress, ConnectorId } from '../../machines/values/ids.js';
import type { Cancel, Clock } from '../ports/clock.js';
import type { Log } from '../ports/log.js';
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

/** A connection of the charger: how it is asked, and how it is ended. */
export interface ChargerSocket {
  readonly dialect: Dialect;
  readonly call: Call;
  close(reason: string): void;
}

const SHORTEST_SLEEP_MS = 20;
/** Where its heartbeats are not further apart. */
const LONGEST_SLEEP_MS = 10_000;
/** What the disk did not take is written again after this at the latest. */
const WRITES_AGAIN_MS = 5_000;

/** Follows a charger while it is accepted. */
export interface BridgeMonitor {
  /** False: the charger is to lose its lease, so limits of the service do not reach it. To the service they seem lost on the way. */
  readonly passesLimits: boolean;
  /** The gateway sends that to the service. */
  sent(message: GatewayMessage<ConnectorId>): void;
  /** The charger was asked that, and that came of it. */
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
  /** What a management system set for it. */
  readonly csmsProfiles: ForeignProfiles;
  /** What it said of its EVSEs, where it speaks OCPP 2.0.1 or 2.1. */
  readonly evseUses = new EvseUses();
  /** Of OCPP 1.6, where no management system gives them. */
  readonly transactionIds: TransactionIds;
  /** Of OCPP 2.0.1 and 2.1. */
  readonly transactionPlaces: TransactionPlaces;
  readonly #parts: BridgeParts;
  readonly #topicPrefix: string;
  readonly #proven = new Set<ConnectorId>();
  /** What was kept of it last. */
  #provenFirmware: Proofs | undefined;
  #fallbacksA: Fallbacks | undefined;
  #live: Live | undefined;
  /** The start of the charger that the last will of its login names. */
  #willBoot: string | undefined;
  #cancelWake: Cancel = () => {};

  constructor(address: ChargerAddress, connectors: readonly BridgedConnector[], options: BridgeParts) {
    this.address = address;
    this.connectors = connectors;
    this.#parts = options;
    this.#topicPrefix = topicPrefixOf(address);
    const { heartbeatMs, newBoot, memory } = options;
    this.csmsProfiles = new ForeignProfiles(memory.csmsProfiles.get(address));
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

  /** How often it is heard of, pongs included. */
  get heartbeatMs(): number {
    return this.#parts.heartbeatMs;
  }

  get isOpen(): boolean {
    return this.#live !== undefined;
  }

  /** How many of its connectors have a proven lease. */
  get provenCount(): number {
    return this.#proven.size;
  }

  /** The broker is to say this should the gateway be gone. */
  lastWill(): LastWill {
    const topic = topicUnder(this.#topicPrefix, { kind: 'state' });
    return { topic, body: this.session.lastWill() };
  }

  /** The charger is connected by `socket`, and logged in. What was connected before is gone. */
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

  /** Its socket is gone; false where that was another one. */
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

  /** What the management system set is another than before. */
  review(): void {
    this.#remember();
    this.session.review(this.#parts.clock.monotonicMs());
    this.wake();
  }

  /** What the management system allows a connector in that span of the monotonic clock, A per phase. */
  #ceilingA(evse: number, fromMs: number, untilMs: number): number {
    const connector = this.connectors.find((each) => each.evse === evse);
    if (connector === undefined || this.csmsProfiles.all.length === 0) return Number.POSITIVE_INFINITY;
    const { clock } = this.#parts;
    const aheadMs = clock.nowMs() - clock.monotonicMs();
    const limited = { ...connector, transaction: this.session.leaseAt(evse)?.transaction };
    return this.csmsProfiles.lowestA(limited, fromMs + aheadMs, untilMs + aheadMs);
  }

  /** Does what is due now, and comes back when something is due next. */
  wake(): void {
    const live = this.#live;
    if (live === undefined) return;
    const { clock } = this.#parts;
    this.#cancelWake();
    const nowMs = clock.monotonicMs();
    this.#noteTransactions();
    this.session.advance(nowMs);
    this.#askNext(live, nowMs);
    // What is acknowledged is on disk; until it is, nothing is said.
    const isKept = this.#remember();
    this.#renewWill(live);
    const isHeard = isKept && live.uplink.isListening;
    if (isHeard) for (const message of this.session.takeMessages(nowMs)) this.#say(live, message);
    this.#tellNotes();
    const dueInMs = Math.ceil(this.session.nextDueMs(nowMs, isHeard) - nowMs);
    const mostMs = isKept ? Math.max(LONGEST_SLEEP_MS, this.heartbeatMs) : WRITES_AGAIN_MS;
    const sleepMs = Math.min(mostMs, Math.max(SHORTEST_SLEEP_MS, dueInMs));
    this.#cancelWake = clock.after(sleepMs, () => this.wake());
  }

  /** What a management system set may count from the begin of a transaction, and end with it. */
  #noteTransactions(): void {
    const nowMs = this.#parts.clock.nowMs();
    for (const { evse } of this.connectors) {
      const transaction = this.session.leaseAt(evse)?.transaction;
      if (transaction !== undefined) this.csmsProfiles.began(evse, transaction, nowMs);
    }
  }

  #askNext(live: Live, nowMs: number): void {
    const outstanding = this.session.takeRequest(nowMs);
    if (outstanding === undefined) return;
    const { ticket, request } = outstanding;
    const { clock, log, metrics, monitor } = this.#parts;
    void live.socket.dialect.perform(request, live.socket.call).then((answer) => {
      const result = answer.kind === 'refused' || answer.kind === 'failed' ? answer.kind : 'done';
      metrics.requests.inc({ kind: request.kind, result });
      if ('why' in answer)
        log.debug({ ...this.address, request, why: answer.why }, 'a charger did not do as asked');
      if (this.#live !== live) return;
      monitor?.answered(request, answer);
      this.session.answered(ticket, answer, clock.monotonicMs());
      this.wake();
    });
  }

  /** It started anew: what its last will said of before, the service would take for an old word. */
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

  /** False where the disk does not take it, of which the file logs why. */
  #remember(): boolean {
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

  /** A car is let charge though the disk takes no write. */
  #keepTransactionId(id: number): void {
    try {
      this.#parts.memory.transactionIds.set(this.address, id);
    } catch {
      // The file logs why.
    }
  }

  /** Leases go on though the disk takes no write: it is needed only after a restart. */
  #keepTransactionPlaces(places: readonly TransactionPlace[] | undefined): void {
    try {
      this.#parts.memory.transactionPlaces.set(this.address, places);
    } catch {
      // The file logs why.
    }
  }

  #tellNotes(): void {
    const { log, metrics } = this.#parts;
    const { controllerUuid } = this.address;
    for (const { connectorId, whyNot } of this.session.takeNotes()) {
      const id = connectorId as ConnectorId;
      const told = { controllerUuid, connectorId };
      if (whyNot === undefined) {
        this.#proven.add(id);
        log.info(told, 'its lease is proven');
      } else if (this.#proven.delete(id)) {
        metrics.leasesLost.inc();
        log.warn({ ...told, why: whyNot }, 'its lease can be relied upon no longer: its maximum is reserved');
      } else {
        log.warn({ ...told, why: whyNot }, 'it has no lease yet: its maximum is reserved');
      }
    }
  }
}
