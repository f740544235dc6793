// A virtual charger without clock and wire: its connectors, their cars, and the charger's half of the protocol.
import type { ChargerAddress, ConnectorId } from '../../machines/values/ids.js';
import type { LimitMessage } from '../../src/wire/mqtt.js';
import type { CarNote, PerPhase } from './car.js';
import type { ChargerMessage } from './charger-message.js';
import { type ChargerVoice, createChargerVoice } from './charger-voice.js';
import type { HeldLimit } from './grant-holder.js';
import { type ChargerTraits, HONEST } from './traits.js';
import {
  type Reading,
  VirtualConnector,
  type VirtualConnectorSpec,
  type Visitors,
} from './virtual-connector.js';

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
    this.#voice = createChargerVoice({ address, boot, connectors: this.#parts, traits });
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
