// A charger with one connector and a car, at minimum cost: it reports, follows limits and acknowledges them.
import type { Socket } from 'node:net';
import { uniformFloat64 } from 'pure-rand/distribution/uniformFloat64';
import type { RandomGenerator } from 'pure-rand/types/RandomGenerator';
import type { ChargerAddress, ConnectorId } from '../../machines/values/ids.js';
import { systemClock } from '../../src/clock.js';
import type { AckMessage, LimitMessage, MeterMessage, StateMessage } from '../../src/wire/mqtt.js';
import { buildTopic } from '../../src/wire/topics.js';
import { publishPacket, surePublishPacket } from './mqtt-packets.js';

/** Common counts of the chargers of a fleet. */
export interface Tally {
  heartbeats: number;
  limits: number;
  /** Limits that differ from the previous one. */
  changes: number;
  /** Limits that broke the protocol: of another boot, or not newer than the previous one. */
  broken: number;
  /** Called with the time that a charger waited for a grant, ms. */
  onAnswer(waitedMs: number): void;
  /** A charger received a higher limit than before. */
  onRaise(): void;
}

/** Times of the contract. A changed limit or demand is reported after a second. */
const HEARTBEAT_MS = 10_000;
const CHANGE_AFTER_MS = 1_000;
/** A heartbeat is due an answer after the newest grant is older than this: the service renews after 6.7 s. */
const OWED_AFTER_MS = 7_000;
const FAILSAFE_A = 6;
const MAX_A = 32;
const VOLTAGE_V = 230;
const PHASES = 3;
const CONNECTOR_ID = '1' as ConnectorId;

/** Share of connectors with a car, and interval at which a car comes, goes or takes another current. */
const CAR_SHARE = 0.8;
const MIND_MS = { least: 60_000, most: 180_000 };

export class FleetCharger {
  readonly limitTopic: string;
  readonly #meterTopic: string;
  readonly #ackTopic: string;
  readonly #stateTopic: string;
  readonly #boot: string;
  readonly #socket: Socket;
  readonly #random: RandomGenerator;
  readonly #tally: Tally;
  #packetId = 0;
  #hb = 0;
  #epoch = 0;
  #seq = 0;
  #limitA = FAILSAFE_A;
  /** Current that the car at the connector always takes, A; if undefined, cars come and go. */
  readonly #steadyA: number | undefined;
  readonly #heartbeatMs: number;
  /** 0 without a car. */
  #wantedA = 0;
  #energyWh = 0;
  #isReportComing = false;
  #grantedAtMs = Number.NEGATIVE_INFINITY;
  /** Instant at which the heartbeat left that is due an answer. */
  #owedSinceMs: number | undefined;

  constructor(
    address: ChargerAddress,
    socket: Socket,
    random: RandomGenerator,
    tally: Tally,
    {
      steadyA,
      heartbeatMs = HEARTBEAT_MS,
    }: { readonly steadyA?: number; readonly heartbeatMs?: number } = {},
  ) {
    const connector = { ...address, connectorId: CONNECTOR_ID };
    this.limitTopic = buildTopic({ ...connector, kind: 'limit' });
    this.#meterTopic = buildTopic({ ...connector, kind: 'meter' });
    this.#ackTopic = buildTopic({ ...connector, kind: 'ack' });
    this.#stateTopic = buildTopic({ ...address, kind: 'state' });
    this.#boot = `boot-of-${address.controllerUuid}`;
    this.#socket = socket;
    this.#random = random;
    this.#tally = tally;
    this.#steadyA = steadyA;
    this.#heartbeatMs = heartbeatMs;
  }

  /** Publishes its state, and reports from now on, at an offset of its own. */
  start(): void {
    const connector = { id: CONNECTOR_ID, phases: PHASES, minA: FAILSAFE_A, maxA: MAX_A } as const;
    const state: StateMessage = {
      v: 1,
      online: true,
      boot: this.#boot,
      connectors: [{ ...connector, failsafeA: FAILSAFE_A, lease: 'heartbeat', keepsThen: true }],
    };
    this.#sendSurely(this.#stateTopic, state, true);
    this.#changeMind();
    this.#wait(this.#between(0, this.#heartbeatMs), () => this.#beat());
  }

  applyLimit({ epoch, seq, boot, ref, limitA }: LimitMessage): void {
    const nowMs = systemClock.monotonicMs();
    const isNewer = epoch > this.#epoch || (epoch === this.#epoch && seq > this.#seq);
    this.#tally.limits++;
    if (!isNewer || boot !== this.#boot || ref > this.#hb) {
      this.#tally.broken++;
      return;
    }
    if (this.#owedSinceMs !== undefined) this.#tally.onAnswer(nowMs - this.#owedSinceMs);
    this.#owedSinceMs = undefined;
    this.#grantedAtMs = nowMs;
    this.#epoch = epoch;
    this.#seq = seq;
    const ack: AckMessage = { v: 1, boot: this.#boot, epoch, seq, result: 'APPLIED', appliedA: limitA };
    this.#sendSurely(this.#ackTopic, ack);
    if (limitA === this.#limitA) return;
    this.#tally.changes++;
    if (limitA > this.#limitA) this.#tally.onRaise();
    this.#limitA = limitA;
    this.#reportSoon();
  }

  /** Time since it began to wait for a due grant, ms. */
  owedForMs(nowMs: number): number {
    return this.#owedSinceMs === undefined ? 0 : nowMs - this.#owedSinceMs;
  }

  #beat(): void {
    this.#report();
    this.#wait(this.#heartbeatMs, () => this.#beat());
  }

  #reportSoon(): void {
    if (this.#isReportComing) return;
    this.#isReportComing = true;
    this.#wait(CHANGE_AFTER_MS, () => {
      this.#isReportComing = false;
      this.#report();
    });
  }

  #report(): void {
    const drawnA = Math.min(this.#limitA, this.#wantedA);
    const powerW = Math.round(drawnA * VOLTAGE_V * PHASES);
    this.#hb++;
    this.#energyWh += Math.round((powerW * this.#heartbeatMs) / 3_600_000);
    const nowMs = systemClock.monotonicMs();
    if (nowMs - this.#grantedAtMs >= OWED_AFTER_MS) this.#owedSinceMs ??= nowMs;
    this.#tally.heartbeats++;
    const message: MeterMessage = {
      v: 1,
      boot: this.#boot,
      hb: this.#hb,
      at: '2026-06-01T17:00:00.000Z',
      status: this.#wantedA === 0 ? 'Available' : 'Charging',
      powerW,
      currentA: [drawnA, drawnA, drawnA],
      voltageV: [VOLTAGE_V, VOLTAGE_V, VOLTAGE_V],
      energyWh: this.#energyWh,
      epoch: this.#epoch,
      seq: this.#seq,
      limitA: this.#limitA,
      leaseLeftS: 55,
    };
    this.#socket.write(publishPacket(this.#meterTopic, Buffer.from(JSON.stringify(message))));
  }

  #changeMind(): void {
    if (this.#steadyA !== undefined) {
      this.#wantedA = this.#steadyA;
      return;
    }
    this.#wantedA = this.#between(0, 1) < CAR_SHARE ? Math.round(this.#between(8, MAX_A)) : 0;
    this.#reportSoon();
    this.#wait(this.#between(MIND_MS.least, MIND_MS.most), () => this.#changeMind());
  }

  #between(least: number, most: number): number {
    return least + uniformFloat64(this.#random) * (most - least);
  }

  #wait(ms: number, then: () => void): void {
    systemClock.after(ms, then);
  }

  #sendSurely(topic: string, message: AckMessage | StateMessage, isRetained = false): void {
    this.#packetId = (this.#packetId % 65_535) + 1;
    const payload = Buffer.from(JSON.stringify(message));
    this.#socket.write(surePublishPacket(topic, payload, this.#packetId, isRetained));
  }
}
