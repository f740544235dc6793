// A virtual OCPP charger with the gateway's session of it: to the world, a charger that speaks MQTT like any other.
import { uniformInt } from 'pure-rand/distribution/uniformInt';
import type { RandomGenerator } from 'pure-rand/types/RandomGenerator';
import type { LimitReason } from '../../machines/power/grant.js';
import { CLOCK_DOUBTED } from '../../machines/session/lease-report.js';
import type { ChargerAddress, ConnectorId } from '../../machines/values/ids.js';
import type { LimitMessage } from '../../src/wire/mqtt.js';
import type { PerPhase } from '../charger/car.js';
import { type ChargerMessage, publishedMessage } from '../charger/charger-message.js';
import type { HeldLimit } from '../charger/grant-holder.js';
import { OcppDevice, type OcppDeviceOptions } from '../charger/ocpp-device.js';
import type { OcppEvseSpec } from '../charger/ocpp-evse.js';
import { type OcppTraits, PLAIN_OCPP } from '../charger/ocpp-traits.js';
import type { Agenda } from './agenda.js';
import { BridgedOutlet, type HeldWith } from './bridged-outlet.js';
import type { WorldCharger } from './charger-run.js';
import type { BrokerSide } from './connections.js';
import { GatewaySession } from './gateway-session.js';
import { WAY_MS, Wire } from './wire.js';
import type { WorldGateway } from './world-gateway.js';

/** A charger tries to connect again after this, and up to as much later. */
const RECONNECT_MS = 1_500;
const DEVICE_PINGS_EVERY_MS = 30_000;
/** The gateway's last words for a charger have left by then. */
const LINGERS_MS = 1_000;
const REASONS_KEPT = 64;
const HALF_A = 0.5;

export interface BridgedChargerOptions {
  readonly address: ChargerAddress;
  readonly device: Omit<OcppDeviceOptions, 'controllerUuid' | 'traits'>;
  readonly traits: Partial<OcppTraits>;
  readonly gateway: WorldGateway;
  readonly agenda: Agenda;
  readonly luck: RandomGenerator;
  readonly seed: number;
  readonly monotonicMs: () => number;
  /** Before virtual time goes on, all that was promised is done. */
  readonly settle: () => void;
}

export class BridgedCharger implements WorldCharger {
  readonly address: ChargerAddress;
  readonly takesLimits = true;
  readonly traits: OcppTraits;
  /** Between the charger and the gateway. */
  readonly line: Wire;
  readonly outlets: readonly BridgedOutlet[];
  readonly #options: BridgedChargerOptions;
  readonly #device: OcppDevice;
  #broker: BrokerSide = { isUp: () => false, setWill() {}, connect() {}, end() {}, cut() {}, wake() {} };
  #session: GatewaySession | undefined;
  #isArriving = false;
  /** Counts what it tries, so that what was planned before is over. */
  #attempts = 0;
  #said: ChargerMessage[] = [];
  readonly #reasons = new Map<string, LimitReason>();

  constructor(options: BridgedChargerOptions) {
    const { address, device, agenda, monotonicMs, seed } = options;
    this.address = address;
    this.#options = options;
    this.traits = { ...PLAIN_OCPP, ...options.traits };
    const { controllerUuid } = address;
    this.#device = new OcppDevice({ ...device, controllerUuid, traits: this.traits });
    const receiver = { limit() {}, sync() {}, answer() {} };
    this.line = new Wire({ address, receiver, agenda, monotonicMs, seed: seed + 1, isOrdered: true });
    this.outlets = this.#device.evses.map((evse) => {
      const heldWith = () => this.#heldWith(evse.spec);
      return new BridgedOutlet(evse, heldWith, monotonicMs);
    });
  }

  get connectors() {
    return this.#device.evses.map(({ spec }) => spec);
  }

  /** How it reaches the broker; to be said before anything else. */
  joins(broker: BrokerSide): void {
    this.#broker = broker;
  }

  /** By how much it may draw more than it was told before that shows, A per phase. */
  get unforeseenA(): number {
    return this.traits.behaviours.includes('rounds-up') ? HALF_A : 0;
  }

  /** The gateway does not trust its clock. */
  get isClockDoubted(): boolean {
    const connectors = this.#session?.bridge.session.connectors() ?? [];
    return connectors.some(({ whyNot }) => whyNot?.startsWith(CLOCK_DOUBTED));
  }

  /** It is, or wants to be, connected to the broker. */
  get isWanted(): boolean {
    return this.#isArriving || this.#session !== undefined;
  }

  /** It tries to connect to the gateway then. */
  arriveIn(ms: number): void {
    const attempt = ++this.#attempts;
    const { agenda, monotonicMs, gateway, luck } = this.#options;
    agenda.at(monotonicMs() + ms, () => {
      if (attempt !== this.#attempts) return;
      if (gateway.bridgeOf(this.address) === undefined) {
        this.arriveIn(uniformInt(luck, RECONNECT_MS, 2 * RECONNECT_MS));
        return;
      }
      this.#isArriving = true;
      // Its session of before is still believed to be there.
      if (this.#broker.isUp()) {
        this.#session?.loseUplink();
        this.#broker.cut();
      }
      this.#broker.connect();
    });
  }

  /** Its connection to the gateway breaks, and is made again `downMs` later; the gateway may notice at once, or by its pings. */
  breakLine(downMs: number): void {
    const { luck, agenda, monotonicMs } = this.#options;
    const session = this.#session;
    if (uniformInt(luck, 0, 1) === 0)
      agenda.at(monotonicMs() + WAY_MS, () => {
        if (session !== undefined) this.#leave(session);
      });
    this.#lost(downMs + uniformInt(luck, 0, RECONNECT_MS));
  }

  /** The gateway is gone, and with it everything that it knew. */
  gatewayDied(): void {
    this.#session = undefined;
    this.#isArriving = false;
    this.#lost(uniformInt(this.#options.luck, RECONNECT_MS, 2 * RECONNECT_MS));
  }

  advance(nowMs: number): void {
    this.#device.advance(nowMs);
    this.#pump(nowMs);
  }

  supply(i: number, voltagesV: PerPhase, nowMs: number): void {
    this.#device.evses[i]?.supply(voltagesV, nowMs);
  }

  nextDueMs(nowMs: number): number {
    return this.#said.length > 0 ? nowMs : Math.max(nowMs, this.#device.nextDueMs(nowMs));
  }

  /** The gateway has a session with the broker for it: of a charger that has just come, or again. */
  connected(nowMs: number): void {
    this.advance(nowMs);
    if (this.#isArriving) this.#open();
    else this.#session?.bridge.listening();
    this.#options.settle();
  }

  receiveLimit(connectorId: ConnectorId, limit: LimitMessage): void {
    const { epoch, seq, reason } = limit;
    this.#reasons.set(`${connectorId} ${epoch}/${seq}`, reason);
    const [oldest] = this.#reasons.keys();
    if (this.#reasons.size > REASONS_KEPT && oldest !== undefined) this.#reasons.delete(oldest);
    if (this.#session?.isListening) this.#session.bridge.limit(connectorId, limit);
    this.#options.settle();
  }

  receiveSync(): void {
    if (this.#session?.isListening) this.#session.bridge.sync();
    this.#options.settle();
  }

  takeMessages(nowMs: number): readonly ChargerMessage[] {
    this.advance(nowMs);
    return this.#said.splice(0);
  }

  lastWill(): ChargerMessage | undefined {
    const will = this.#options.gateway.bridgeOf(this.address)?.lastWill();
    return will && publishedMessage(will.topic, will.body);
  }

  reboot(_: string, nowMs: number): void {
    this.#device.restart(nowMs);
    this.breakLine(0);
  }

  limits(): readonly HeldLimit[] {
    return this.outlets.map(({ holder }) => holder.applied);
  }

  physicalPowerW(connectorId?: ConnectorId): number {
    let sumW = 0;
    for (const outlet of this.outlets)
      if (connectorId === undefined || outlet.spec.connectorId === connectorId)
        sumW += outlet.physicalPowerW();
    return sumW;
  }

  #heldWith({ evse, connectorId }: OcppEvseSpec): HeldWith {
    const held = this.#session?.bridge.session.leaseAt(evse)?.held;
    const reason = this.#reasons.get(`${connectorId} ${held?.epoch}/${held?.seq}`) ?? 'failsafe';
    return { held, reason };
  }

  /** The charger's side of its connection is gone; it tries again. */
  #lost(againMs: number): void {
    this.line.isUp = false;
    this.#device.disconnected();
    this.arriveIn(againMs);
    this.#broker.wake();
  }

  /** The gateway lets it in. */
  #open(): void {
    const { gateway, agenda, monotonicMs } = this.#options;
    const { clock } = gateway;
    const bridge = gateway.bridgeOf(this.address);
    this.#isArriving = false;
    if (bridge === undefined || clock === undefined) {
      this.#broker.end();
      return;
    }
    // The newer of two sockets counts.
    if (this.#session !== undefined) this.#leave(this.#session);
    const session = new GatewaySession({
      gateway,
      bridge,
      clock,
      line: this.line,
      protocol: this.traits.protocol,
      settle: this.#options.settle,
      isUplinkUp: this.#broker.isUp,
      setWill: this.#broker.setWill,
      say: (message) => {
        this.#said.push(message);
        this.#broker.wake();
      },
      answer: (method, params) => {
        const answer = this.#device.answer(method, params, monotonicMs());
        // What it says by itself does not overtake its answer.
        agenda.at(monotonicMs(), this.#broker.wake);
        return answer;
      },
      onOver: () => this.#leave(session),
    });
    this.#session = session;
    this.line.isUp = true;
    session.begin();
    this.line.travelDown({ arrive: () => this.#device.connected(monotonicMs()) });
    this.line.travelDown({ arrive: this.#broker.wake });
    this.#pingGateway(this.line.connection);
  }

  /** The gateway gives its connection up. */
  #leave(session: GatewaySession): void {
    if (this.#session !== session) return;
    this.#session = undefined;
    session.end();
    const { connection } = this.line;
    this.line.travelDown({
      arrive: () => {
        if (this.line.connection === connection)
          this.#lost(uniformInt(this.#options.luck, RECONNECT_MS, 2 * RECONNECT_MS));
      },
    });
    const { agenda, monotonicMs } = this.#options;
    agenda.at(monotonicMs() + LINGERS_MS, () => {
      if (this.#session === undefined && !this.#isArriving) this.#broker.end();
    });
    this.#broker.wake();
  }

  /** Who does not answer a ping before the next one is gone. */
  #pingGateway(connection: number, isPongDue = { now: false }): void {
    const { agenda, monotonicMs, luck } = this.#options;
    agenda.at(monotonicMs() + DEVICE_PINGS_EVERY_MS, () => {
      if (!this.line.isUp || this.line.connection !== connection) return;
      if (isPongDue.now) {
        this.#lost(uniformInt(luck, RECONNECT_MS, 2 * RECONNECT_MS));
        return;
      }
      isPongDue.now = true;
      const pong = () => {
        isPongDue.now = false;
      };
      this.line.travelUp({ arrive: () => void this.line.travelDown({ arrive: pong }) });
      this.#pingGateway(connection, isPongDue);
    });
  }

  /** The charger calls the gateway, one call at a time. */
  #pump(nowMs: number): void {
    const { monotonicMs } = this.#options;
    const call = this.#device.takeCall(nowMs);
    if (call === undefined) return;
    const { outstandingId } = this.#device;
    const back = (answer: object | undefined) => {
      // What is doubled on the way has the same id, and so has what comes after it was given up.
      if (this.#device.outstandingId !== outstandingId) return;
      if (answer === undefined) this.#device.failed();
      else this.#device.answered(answer, monotonicMs());
      this.#broker.wake();
    };
    this.line.travelUp({ arrive: () => this.#session?.hear(call, back) });
  }
}
