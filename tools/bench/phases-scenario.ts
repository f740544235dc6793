// A scenario with cars of one or three phases at three-phase connectors all day, and the energy of the best schedule.
import { parseScenario } from '../../sim/scenario/parse-scenario.js';
import type { Scenario } from '../../sim/scenario/scenario.js';

const VOLTAGE_V = 230;
const MAX_A = 32;
const CAR_W = VOLTAGE_V * MAX_A;
/** Time between a car and its successor. */
const GAP_MS = 600_000;
/** Delay from one connector to the next, so that not all begin at once. */
const APART_MS = 120_000;
const PHASE_ROTATIONS = ['RST', 'STR', 'TRS'];

/** `rotated`: connectors begin with L1, L2 and L3 in turn; otherwise all begin with L1. */
export interface PhasesCase {
  readonly cars: number;
  readonly limitKw: number;
  readonly wiring: 'rotated' | 'onL1';
  /** Of the connection, A; undefined if it has no known fuse. */
  readonly fuseA?: number;
  /** Chargers end a limit with the session, so that unused phases can be reallocated. */
  readonly endsWithSession: boolean;
  /** Number of phases that the cars use, 7.36 kW on each; one by default. */
  readonly carPhases?: 1 | 3;
  /** Chargers can charge a car on fewer phases than it uses, if the service requests it. */
  readonly switchesPhases?: boolean;
  readonly hours: number;
  readonly seed: number;
}

interface Stay {
  readonly nth: number;
  readonly fromMs: number;
  readonly untilMs: number;
}

/** Two cars, one after the other, at each connector; neither is ever full. */
function staysOf({ cars, hours }: PhasesCase): readonly Stay[] {
  const halfMs = (hours * 3_600_000) / 2;
  return Array.from({ length: 2 * cars }, (_, i) => {
    const [nth, half] = [i % cars, Math.floor(i / cars)];
    const fromMs = half * halfMs + nth * APART_MS;
    return { nth, fromMs, untilMs: half * halfMs + halfMs - GAP_MS + (half === 0 ? nth * APART_MS : 0) };
  });
}

export function phasesScenario(phases: PhasesCase): Scenario {
  const {
    cars,
    limitKw,
    wiring,
    fuseA,
    endsWithSession,
    carPhases = 1,
    switchesPhases = false,
    hours,
    seed,
  } = phases;
  const chargers = Array.from({ length: cars }, (_, nth) => {
    const rotation = wiring === 'onL1' ? 'RST' : PHASE_ROTATIONS[nth % PHASE_ROTATIONS.length];
    return `            - { controllerUuid: c${nth}, connectors: [{ connectorId: "1", phases: 3, rotation: ${rotation}, maxCurrentA: ${MAX_A}, failsafeA: 0 }] }`;
  });
  const visits = staysOf(phases).map(
    ({ nth, fromMs, untilMs }) =>
      `    - { connector: c${nth}/1, arrives: +${fromMs / 1000}s, leaves: +${untilMs / 1000}s, energyKwh: 1000 }`,
  );
  return parseScenario(
    `name: Cars of ${carPhases === 1 ? 'one phase' : 'three phases'}
seed: ${seed}
start: 2026-06-01T00:00:00Z
duration: ${hours}h
endsWithSession: ${endsWithSession}
switchesPhases: ${switchesPhases}
provision:
  tenants:
    - tenantUuid: harbour
      name: Harbour Charging
      features: [energy-management]
      locations:
        - locationId: quay
          name: Quay
          permanentLimitKw: ${limitKw}
          ${fuseA === undefined ? '' : `connection: { currentA: ${fuseA}, voltageV: ${VOLTAGE_V} }`}
          chargers:
${chargers.join('\n')}
sessions:
  visits:
${visits.join('\n')}
vehicles:
  - { name: car, maxKw: ${(carPhases * CAR_W) / 1000}, phases: ${carPhases}, taper: none }
`,
    'phases.yaml',
  );
}

/** Upper bound of the energy for these cars: at every instant the demand of all cars, the limit or the fuse of L1. */
export function bestWh(phases: PhasesCase): number {
  const { limitKw, fuseA = Number.POSITIVE_INFINITY, wiring, carPhases = 1 } = phases;
  const stays = staysOf(phases);
  const instants = [...new Set(stays.flatMap(({ fromMs, untilMs }) => [fromMs, untilMs]))].sort(
    (a, b) => a - b,
  );
  let wattMs = 0;
  for (const [i, fromMs] of instants.entries()) {
    const there = stays.filter((stay) => stay.fromMs <= fromMs && fromMs < stay.untilMs);
    const onPhase = (phase: number) =>
      carPhases === 3
        ? there.length
        : there.filter(({ nth }) => (wiring === 'onL1' ? 0 : nth % PHASE_ROTATIONS.length) === phase).length;
    const carriedW = [0, 1, 2].reduce(
      (sum, phase) => sum + Math.min(onPhase(phase) * CAR_W, fuseA * VOLTAGE_V),
      0,
    );
    wattMs += Math.min(1000 * limitKw, carriedW) * ((instants[i + 1] ?? fromMs) - fromMs);
  }
  return wattMs / 3_600_000;
}
