// The messages of a virtual charger and their instants: heartbeats, changes at once, acks and its state, within its
// message budget.
import type { AckResult } from '../../machines/power/grant.js';
import type { ChargerAddress, ConnectorId } from '../../machines/values/ids.js';
import { createTokenBucket } from '../../src/token-bucket.js';
import type { AckMessage, MeterMessage, StateMessage } from '../../src/wire/mqtt.js';
import { buildTopic } from '../../src/wire/topics.js';
import { createByzantineFaults } from './byzantine-faults.js';
import { acknowledgement, type ChargerMessage, chargerState, meterValue } from './charger-message.js';
import type { ChargerTraits } from './traits.js';
import type { Reading, VirtualConnector } from './virtual-connector.js';

/** Times are ms of the monotonic clock; `wallMs`, for `at`, is epoch ms. */
export interface ChargerVoice {
  /** The connection is up: the state and a value of each connector are due. Acks from before are obsolete. */
  connected(): void;
  /** Makes the state and a value of each connector due. */
  sync(): void;
  acknowledge(connector: VirtualConnector, of: { epoch: number; seq: number }, result: AckResult): void;
  restart(boot: string): void;
  /** Returns the due messages that the budget allows. */
  take(nowMs: number, wallMs: number): readonly ChargerMessage[];
  /** Instant of the next message, unless something changes before. */
  nextDueMs(nowMs: number): number;
  /** The charger opens its contactors before it goes, so that no reader takes its last draw for a present one. */
  goodbye(nowMs: number, wallMs: number): readonly ChargerMessage[];
  /** Message that the broker publishes if the connection breaks; undefined for none. */
  lastWill(): ChargerMessage | undefined;
}

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
interface Told {
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
  told: Told | undefined;
  toldFailsafeA: number;
}

function isGranted({ holder }: VirtualConnector): boolean {
  return holder.applied.seq > 0;
}

/** True for a change that is worth a report before the next heartbeat. */
function isChange(told: Told, connector: VirtualConnector): boolean {
  if (connector.session !== told.session) return true;
  if (connector.status !== told.status || told.isGranted !== isGranted(connector)) return true;
  return Math.abs(connector.measuredPowerW() - told.powerW) >= Math.max(CHANGE_W, CHANGE_SHARE * told.powerW);
}

class Voice implements ChargerVoice {
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
      told: undefined,
      toldFailsafeA: connector.holder.failsafeA,
    }));
  }

  connected(): void {
    this.#acks = [];
    this.sync();
  }

  sync(): void {
    this.#isStateDue = true;
    for (const line of this.#lines) line.told = undefined;
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

  nextDueMs(nowMs: number): number {
    let dueMs = this.#acks.length > 0 || this.#isStateDue ? nowMs : Number.POSITIVE_INFINITY;
    for (const line of this.#lines) dueMs = Math.min(dueMs, this.#dueAtMs(line));
    return Math.max(dueMs, nowMs + this.#budget.waitMs(nowMs));
  }

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

  lastWill(): ChargerMessage | undefined {
    const said: ChargerMessage[] = [];
    this.#lies.tell(this.#stateMessage({ v: 1, online: false, boot: this.#boot }), said);
    return said[0];
  }

  #dueAtMs({ told, connector }: Line): number {
    if (told === undefined) return Number.NEGATIVE_INFINITY;
    return told.atMs + (isChange(told, connector) ? CHANGES_APART_MS : this.#periodMs);
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
        isInOrder &&= (due.at(-1)?.told?.atMs ?? 0) <= (line.told?.atMs ?? 0);
        due.push(line);
      }
    }
    if (due === undefined) return NONE_DUE;
    return isInOrder ? due : due.sort((a, b) => (a.told?.atMs ?? 0) - (b.told?.atMs ?? 0));
  }

  #meter(line: Line, reading: Reading, nowMs: number, wallMs: number): ChargerMessage {
    const { holder, session } = line.connector;
    const { status, powerW, currentA, voltageV, energyWh } = reading;
    const { epoch, seq } = holder.applied;
    const hb = ++line.hb;
    holder.noteHeartbeat(hb, nowMs);
    line.told = { atMs: nowMs, status, powerW, isGranted: isGranted(line.connector), session };
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

export function createChargerVoice(options: VoiceOptions): ChargerVoice {
  return new Voice(options);
}
