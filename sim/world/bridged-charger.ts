// A virtual OCPP charger with its gateway session. For the world the pair is an MQTT charger like any other.
import { uniformInt } from 'pure-rand/distribution/uniformInt';
import type { RandomGenerator } from 'pure-rand/types/RandomGenerator';
import type { LimitReason } from '../../machines/ledger/grant.js';
import type { HeldLease } from '../../machines/session/held-lease.js';
import { CLOCK_DOUBTED } from '../../machines/session/lease-report.js';
import type { ChargerAddress, ConnectorId } from '../../machines/values/ids.js';
import type { ChargerConnection } from '../../src/gateway/charger-bridge.js';
import { TIME_WAITS_MS } from '../../src/gateway/ocpp/charger-calls.js';
import type { OcppBridge } from '../../src/gateway/ocpp/ocpp-charger.js';
import { answerCall, type OcppEvents } from '../../src/gateway/ocpp/ocpp-dialect.js';
import type { ChargerUplink, LastWill } from '../../src/gateway/uplink.js';
import type { Clock } from '../../src/ports/clock.js';
import type { LimitMessage } from '../../src/wire/mqtt.js';
import { parseTopic, type Topic } from '../../src/wire/topics.js';
import type { PerPhase } from '../charger/car.js';
import { type ChargerMessage, publishedMessage } from '../charger/charger-message.js';
import type { HeldLimit } from '../charger/grant-holder.js';
import { OcppDevice, type OcppDeviceOptions } from '../charger/ocpp-device.js';
import type { OcppEvse, OcppEvseSpec } from '../charger/ocpp-evse.js';
import type { Words } from '../charger/ocpp-words.js';
import { type OcppProtocol, type OcppTraits, PLAIN_OCPP } from '../charger/traits.js';
import type { OutletState } from '../charger/virtual-charger.js';
import type { Agenda } from './agenda.js';
import type { WorldCharger } from './charger-run.js';
import type { BrokerSide } from './connections.js';
import { WAY_MS, Wire } from './wire.js';
import type { WorldGateway } from './world-gateway.js';

// One connection of a virtual OCPP charger at the gateway: the production session between two simulated wires.

/** The gateway gives up its call to the charger after this time without an answer. */
const ANSWERED_WITHIN_MS = 15_000;

/** A login at the service whose connection is the charger's wire to the broker. */
class BridgedUplink implements ChargerUplink {
  isEnded = false;
  #isAttached = false;
  readonly #topics = new Map<string, Topic>();
  readonly #options: Pick<GatewaySessionOptions, 'isUplinkUp' | 'setWill' | 'say'>;

  constructor(options: Pick<GatewaySessionOptions, 'isUplinkUp' | 'setWill' | 'say'>) {
    this.#options = options;
  }

  get isListening(): boolean {
    return this.#isAttached && this.#isUp;
  }

  get #isUp(): boolean {
    return !this.isEnded && this.#options.isUplinkUp();
  }

  async attach(): Promise<void> {
    this.#isAttached = true;
  }

  detach(): void {
    this.#isAttached = false;
  }

  setWill({ topic, body }: LastWill): void {
    if (!this.isEnded) this.#options.setWill(publishedMessage(topic, body, this.#read(topic)));
  }

  publish(topic: string, body: object): void {
    if (this.#isUp) this.#options.say(publishedMessage(topic, body, this.#read(topic)));
  }

  /** Caches parsed topics: a charger has few topics, and sends many messages on each. */
  #read(topic: string): Topic | undefined {
    const known = this.#topics.get(topic);
    if (known !== undefined) return known;
    const read = parseTopic(topic);
    if (read !== undefined) this.#topics.set(topic, read);
    return read;
  }
}

interface GatewaySessionOptions {
  readonly gateway: WorldGateway;
  readonly bridge: OcppBridge;
  readonly protocol: OcppProtocol;
  /** Clock of the gateway's present life. */
  readonly clock: Clock;
  readonly line: Wire;
  readonly isUplinkUp: () => boolean;
  readonly say: (message: ChargerMessage) => void;
  /** The broker publishes `will` if the connection breaks. */
  readonly setWill: (will: ChargerMessage) => void;
  /** Hands over a call that reached the charger, and returns the charger's answer. */
  readonly answer: (method: string, params: object) => unknown;
  /** The gateway gives up the connection. */
  readonly onOver: () => void;
  /** Completes all pending promises before virtual time goes on. */
  readonly settle: () => void;
}

class GatewaySession {
  readonly bridge: OcppBridge;
  readonly #options: GatewaySessionOptions;
  readonly #uplink: BridgedUplink;
  readonly #connection: ChargerConnection;
  readonly #events: OcppEvents;
  #isPongDue = false;
  #isOver = false;

  constructor(options: GatewaySessionOptions) {
    const { gateway, bridge, protocol, onOver } = options;
    this.#options = options;
    this.bridge = bridge;
    this.#uplink = new BridgedUplink(options);
    const { requests, events } = gateway.dialectOf(bridge, protocol, (...asked) => this.#call(...asked));
    this.#connection = { dialect: requests, close: onOver };
    this.#events = events;
  }

  get isListening(): boolean {
    return this.#uplink.isListening;
  }

  begin(): void {
    void this.bridge.open(this.#connection, this.#uplink);
    this.#ping();
  }

  /** Another connection with the same name replaced this one at the broker. */
  loseUplink(): void {
    this.#uplink.isEnded = true;
  }

  end(): void {
    this.#isOver = true;
    this.bridge.close(this.#connection);
    this.#uplink.isEnded = true;
  }

  /** Handles a charger's call that reached the gateway, and sends the answer back. */
  receive([method, params]: Words, back: (answer: object | undefined) => void): void {
    const { clock, line, settle } = this.#options;
    const reply = (answer: object | undefined) => {
      if (!this.#isOver) line.travelDown({ arrive: () => back(answer) });
    };
    answerCall(this.#events, method, params).then(reply, () => reply(undefined));
    settle();
    // A Heartbeat may wait for the service, and a timer then answers it.
    if (method === 'Heartbeat') clock.after(TIME_WAITS_MS, settle);
  }

  /** If no pong arrives before the next ping, the charger is gone. */
  #ping(): void {
    const { clock, line, onOver } = this.#options;
    clock.after(this.bridge.heartbeatMs, () => {
      if (this.#isOver) return;
      if (this.#isPongDue) {
        onOver();
        return;
      }
      this.#isPongDue = true;
      const arrive = () => {
        this.#isPongDue = false;
        if (!this.#isOver) this.bridge.session.received(clock.monotonicMs());
      };
      line.travelDown({ arrive: () => void line.travelUp({ arrive }) });
      this.#ping();
    });
  }

  #call(method: string, params: object): Promise<unknown> {
    const { clock, line, answer, settle } = this.#options;
    return new Promise((resolve, reject) => {
      const cancel = clock.after(ANSWERED_WITHIN_MS, () => {
        reject(new Error('no answer came'));
        settle();
      });
      const arrive = () => {
        const answered = answer(method, params);
        const come = () => {
          cancel();
          resolve(answered);
          settle();
        };
        line.travelUp({ arrive: come });
      };
      line.travelDown({ arrive });
    });
  }
}

// A connector of a virtual OCPP charger in a world: its physical state, and the grant that the gateway holds for it.

/** The gateway's lease for the connector, undefined if the gateway has none now, and the reason of that limit. */
interface HeldWith {
  readonly held: HeldLease | undefined;
  readonly reason: LimitReason;
}

class BridgedOutlet implements OutletState {
  readonly #evse: OcppEvse;
  readonly #heldWith: () => HeldWith;
  readonly #agenda: Agenda;

  constructor(evse: OcppEvse, heldWith: () => HeldWith, agenda: Agenda) {
    this.#evse = evse;
    this.#heldWith = heldWith;
    this.#agenda = agenda;
  }

  get spec() {
    return this.#evse.spec;
  }

  get status() {
    return this.#evse.outlet.status;
  }

  /** Grant that the gateway holds for it. The limit and its end are those of the charger's own profiles. */
  get holder(): { readonly applied: HeldLimit } {
    const nowMs = this.#agenda.monotonicMs();
    const limitA = this.#evse.mayDrawA(nowMs);
    const endsAtMs = this.#evse.leaseEndsAtMs(nowMs);
    const { held, reason } = this.#heldWith();
    if (held === undefined || held.seq === 0)
      return { applied: { epoch: 0, seq: 0, limitA, thenA: limitA, reason: 'failsafe', endsAtMs } };
    const { epoch, seq, thenA } = held;
    return { applied: { epoch, seq, limitA, thenA, reason, endsAtMs } };
  }

  physicalPowerW(): number {
    return this.#evse.outlet.powerW;
  }

  physicalCurrentA(): PerPhase {
    const { currentA, phases } = this.#evse.outlet;
    return [phases > 0 ? currentA : 0, phases > 1 ? currentA : 0, phases > 2 ? currentA : 0];
  }
}

/** Shortest time before a charger reconnects; the longest is twice that. */
const RECONNECT_MS = 1_500;
const DEVICE_PINGS_EVERY_MS = 30_000;
/** The gateway's last messages for a charger have left by then. */
const LINGERS_MS = 1_000;
const REASONS_KEPT = 64;
const HALF_A = 0.5;

interface BridgedChargerOptions {
  readonly address: ChargerAddress;
  readonly device: Omit<OcppDeviceOptions, 'controllerUuid' | 'traits'>;
  readonly traits: Partial<OcppTraits>;
  readonly gateway: WorldGateway;
  readonly agenda: Agenda;
  readonly luck: RandomGenerator;
  readonly seed: number;
  /** Completes all pending promises before virtual time goes on. */
  readonly settle: () => void;
}

export class BridgedCharger implements WorldCharger {
  readonly address: ChargerAddress;
  readonly takesLimits = true;
  readonly traits: OcppTraits;
  /** Wire between the charger and the gateway. */
  readonly line: Wire;
  readonly outlets: readonly BridgedOutlet[];
  readonly #options: BridgedChargerOptions;
  readonly #device: OcppDevice;
  #broker: BrokerSide = { isUp: () => false, setWill() {}, connect() {}, end() {}, cut() {}, wake() {} };
  #session: GatewaySession | undefined;
  #isArriving = false;
  /** Number of attempts to connect; a newer attempt cancels the plans of older ones. */
  #attempts = 0;
  #said: ChargerMessage[] = [];
  readonly #reasons = new Map<string, LimitReason>();

  constructor(options: BridgedChargerOptions) {
    const { address, device, agenda, seed } = options;
    this.address = address;
    this.#options = options;
    this.traits = { ...PLAIN_OCPP, ...options.traits };
    const { controllerUuid } = address;
    this.#device = new OcppDevice({ ...device, controllerUuid, traits: this.traits });
    const receiver = { limit() {}, sync() {}, answer() {} };
    this.line = new Wire({ address, receiver, agenda, seed: seed + 1, isOrdered: true });
    this.outlets = this.#device.evses.map(
      (evse) => new BridgedOutlet(evse, () => this.#heldWith(evse.spec), agenda),
    );
  }

  get connectors() {
    return this.#device.evses.map(({ spec }) => spec);
  }

  /** Sets the charger's access to the broker; must be the first call. */
  joins(broker: BrokerSide): void {
    this.#broker = broker;
  }

  /** Excess of its draw over the limit sent to it, before any report shows the excess; A per phase. */
  get unforeseenA(): number {
    return this.traits.behaviours.includes('rounds-up') ? HALF_A : 0;
  }

  /** The gateway treats its clock as unreliable. */
  get isClockDoubted(): boolean {
    const connectors = this.#session?.bridge.session.connectors() ?? [];
    return connectors.some(({ whyNot }) => whyNot?.startsWith(CLOCK_DOUBTED));
  }

  /** It is connected to the broker, or is about to be. */
  get isWanted(): boolean {
    return this.#isArriving || this.#session !== undefined;
  }

  /** Plans an attempt to connect to the gateway. */
  arriveIn(ms: number): void {
    const attempt = ++this.#attempts;
    const { agenda, gateway, luck } = this.#options;
    agenda.after(ms, () => {
      if (attempt !== this.#attempts) return;
      if (gateway.bridgeOf(this.address) === undefined) {
        this.arriveIn(uniformInt(luck, RECONNECT_MS, 2 * RECONNECT_MS));
        return;
      }
      this.#isArriving = true;
      // The broker still holds its earlier session.
      if (this.#broker.isUp()) {
        this.#session?.loseUplink();
        this.#broker.cut();
      }
      this.#broker.connect();
    });
  }

  /**
   * Breaks its connection to the gateway, for `downMs` or more. The gateway notices that at once, or by its pings.
   */
  breakLine(downMs: number): void {
    const { luck, agenda } = this.#options;
    const session = this.#session;
    if (uniformInt(luck, 0, 1) === 0)
      agenda.after(WAY_MS, () => {
        if (session !== undefined) this.#leave(session);
      });
    this.#lost(downMs + uniformInt(luck, 0, RECONNECT_MS));
  }

  /** The gateway is gone with all its state. */
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

  /** The gateway has a broker session for the charger: for a charger that has just arrived, or again. */
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

  /** The charger's side of its connection is gone; the charger reconnects after `againMs`. */
  #lost(againMs: number): void {
    this.line.isUp = false;
    this.#device.disconnected();
    this.arriveIn(againMs);
    this.#broker.wake();
  }

  /** The gateway accepts the connection. */
  #open(): void {
    const { gateway, agenda } = this.#options;
    const { clock } = gateway;
    const bridge = gateway.bridgeOf(this.address);
    this.#isArriving = false;
    if (bridge === undefined || clock === undefined) {
      this.#broker.end();
      return;
    }
    // Of two sockets the newer one counts.
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
        const answer = this.#device.answer(method, params, agenda.monotonicMs());
        // The charger's own calls must not overtake its answer.
        agenda.after(0, this.#broker.wake);
        return answer;
      },
      onOver: () => this.#leave(session),
    });
    this.#session = session;
    this.line.isUp = true;
    session.begin();
    this.line.travelDown({ arrive: () => this.#device.connected(agenda.monotonicMs()) });
    this.line.travelDown({ arrive: this.#broker.wake });
    this.#pingGateway(this.line.connection);
  }

  /** The gateway gives up its connection to the charger. */
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
    const { agenda } = this.#options;
    agenda.after(LINGERS_MS, () => {
      if (this.#session === undefined && !this.#isArriving) this.#broker.end();
    });
    this.#broker.wake();
  }

  /** If no pong arrives before the next ping, the gateway is gone. */
  #pingGateway(connection: number, isPongDue = { now: false }): void {
    const { agenda, luck } = this.#options;
    agenda.after(DEVICE_PINGS_EVERY_MS, () => {
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

  /** Sends the charger's next call to the gateway, one call at a time. */
  #pump(nowMs: number): void {
    const { agenda } = this.#options;
    const call = this.#device.takeCall(nowMs);
    if (call === undefined) return;
    const { outstandingId } = this.#device;
    const back = (answer: object | undefined) => {
      // A doubled answer, or one after the charger gave up, has an id that is no longer outstanding.
      if (this.#device.outstandingId !== outstandingId) return;
      if (answer === undefined) this.#device.failed();
      else this.#device.answered(answer, agenda.monotonicMs());
      this.#broker.wake();
    };
    this.line.travelUp({ arrive: () => this.#session?.receive(call, back) });
  }
}
