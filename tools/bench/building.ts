// A site with a building: the energy of its cars relative to an optimum with full knowledge of the building, and the
// steadiness of charging.

import type { RunResult } from '../../sim/run/run-account.js';
import { runScenario } from '../../sim/run/run-scenario.js';
import { parseScenario } from '../../sim/scenario/parse-scenario.js';
import type { Scenario } from '../../sim/scenario/scenario.js';
import { buildingWAt } from '../../sim/world/building.js';
import { toInstant } from '../../src/wire/instants.js';
import { type Figure, machine, remark, report } from './bench.js';

const START_MS = Date.parse('2026-06-01T00:00:00Z');
const FLICKER_KW = [60, 35];
const FLICKER_MINUTES = 9;
const FLICKER_CARS = 8;
const CARS = 4;
/** Cars of 32 A on three phases of 230 V. */
const CAR_KW = (3 * 230 * 32) / 1000;
const GOALS = { energyShare: 0.9, startsPerSession: 1.5, utilisation: 0.92 };

function options(): { readonly days: number; readonly seed: number; readonly hours: number } {
  const of = (name: string, otherwise: number) => {
    const word = process.argv.find((each) => each.startsWith(`--${name}=`));
    return word === undefined ? otherwise : Number(word.slice(name.length + 3));
  };
  return { days: of('days', 1), seed: of('seed', 1), hours: of('hours', 12) };
}

const chargersOf = (count: number, failsafeA: number) =>
  Array.from(
    { length: count },
    (_, nth) =>
      `            - { controllerUuid: c${nth + 1}, connectors: [{ connectorId: "1", phases: 3, maxCurrentA: 32, failsafeA: ${failsafeA} }] }`,
  ).join('\n');

/** A car is at each connector all day, and another replaces it at midnight, so that none is ever full. */
const hungryCars = (count: number, days: number) =>
  Array.from({ length: count * days }, (_, i) => {
    const [nth, day] = [i % count, Math.floor(i / count)];
    const atS = 86_400 * day + 10 * nth + 10;
    return `    - { connector: c${nth + 1}/1, arrives: +${atS}s, leaves: +${atS + 86_370}s, energyKwh: 1000 }`;
  }).join('\n');

/** Lifts all day, and a kitchen from ten to one. */
function tower(days: number, seed: number): Scenario {
  const kitchen = Array.from({ length: days }, (_, day) => {
    const at = (hour: number) => `+${24 * day + hour}h`;
    return `      - { kw: 12, from: "${at(10)}", until: "${at(13)}", lasts: 4m, every: 9m }`;
  }).join('\n');
  return parseScenario(
    `name: Tower
seed: ${seed}
start: 2026-06-01T00:00:00Z
duration: ${days}d
provision:
  tenants:
    - tenantUuid: harbour
      name: Harbour Charging
      features: [energy-management]
      locations:
        - locationId: tower
          name: Tower
          permanentLimitKw: 200
          gridLimitKw: 80
          siteMeter: { meterUuid: tower-meter, covers: connection, maxBuildingKw: 40, reserveKw: [2, 20] }
          chargers:
${chargersOf(CARS, 0)}
buildings:
  - location: tower
    baseKw: 12
    lift: { kw: 4, lasts: 25s, tripsPerHour: 12 }
    peaks:
${kitchen}
    meterEvery: 2s
sessions:
  visits:
${hungryCars(CARS, days)}
vehicles:
  - { name: bus, maxKw: 22.1, phases: 3, taper: none }
`,
    'tower.yaml',
  );
}

/** Energy that the cars could have had with knowledge of the building for every second, Wh. */
function clairvoyantWh({ buildings, startsAtMs, endsAtMs, seed }: Scenario): number {
  const [building] = buildings;
  if (building === undefined) return Number.NaN;
  let joules = 0;
  for (let atMs = startsAtMs; atMs < endsAtMs; atMs += 1000)
    joules += Math.min(
      CARS * 1000 * CAR_KW,
      1000 * building.connectionKw - buildingWAt(building, seed, atMs),
    );
  return joules / 3600;
}

async function energyBesideBuilding(days: number, seed: number): Promise<readonly Figure[]> {
  const scenario = tower(days, seed);
  const result = await runScenario(scenario);
  const site = accountOf(result, 'tower');
  const [over] = result.imports;
  const share = site.deliveredWh / clairvoyantWh(scenario);
  remark(
    `tower, ${days} days: ${(site.deliveredWh / 1000).toFixed(0)} kWh, ${(100 * share).toFixed(1)} % of a clairvoyant, ${over?.excusedKws} kW s above the connection before chargers could follow, ${over?.brokenKws} kW s after, ${site.startsPerSession} starts a session, ${result.summary.violations} violations`,
  );
  return [
    {
      name: `energy beside a building, ${days} days, of what a clairvoyant gives`,
      measured: `${(100 * share).toFixed(1)} %`,
      goal: `≥ ${100 * GOALS.energyShare} %`,
      met: share >= GOALS.energyShare,
    },
    {
      name: `import above the connection beyond the reserve, ${days} days`,
      measured: `${over?.brokenKws} kW s`,
      goal: '0 kW s',
      met: over?.brokenKws === 0,
    },
  ];
}

/**
 * Source of the limits: the grid operator without notice, windows that are written nine minutes ahead, or windows that
 * are written at their start.
 */
type Limiter = 'operator' | 'windows' | 'calls';

interface Yard {
  readonly limiter: Limiter;
  /** The chargers can charge a car on fewer phases than it uses, if the service requests it. */
  readonly switchesPhases: boolean;
}

const YARDS: readonly Yard[] = [
  { limiter: 'windows', switchesPhases: false },
  { limiter: 'operator', switchesPhases: false },
  { limiter: 'operator', switchesPhases: true },
  { limiter: 'calls', switchesPhases: false },
  { limiter: 'calls', switchesPhases: true },
];

/** 60 and 35 kW in alternation, nine minutes each, while links of chargers are cut. */
function flicker(hours: number, seed: number, { limiter, switchesPhases }: Yard): Scenario {
  const [highestKw] = FLICKER_KW;
  const instant = (nth: number) => toInstant(START_MS + FLICKER_MINUTES * nth * 60_000);
  const turns = Array.from({ length: Math.floor((60 * hours) / FLICKER_MINUTES) }, (_, nth) => {
    const limitKw = FLICKER_KW[nth % FLICKER_KW.length];
    if (limiter === 'operator')
      return `  - at: +${FLICKER_MINUTES * nth}m
    call: setOperatorLimit
    params: { locationId: yard }
    body: { source: bench, isActive: true, limitKw: ${limitKw}, sentAt: "${instant(nth)}" }`;
    if (limitKw === highestKw) return '';
    return `  - at: +${FLICKER_MINUTES * (limiter === 'calls' ? nth : nth - 1)}m
    call: scheduleLocation
    params: { locationId: yard }
    body: { priority: 5, limitKw: ${limitKw}, startTime: "${instant(nth)}", endTime: "${instant(nth + 1)}" }`;
  });
  return parseScenario(
    `name: Flicker
seed: ${seed}
start: 2026-06-01T00:00:00Z
duration: ${hours}h
switchesPhases: ${switchesPhases}
provision:
  tenants:
    - tenantUuid: harbour
      name: Harbour Charging
      features: [energy-management]
      apiKeys: [{ scopes: ["operator:write", "locations:read", "locations:write"] }]
      locations:
        - locationId: yard
          name: Yard
          permanentLimitKw: ${limiter === 'operator' ? 200 : highestKw}
          gridLimitKw: 200
          ${limiter === 'operator' ? 'operator: { operatorUuid: dso, failsafeKw: 35, heartbeatS: 600 }' : ''}
          chargers:
${chargersOf(FLICKER_CARS, 6)}
sessions:
  visits:
${hungryCars(FLICKER_CARS, 1)}
vehicles:
  - { name: bus, maxKw: 22.1, phases: 3, taper: none }
actions:
${turns.join('\n')}
faults:
  - { kind: partition, for: [30s, 90s], every: [3m, 6m] }
`,
    'flicker.yaml',
  );
}

async function flickeringLimit(hours: number, seed: number, yard: Yard): Promise<readonly Figure[]> {
  const result = await runScenario(flicker(hours, seed, yard));
  const limiter = yard.switchesPhases ? `${yard.limiter}, phases switched` : yard.limiter;
  const site = accountOf(result, 'yard');
  const allowedKwh = (hours * FLICKER_KW.reduce((sum, kw) => sum + kw, 0)) / FLICKER_KW.length;
  const used = site.deliveredWh / 1000 / allowedKwh;
  const starts = site.startsPerSession ?? Number.NaN;
  remark(
    `yard, by ${limiter}, ${hours} h: ${(100 * used).toFixed(1)} % of ${allowedKwh} kWh used, ${starts.toFixed(2)} starts a session, ${result.summary.violations} violations, ${result.failures.length} refused calls`,
  );
  return [
    {
      name: `starts a session, 60 and 35 kW by turns (${limiter}), links cut, ${hours} h`,
      measured: starts.toFixed(2),
      goal: `≤ ${GOALS.startsPerSession}`,
      met: starts <= GOALS.startsPerSession,
    },
    {
      name: `power used of 60 and 35 kW by turns (${limiter}), links cut, ${hours} h`,
      measured: `${(100 * used).toFixed(1)} %`,
      goal: `≥ ${100 * GOALS.utilisation} %`,
      met: used >= GOALS.utilisation,
    },
  ];
}

function accountOf({ summary }: RunResult, locationId: string) {
  const found = summary.locations.find((location) => location.locationId === locationId);
  if (found === undefined) throw new Error(`nothing is known of ${locationId}`);
  return found;
}

const { days, seed, hours } = options();
remark(machine());
const figures: Figure[] = [];
if (hours > 0) for (const yard of YARDS) figures.push(...(await flickeringLimit(hours, seed, yard)));
if (days > 0) figures.push(...(await energyBesideBuilding(days, seed)));
report(figures);
