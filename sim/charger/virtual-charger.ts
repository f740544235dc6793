// A virtual charger: its connectors, the cars that come to them, and the charger's half of the protocol. No clock, no wire.
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

/** A connector beyond what its meter says. */
export type OutletState = Pick<
  VirtualConnector,
  'spec' | 'status' | 'physicalPowerW' | 'physicalCurrentA'
> & {
  /** The car that is plugged in, where its charger names it. */
  readonly session?: string | undefined;
  readonly holder: { readonly applied: HeldLimit };
};

/** One shape for all, whatever files and schemas made of them: code that meets many is compiled for none. */
function plainSpecOf(spec: VirtualConnectorSpec): VirtualConnectorSpec {
  const { connectorId, phases, voltageV, maxCurrentA, failsafeA, rotation, dc } = spec;
  return { connectorId, phases, voltageV, maxCurrentA, failsafeA, rotation, dc: dc ?? null };
}

/**
 * The transport of its messages drives it: `advance` and `takeMessages` at `nextDueMs` and after everything it was
 * told. Times are instants of one monotonic clock in ms; the charger's own clock may run otherwise.
 *
 * The same seed, connectors and traits give the same course of events at the same times, however often it is asked.
 */
export class VirtualCharger {
  readonly address: ChargerAddress;
  readonly connectors: readonly VirtualConnectorSpec[];
  /** Whether it listens to limits and to `sync`. */
  readonly takesLimits: boolean;
  readonly #parts: readonly VirtualConnector[];
  readonly #voice: ChargerVoice;

  constructor(options: {
    readonly address: ChargerAddress;
    readonly connectors: readonly VirtualConnectorSpec[];
    /** New at every start of the charger, a uuid. */
    readonly boot: string;
    readonly seed: number;
    readonly traffic: Visitors;
    readonly startsAtMs: number;
    /** What is not given is honest. */
    readonly traits?: Partial<ChargerTraits>;
    /** Is told of every car that comes and goes, at `atMs` of the charger's clock. */
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

  /** Lets time pass up to `nowMs`; going back is ignored. */
  advance(nowMs: number): void {
    for (const part of this.#parts) part.advance(nowMs);
  }

  /** From `nowMs` on its connector number `i` is fed with these voltages. */
  supply(i: number, voltagesV: PerPhase, nowMs: number): void {
    this.#parts[i]?.supply(voltagesV, nowMs);
  }

  /** When it has something to do or to say next; never before `nowMs`. */
  nextDueMs(nowMs: number): number {
    let dueMs = this.#voice.nextDueMs(nowMs);
    for (const part of this.#parts) dueMs = Math.min(dueMs, part.nextDueMs());
    return Math.max(nowMs, dueMs);
  }

  /** The link is up: it says its state and a value of each connector. */
  connected(nowMs: number): void {
    this.advance(nowMs);
    this.#voice.connected();
  }

  /** `…/limit` of one connector came; that of another charger's connector is ignored. */
  receiveLimit(connectorId: ConnectorId, limit: LimitMessage, nowMs: number): void {
    const part = this.#parts.find(({ spec }) => spec.connectorId === connectorId);
    if (part === undefined) return;
    part.advance(nowMs);
    const result = part.receive(limit, nowMs);
    if (result !== undefined) this.#voice.acknowledge(part, limit, result);
    part.advance(nowMs);
  }

  /** `…/sync` came. */
  receiveSync(nowMs: number): void {
    this.advance(nowMs);
    this.#voice.sync();
  }

  /** What it has to say, the most urgent first; only while the link is up. `wallMs` is what its `at` tells. */
  takeMessages(nowMs: number, wallMs: number): readonly ChargerMessage[] {
    this.advance(nowMs);
    return this.#voice.take(nowMs, wallMs);
  }

  /** What it says last before it is switched off. */
  goodbye(nowMs: number, wallMs: number): readonly ChargerMessage[] {
    return this.#voice.goodbye(nowMs, wallMs);
  }

  /** What the broker shall say should the link break, if anything. */
  lastWill(): ChargerMessage | undefined {
    return this.#voice.lastWill();
  }

  /** It starts again in no time: grants and heartbeat numbers are gone, cars stay and fail-safes apply. */
  reboot(boot: string, nowMs: number): void {
    this.advance(nowMs);
    for (const part of this.#parts) part.restart(boot, nowMs);
    this.#voice.restart(boot);
  }

  readings(): readonly Reading[] {
    return this.#parts.map((part) => part.reading());
  }

  /** The connectors as they truly are, in the order of `connectors`; they stay the same objects. */
  get outlets(): readonly OutletState[] {
    return this.#parts;
  }

  /** What each connector is held to, in the order of `connectors`. */
  limits(): readonly HeldLimit[] {
    return this.#parts.map(({ holder }) => holder.applied);
  }

  /** What truly flows at the connector, or at all of them, in W. Readings may lie, this does not. */
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
