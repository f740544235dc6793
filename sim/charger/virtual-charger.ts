// A virtual charger: its connectors, the cars that come to them, and what its meters read. No clock, no wire.
import { mersenne } from 'pure-rand/generator/mersenne';
import { createActor } from 'xstate';
import type { ConnectorId } from '../../machines/ids.js';
import type { ChargingStatus } from '../../machines/meter-ledger.js';
import type { ConnectorRating } from '../../machines/units.js';
import { drawCar, type Traffic } from './traffic.js';
import { phasesInUse, STATUS_OF, virtualConnectorMachine } from './virtual-connector.machine.js';

/** A connector as the charger knows it. `failsafeA` in A per phase. */
export interface VirtualConnectorSpec extends ConnectorRating {
  readonly connectorId: ConnectorId;
  readonly failsafeA: number;
}

/** What the meter of one connector shows. */
export interface Reading {
  readonly connectorId: ConnectorId;
  readonly status: ChargingStatus;
  readonly powerW: number;
  readonly currentA: readonly [number, number, number];
  readonly voltageV: readonly [number, number, number];
  readonly energyWh: number;
}

export interface VirtualCharger {
  readonly connectors: readonly VirtualConnectorSpec[];
  /** Lets time pass up to `nowMs`, in whole steps of a second; going back is ignored. */
  advance(nowMs: number): void;
  readings(): readonly Reading[];
}

const STEP_MS = 1000;

function onPhases(value: number, phases: number): [number, number, number] {
  return [phases > 0 ? value : 0, phases > 1 ? value : 0, phases > 2 ? value : 0];
}

function createConnector(spec: VirtualConnectorSpec, seed: number, traffic: Traffic, startsAtMs: number) {
  const actor = createActor(virtualConnectorMachine, { input: { rating: spec, nowMs: startsAtMs } }).start();
  // Of the generators at hand the only one whose first numbers differ between neighbouring seeds.
  const random = mersenne(seed);
  let next = drawCar(traffic, random, startsAtMs, true);
  return {
    step(nowMs: number): void {
      actor.send({ type: 'time.passed', nowMs });
      if (nowMs < next.arrivesAtMs || !actor.getSnapshot().matches('available')) return;
      actor.send({ type: 'car.arrived', nowMs, car: next });
      next = drawCar(traffic, random, next.leavesAtMs, false);
    },
    reading(): Reading {
      const { context, value } = actor.getSnapshot();
      const drawnA = Math.round(context.drawnA * 10) / 10;
      const phases = phasesInUse(context);
      return {
        connectorId: spec.connectorId,
        status: STATUS_OF[value],
        powerW: Math.round(drawnA * spec.voltageV * phases),
        currentA: onPhases(drawnA, phases),
        voltageV: onPhases(spec.voltageV, spec.phases),
        energyWh: Math.round(context.energyWh),
      };
    },
  };
}

/** The same seed and connectors give the same readings at the same times, however often it is asked. */
export function createVirtualCharger(options: {
  readonly connectors: readonly VirtualConnectorSpec[];
  readonly seed: number;
  readonly traffic: Traffic;
  readonly startsAtMs: number;
}): VirtualCharger {
  const { connectors, seed, traffic, startsAtMs } = options;
  const parts = connectors.map((spec, i) => createConnector(spec, seed * 1009 + i, traffic, startsAtMs));
  let atMs = startsAtMs;
  return {
    connectors,
    advance(nowMs) {
      while (atMs + STEP_MS <= nowMs) {
        atMs += STEP_MS;
        for (const part of parts) part.step(atMs);
      }
    },
    readings: () => parts.map((part) => part.reading()),
  };
}
