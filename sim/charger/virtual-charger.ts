// A virtual charger without clock and wire: its connectors, their cars, and the charger's half of the protocol.

import type { z } from 'zod';
import type { AckResult } from '../../machines/ledger/grant.js';
import type { ChargerAddress, ConnectorId } from '../../machines/values/ids.js';
import { createTokenBucket } from '../../src/token-bucket.js';
import {
  type AckMessage,
  type LimitMessage,
  limitSchema,
  type MeterMessage,
  type StateMessage,
  syncSchema,
} from '../../src/wire/mqtt.js';
import { buildTopic, parseTopic } from '../../src/wire/topics.js';
import { createByzantineFaults } from './byzantine-faults.js';
import type { CarNote, PerPhase } from './car.js';
import { acknowledgement, type ChargerMessage, chargerState, meterValue } from './charger-message.js';
import type { HeldLimit } from './grant-holder.js';
import { type ChargerTraits, HONEST } from './traits.js';
import {
  type Reading,
  VirtualConnector,
  type VirtualConnectorSpec,
  type Visitors,
} from './virtual-connector.js';

/**
 * The broker accepts 5 messages a second and 20 at once from one client; the margin allows for clocks that differ.
 */
const BUDGET = { ratePerS: 4.5, burst: 18 };
const ACKS_KEPT = 40;
const NONE_DUE: readonly Line[] = [];
const CHANGES_APART_MS = 1000;
const CHANGE_W = 200;
const CHANGE_SHARE = 0.05;

/** Last report of a connector. */
interface Report {
  readonly atMs: number;
  readonly status: string;
  readonly powerW: number;
  readonly isGranted: boolean;
  readonly session: string | undefined;
}

interface Line {
  readonly connector: VirtualConnector;
  readonly topic: string;
  hb: number;
  reported: Report | undefined;
  toldFailsafeA: number;
}

function isGranted({ holder }: VirtualConnector): boolean {
  return holder.applied.seq > 0;
}

/** True for a change that is worth a report before the next heartbeat. */
function isChange(reported: Report, connector: VirtualConnector): boolean {
  if (connector.session !== reported.session) return true;
  if (connector.status !== reported.status || reported.isGranted !== isGranted(connector)) return true;
  return (
    Math.abs(connector.measuredPowerW() - reported.powerW) >=
    Math.max(CHANGE_W, CHANGE_SHARE * reported.powerW)
  );
}

/**
 * The messages of a charger and their instants: heartbeats, changes at once, acks and its state, within its message
 * budget. Times are ms of the monotonic clock; `wallMs`, for `at`, is epoch ms.
 */
class ChargerVoice {
  readonly #address: ChargerAddress;
  readonly #traits: ChargerTraits;
  readonly #lines: readonly Line[];
  readonly #ackTopics: ReadonlyMap<ConnectorId, string>;
  readonly #lies;
  readonly #periodMs: number;
  readonly #budget = createTokenBucket(BUDGET);
  #boot: string;
  #isStateDue = true;
  #acks: ChargerMessage[] = [];

  constructor({ address, boot, connectors, traits }: VoiceOptions) {
    this.#address = address;
    this.#traits = traits;
    this.#boot = boot;
    this.#periodMs = traits.meterPeriodMs * (1 + traits.driftShare);
    this.#lies = createByzantineFaults(address, traits.misbehaviours);
    this.#ackTopics = new Map(
      connectors.map(({ spec: { connectorId } }) => [
        connectorId,
        buildTopic({ ...address, kind: 'ack', connectorId }),
      ]),
    );
    this.#lines = connectors.map((connector) => ({
      connector,
      topic: buildTopic({ ...address, kind: 'meter', connectorId: connector.spec.connectorId }),
      hb: 0,
      reported: undefined,
      toldFailsafeA: connector.holder.failsafeA,
    }));
  }

  /** The connection is up: the state and a value of each connector are due. Acks from before are obsolete. */
  connected(): void {
    this.#acks = [];
    this.sync();
  }

  /** Makes the state and a value of each connector due. */
  sync(): void {
    this.#isStateDue = true;
    for (const line of this.#lines) line.reported = undefined;
  }

  acknowledge(connector: VirtualConnector, of: { epoch: number; seq: number }, result: AckResult): void {
    const { epoch, seq } = of;
    const { spec } = connector;
    const { limitA: appliedA, limitW: appliedW } = connector.heldTo();
    const message: AckMessage = { v: 1, boot: this.#boot, epoch, seq, result, appliedA, appliedW };
    const topic = this.#ackTopics.get(spec.connectorId) ?? '';
    this.#acks.push(acknowledgement(topic, spec.connectorId, message));
    if (this.#acks.length > ACKS_KEPT) this.#acks.shift();
  }

  restart(boot: string): void {
    this.#boot = boot;
    for (const line of this.#lines) line.hb = 0;
    this.connected();
  }

  /** Returns the due messages that the budget allows. */
  take(nowMs: number, wallMs: number): readonly ChargerMessage[] {
    const taken: ChargerMessage[] = [];
    while (this.#acks.length > 0 && this.#budget.take(nowMs)) {
      const ack = this.#acks.shift();
      if (ack !== undefined) this.#lies.tell(ack, taken);
    }
    if (this.#acks.length > 0) return taken;
    for (const { connector, toldFailsafeA } of this.#lines)
      if (connector.holder.failsafeA !== toldFailsafeA) this.#isStateDue = true;
    if (this.#isStateDue && this.#budget.take(nowMs)) this.#lies.tell(this.#state(true), taken);
    for (const line of this.#dueLines(nowMs)) {
      if (!this.#budget.take(nowMs)) break;
      this.#lies.tell(this.#meter(line, line.connector.reading(), nowMs, wallMs), taken);
    }
    return taken;
  }

  /** Instant of the next message, unless something changes before. */
  nextDueMs(nowMs: number): number {
    let dueMs = this.#acks.length > 0 || this.#isStateDue ? nowMs : Number.POSITIVE_INFINITY;
    for (const line of this.#lines) dueMs = Math.min(dueMs, this.#dueAtMs(line));
    return Math.max(dueMs, nowMs + this.#budget.waitMs(nowMs));
  }

  /** The charger opens its contactors before it goes, so that no reader takes its last draw for a present one. */
  goodbye(nowMs: number, wallMs: number): readonly ChargerMessage[] {
    const taken: ChargerMessage[] = [];
    for (const line of this.#lines) {
      const reading = line.connector.reading();
      const idle: Reading = { ...reading, status: 'Unavailable', powerW: 0, currentA: [0, 0, 0] };
      this.#lies.tell(this.#meter(line, idle, nowMs, wallMs), taken);
    }
    this.#lies.tell(this.#state(false), taken);
    return taken;
  }

  /** Message that the broker publishes if the connection breaks; undefined for none. */
  lastWill(): ChargerMessage | undefined {
    const said: ChargerMessage[] = [];
    this.#lies.tell(this.#stateMessage({ v: 1, online: false, boot: this.#boot }), said);
    return said[0];
  }

  #dueAtMs({ reported, connector }: Line): number {
    if (reported === undefined) return Number.NEGATIVE_INFINITY;
    return reported.atMs + (isChange(reported, connector) ? CHANGES_APART_MS : this.#periodMs);
  }

  /** The connector with the oldest report comes first. */
  #dueLines(nowMs: number): readonly Line[] {
    let due: Line[] | undefined;
    let isInOrder = true;
    for (const line of this.#lines) {
      if (this.#dueAtMs(line) > nowMs) continue;
      if (due === undefined) due = [line];
      else {
        // As a rule both reported at the same instants, and there is nothing to sort.
        isInOrder &&= (due.at(-1)?.reported?.atMs ?? 0) <= (line.reported?.atMs ?? 0);
        due.push(line);
      }
    }
    if (due === undefined) return NONE_DUE;
    return isInOrder ? due : due.sort((a, b) => (a.reported?.atMs ?? 0) - (b.reported?.atMs ?? 0));
  }

  #meter(line: Line, reading: Reading, nowMs: number, wallMs: number): ChargerMessage {
    const { holder, session } = line.connector;
    const { status, powerW, currentA, voltageV, energyWh, chargingPreferences } = reading;
    const { epoch, seq } = holder.applied;
    const hb = ++line.hb;
    holder.noteHeartbeat(hb, nowMs);
    line.reported = { atMs: nowMs, status, powerW, isGranted: isGranted(line.connector), session };
    const leaseLeftS = holder.leaseLeftS(nowMs);
    const { limitA, limitW } = line.connector.heldTo();
    const message: MeterMessage = {
      v: 1,
      boot: this.#boot,
      hb,
      status,
      powerW,
      energyWh,
      currentA,
      voltageV,
      epoch,
      seq,
      limitA,
      limitW,
      leaseLeftS,
      session,
      ...(chargingPreferences !== undefined && { chargingPreferences }),
    };
    const { connectorId } = line.connector.spec;
    // `at` is for human readers only: the service uses `boot` and `hb`.
    const saidAtMs = this.#lies.tellsTime ? wallMs : undefined;
    return meterValue(line.topic, connectorId, this.#lies.meter(message), saidAtMs);
  }

  #state(online: boolean): ChargerMessage {
    this.#isStateDue = false;
    const connectors = this.#lines.map((line) => {
      line.toldFailsafeA = line.connector.holder.failsafeA;
      const { lease, misbehaviours } = this.#traits;
      const keepsThen = lease !== 'none' && !misbehaviours.includes('forget-then');
      return line.connector.described(lease, keepsThen);
    });
    return this.#stateMessage({ v: 1, online, boot: this.#boot, firmware: 'virtual', connectors });
  }

  #stateMessage(message: StateMessage): ChargerMessage {
    const topic = buildTopic({ ...this.#address, kind: 'state' });
    return chargerState(topic, message);
  }
}

interface VoiceOptions {
  readonly address: ChargerAddress;
  readonly boot: string;
  readonly connectors: readonly VirtualConnector[];
  readonly traits: ChargerTraits;
}

/** Physical state of a connector, beyond the readings of its meter. */
export type OutletState = Pick<
  VirtualConnector,
  'spec' | 'status' | 'physicalPowerW' | 'physicalCurrentA'
> & {
  /** Session of the plugged-in car, if its charger names sessions. */
  readonly session?: string | undefined;
  readonly holder: { readonly applied: HeldLimit };
};

/**
 * Gives all specifications one object shape, since files and schemas produce several. V8 optimises no code that meets
 * many shapes.
 */
function plainSpecOf(spec: VirtualConnectorSpec): VirtualConnectorSpec {
  const { connectorId, phases, voltageV, maxCurrentA, failsafeA, rotation, dc } = spec;
  return { connectorId, phases, voltageV, maxCurrentA, failsafeA, rotation, dc: dc ?? null };
}

/**
 * The transport of its messages drives it: `advance` and `takeMessages` run at `nextDueMs` and after each input.
 * Times are instants of one monotonic clock in ms; the charger's own clock may run at another rate. The same seed,
 * connectors and traits give the same timeline, independent of the number of calls.
 */
export class VirtualCharger {
  readonly address: ChargerAddress;
  readonly connectors: readonly VirtualConnectorSpec[];
  /** True if the charger subscribes to limits and to `sync`. */
  readonly takesLimits: boolean;
  readonly #parts: readonly VirtualConnector[];
  readonly #voice: ChargerVoice;

  constructor(options: {
    readonly address: ChargerAddress;
    readonly connectors: readonly VirtualConnectorSpec[];
    /** A uuid, new at every start of the charger. */
    readonly boot: string;
    readonly seed: number;
    readonly traffic: Visitors;
    readonly startsAtMs: number;
    /** Traits that are left out are those of `HONEST`. */
    readonly traits?: Partial<ChargerTraits>;
    /** Receives every arrival and departure of a car, at `atMs` of the monotonic clock. */
    readonly onCar?: (connectorId: ConnectorId, note: CarNote) => void;
  }) {
    const { address, connectors, boot } = options;
    const traits = { ...HONEST, ...options.traits };
    this.address = address;
    this.connectors = connectors;
    this.takesLimits = !traits.misbehaviours.includes('power-only');
    const { seed, traffic, startsAtMs } = options;
    this.#parts = connectors.map((spec, i) => {
      const onApplied = () => this.#acknowledgeApplied(i);
      const onCar = (note: CarNote) => options.onCar?.(spec.connectorId, note);
      const ofIts = { boot, traits, traffic, startsAtMs, seed: seed * 1009 + i, onApplied, onCar };
      return new VirtualConnector(plainSpecOf(spec), ofIts);
    });
    this.#voice = new ChargerVoice({ address, boot, connectors: this.#parts, traits });
  }

  /** Lets time pass up to `nowMs`; an earlier instant has no effect. */
  advance(nowMs: number): void {
    for (const part of this.#parts) part.advance(nowMs);
  }

  /** Voltages of its connector number `i` from `nowMs` on. */
  supply(i: number, voltagesV: PerPhase, nowMs: number): void {
    this.#parts[i]?.supply(voltagesV, nowMs);
  }

  /** Instant of its next work or message; never before `nowMs`. */
  nextDueMs(nowMs: number): number {
    let dueMs = this.#voice.nextDueMs(nowMs);
    for (const part of this.#parts) dueMs = Math.min(dueMs, part.nextDueMs());
    return Math.max(nowMs, dueMs);
  }

  /** The connection is up: the state and a value of each connector are due. */
  connected(nowMs: number): void {
    this.advance(nowMs);
    this.#voice.connected();
  }

  /** Handles `…/limit` of one connector; ignores a connector that is not its own. */
  receiveLimit(connectorId: ConnectorId, limit: LimitMessage, nowMs: number): void {
    const part = this.#parts.find(({ spec }) => spec.connectorId === connectorId);
    if (part === undefined) return;
    part.advance(nowMs);
    const result = part.receive(limit, nowMs);
    if (result !== undefined) this.#voice.acknowledge(part, limit, result);
    part.advance(nowMs);
  }

  receiveSync(nowMs: number): void {
    this.advance(nowMs);
    this.#voice.sync();
  }

  /** Due messages, the most urgent first; for use only while the connection is up. `wallMs` becomes their `at`. */
  takeMessages(nowMs: number, wallMs: number): readonly ChargerMessage[] {
    this.advance(nowMs);
    return this.#voice.take(nowMs, wallMs);
  }

  /** Its last messages before it is switched off. */
  goodbye(nowMs: number, wallMs: number): readonly ChargerMessage[] {
    return this.#voice.goodbye(nowMs, wallMs);
  }

  /** Message that the broker publishes if the connection breaks, if any. */
  lastWill(): ChargerMessage | undefined {
    return this.#voice.lastWill();
  }

  /** Restarts in no time: grants and heartbeat numbers are lost, cars stay and fail-safes apply. */
  reboot(boot: string, nowMs: number): void {
    this.advance(nowMs);
    for (const part of this.#parts) part.restart(boot, nowMs);
    this.#voice.restart(boot);
  }

  readings(): readonly Reading[] {
    return this.#parts.map((part) => part.reading());
  }

  /** Physical state of the connectors, in the order of `connectors`; always the same objects. */
  get outlets(): readonly OutletState[] {
    return this.#parts;
  }

  /** Limit in force at each connector, in the order of `connectors`. */
  limits(): readonly HeldLimit[] {
    return this.#parts.map(({ holder }) => holder.applied);
  }

  /** Physical power of the connector, or of all of them, in W. Readings may be false, this value is not. */
  physicalPowerW(connectorId?: ConnectorId): number {
    let sumW = 0;
    for (const part of this.#parts)
      if (connectorId === undefined || part.spec.connectorId === connectorId) sumW += part.physicalPowerW();
    return sumW;
  }

  #acknowledgeApplied(i: number): void {
    const part = this.#parts[i];
    if (part !== undefined && part.holder.applied.seq > 0)
      this.#voice.acknowledge(part, part.holder.applied, 'APPLIED');
  }
}

// Topics that a virtual charger subscribes to, and the delivery of a message on one of them.

/** Exact topics: `sync`, and `limit` for each connector. A charger that takes no limits subscribes to none. */
export function topicsFor({
  address,
  connectors,
  takesLimits,
}: Pick<VirtualCharger, 'address' | 'connectors' | 'takesLimits'>): readonly string[] {
  if (!takesLimits) return [];
  const limits = connectors.map(({ connectorId }) => buildTopic({ ...address, kind: 'limit', connectorId }));
  return [buildTopic({ ...address, kind: 'sync' }), ...limits];
}

type Addressee = Pick<VirtualCharger, 'address' | 'receiveLimit' | 'receiveSync'>;

/**
 * Hands a message on one of the charger's topics to the charger.
 * @returns false for a message that is for another charger or does not parse; such a message changes nothing
 */
export function deliver(charger: Addressee, topic: string, payload: string, nowMs: number): boolean {
  const to = parseTopic(topic);
  if (to?.controllerUuid !== charger.address.controllerUuid) return false;
  if (to.kind === 'limit') {
    const limit = parseJson(limitSchema, payload);
    if (limit !== undefined) charger.receiveLimit(to.connectorId, limit, nowMs);
    return limit !== undefined;
  }
  if (to.kind !== 'sync' || parseJson(syncSchema, payload) === undefined) return false;
  charger.receiveSync(nowMs);
  return true;
}

function parseJson<S extends z.ZodType>(schema: S, payload: string): z.output<S> | undefined {
  try {
    return schema.safeParse(JSON.parse(payload)).data;
  } catch {
    return undefined;
  }
}
