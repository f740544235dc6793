// A virtual charger: its connectors, the cars that come to them, and the charger's half of the protocol. No clock, no wire.
import type { ChargerAddress, ConnectorId } from '../../machines/values/ids.js';
import type { LimitMessage } from '../../src/wire/mqtt.js';
import type { ChargerMessage } from './charger-message.js';
import { createChargerVoice } from './charger-voice.js';
import type { HeldLimit } from './grant-holder.js';
import type { CarNote } from './outlet.js';
import { type ChargerTraits, HONEST } from './traits.js';
import {
  createVirtualConnector,
  type Reading,
  type VirtualConnector,
  type VirtualConnectorSpec,
  type Visitors,
} from './virtual-connector.js';

/** A connector beyond what its meter says. */
export type OutletState = Pick<VirtualConnector, 'spec' | 'status' | 'physicalPowerW'> & {
  readonly holder: { readonly applied: HeldLimit };
};

/**
 * The transport of its messages drives it: `advance` and `takeMessages` at `nextDueMs` and after everything it was
 * told. Times are instants of one monotonic clock in ms; the charger's own clock may run otherwise.
 */
export interface VirtualCharger {
  readonly address: ChargerAddress;
  readonly connectors: readonly VirtualConnectorSpec[];
  /** Whether it listens to limits and to `sync`. */
  readonly takesLimits: boolean;
  /** Lets time pass up to `nowMs`; going back is ignored. */
  advance(nowMs: number): void;
  /** When it has something to do or to say next; never before `nowMs`. */
  nextDueMs(nowMs: number): number;
  /** The link is up: it says its state and a value of each connector. */
  connected(nowMs: number): void;
  /** `…/limit` of one connector came; that of another charger's connector is ignored. */
  receiveLimit(connectorId: ConnectorId, limit: LimitMessage, nowMs: number): void;
  /** `…/sync` came. */
  receiveSync(nowMs: number): void;
  /** What it has to say, the most urgent first; only while the link is up. `wallMs` is what its `at` tells. */
  takeMessages(nowMs: number, wallMs: number): readonly ChargerMessage[];
  /** What it says last before it is switched off. */
  goodbye(nowMs: number, wallMs: number): readonly ChargerMessage[];
  /** What the broker shall say should the link break, if anything. */
  lastWill(): ChargerMessage | undefined;
  /** It starts again in no time: grants and heartbeat numbers are gone, cars stay and fail-safes apply. */
  reboot(boot: string, nowMs: number): void;
  readings(): readonly Reading[];
  /** The connectors as they truly are, in the order of `connectors`; they stay the same objects. */
  readonly outlets: readonly OutletState[];
  /** What each connector is held to, in the order of `connectors`. */
  limits(): readonly HeldLimit[];
  /** What truly flows at the connector, or at all of them, in W. Readings may lie, this does not. */
  physicalPowerW(connectorId?: ConnectorId): number;
}

/**
 * The same seed, connectors and traits give the same course of events at the same times, however often it is asked.
 * @param options.boot new at every start of the charger, a uuid.
 * @param options.traits what is not given is honest.
 * @param options.onCar is told of every car that comes and goes, at `atMs` of the charger's clock.
 */
export function createVirtualCharger(options: {
  readonly address: ChargerAddress;
  readonly connectors: readonly VirtualConnectorSpec[];
  readonly boot: string;
  readonly seed: number;
  readonly traffic: Visitors;
  readonly startsAtMs: number;
  readonly traits?: Partial<ChargerTraits>;
  readonly onCar?: (connectorId: ConnectorId, note: CarNote) => void;
}): VirtualCharger {
  const { address, connectors, seed } = options;
  const traits = { ...HONEST, ...options.traits };
  const parts: readonly VirtualConnector[] = connectors.map((spec, i) => {
    const onApplied = () => acknowledgeApplied(i);
    const onCar = (note: CarNote) => options.onCar?.(spec.connectorId, note);
    return createVirtualConnector(spec, { ...options, traits, seed: seed * 1009 + i, onApplied, onCar });
  });
  const voice = createChargerVoice({ address, boot: options.boot, connectors: parts, traits });

  function acknowledgeApplied(i: number): void {
    const part = parts[i];
    if (part !== undefined && part.holder.applied.seq > 0)
      voice.acknowledge(part, part.holder.applied, 'APPLIED');
  }

  function advance(nowMs: number): void {
    for (const part of parts) part.advance(nowMs);
  }

  return {
    address,
    connectors,
    takesLimits: !traits.misbehaviours.includes('power-only'),
    advance,
    nextDueMs(nowMs) {
      let dueMs = voice.nextDueMs(nowMs);
      for (const part of parts) dueMs = Math.min(dueMs, part.nextDueMs());
      return Math.max(nowMs, dueMs);
    },
    connected(nowMs) {
      advance(nowMs);
      voice.connected();
    },
    receiveLimit(connectorId, limit, nowMs) {
      const part = parts.find(({ spec }) => spec.connectorId === connectorId);
      if (part === undefined) return;
      part.advance(nowMs);
      const result = part.holder.receive(limit, nowMs);
      if (result !== undefined) voice.acknowledge(part, limit, result);
      part.advance(nowMs);
    },
    receiveSync(nowMs) {
      advance(nowMs);
      voice.sync();
    },
    takeMessages(nowMs, wallMs) {
      advance(nowMs);
      return voice.take(nowMs, wallMs);
    },
    goodbye: voice.goodbye.bind(voice),
    lastWill: voice.lastWill.bind(voice),
    reboot(boot, nowMs) {
      advance(nowMs);
      for (const part of parts) part.restart(boot, nowMs);
      voice.restart(boot);
    },
    readings: () => parts.map((part) => part.reading()),
    outlets: parts,
    limits: () => parts.map(({ holder }) => holder.applied),
    physicalPowerW(connectorId) {
      let sumW = 0;
      for (const part of parts)
        if (connectorId === undefined || part.spec.connectorId === connectorId) sumW += part.physicalPowerW();
      return sumW;
    },
  };
}
