// The sites of a hostile day, drawn from its seed: two tenants, locations under caps and locks, and chargers with
// Byzantine faults.
import { uniformInt } from 'pure-rand/distribution/uniformInt';
import { mersenne } from 'pure-rand/generator/mersenne';
import type { RandomGenerator } from 'pure-rand/types/RandomGenerator';
import { POLICY_NAMES } from '../../machines/policy/policies.js';
import type { ChargerAddress } from '../../machines/values/ids.js';
import { parseProvisioning } from '../../src/provisioning/parse-provisioning.js';
import type { TenantEntry } from '../../src/provisioning/provisioning-schema.js';
import { type Declaring, EVERYDAY, HUNGRY, type Traffic } from '../charger/traffic.js';
import type { ChargerTraits, Misbehaviour } from '../charger/traits.js';
import { LEASELESS, OCPP_PROTOCOLS, type OcppBehaviour, type OcppTraits } from '../charger/traits.js';
import { seedFor } from '../scenario/draw.js';

export interface HostileSite {
  readonly tenants: readonly TenantEntry[];
  /** Locations of the first tenant whose limits must hold, in the order of their names. */
  readonly locationIds: readonly string[];
  readonly chargers: number;
  /** Lowest limit of these locations, kW: their fail-safes fit, or the minimum of one lock. */
  readonly leastKw: number;
  /** Number of a location's chargers that may be locked at once. */
  readonly lockable: number;
  readonly hasCluster: boolean;
  readonly isHungry: boolean;
  /** A grid operator limits these locations. */
  readonly hasOperator: boolean;
  visitorsOf(): Traffic;
  traitsOf(charger: ChargerAddress, random: RandomGenerator): Partial<ChargerTraits>;
  /** Undefined for a charger with MQTT. */
  ocppOf(charger: ChargerAddress, random: RandomGenerator): Partial<OcppTraits> | undefined;
}

export const TENANT = '0b6cf0c4-6d0f-4e0e-9f0a-5f6c3b1d2a10';
export const OTHER_TENANT = '1c7d01d5-7e10-4f1f-8a1b-6a7d4c2e3b21';
/** The location of the other tenant, and the location whose chargers break the contract. */
export const FAR = 'far';
export const YARD = 'yard';
const LOCATIONS = ['north', 'south'];
export const START_MS = Date.parse('2026-06-01T00:00:00Z');
const DECLARING: Declaring = { share: 0.5, zeroAt: START_MS };
const BUSY_STREET: Traffic = { ...EVERYDAY, firstArrivalS: [0, 600], gapS: [10, 300], stayS: [300, 3600] };

/** Every car wants more than there is; half of the cars use one phase, and each stays for half an hour at most. */
const MIXED: Traffic = {
  ...HUNGRY,
  gapS: [0, 300],
  stayS: [300, 1800],
  singlePhaseShare: 0.5,
  maxCurrentsA: [32, 1000],
};

/** The same with cars of two phases, and some that go on to all three phases while they charge. */
const CHANGING: Traffic = {
  ...MIXED,
  stayS: [60, 1200],
  gapS: [0, 120],
  singlePhaseShare: 0.4,
  twoPhaseShare: 0.3,
  morePhasesShare: 0.3,
};

/**
 * Odd, but within the contract. Chargers of `ODDEST` have no lease or send no acks, so they are at a location of
 * their own.
 */
const ODD: readonly Misbehaviour[] = ['garbage', 'others-ids', 'backward-counters'];
const ODDEST: readonly Misbehaviour[] = ['old-boot', 'no-ack'];
/** Outside the contract: the service reserves the maximum of these chargers. */
const BROKEN: readonly Misbehaviour[] = ['ignore-limits', 'overdraw', 'impossible-power', 'power-only'];

/** Behaviours with which an OCPP charger still keeps a lease. */
const HARMLESS: readonly OcppBehaviour[] = [
  'watts-only',
  'whole-amperes',
  'hides-idle',
  'resumes-transactions',
];
const SETTLE_MS = 10_000;

/** All chargers of a site with fuses but the DC one: four with 6 A on one phase, one with 6 A on three. */
const FUSED_LOCKABLE = 5;
const FUSED_LEAST_KW = Math.ceil(((4 + 3) * 6 * 253) / 1000);

/** Every kind of wiring, on fuses that carry the minimum of each connector and not the maximum. */
function fused(location: { readonly locationId: string }, failsafeA: number) {
  const { locationId } = location;
  const charger = (nth: number, feeder: string | undefined, connector: object) => ({
    controllerUuid: `${locationId}-${nth}`,
    ...(feeder !== undefined && { feeder }),
    connectors: [{ connectorId: '1', voltageV: 230, status: 'ACTIVE', ...connector }],
  });
  const single = (rotation?: string) => ({
    phases: 1,
    maxCurrentA: 32,
    failsafeA,
    ...(rotation !== undefined && { rotation }),
  });
  return {
    ...location,
    connection: { currentA: [80, 70, 90] },
    feeders: [
      { name: 'hall', currentA: [40, 45, 60] },
      { name: 'corner', currentA: [32, 32, 10], parent: 'hall' },
    ],
    chargers: [
      charger(0, 'corner', single('R')),
      charger(1, 'hall', single('S')),
      charger(2, 'corner', single('T')),
      charger(3, undefined, single()),
      charger(4, 'hall', { phases: 3, maxCurrentA: 32, failsafeA, rotation: 'STR' }),
      charger(5, undefined, { powerType: 'DC', maxPowerKw: 40, minPowerKw: 2, efficiency: 0.85 }),
    ],
  };
}

/**
 * Four chargers whose phases can be reallocated, each wired differently, on fuses for less than half of their
 * maximum.
 */
const LENDING_LEAST_KW = Math.ceil((4 * 3 * 6 * 253) / 1000);

/**
 * The same with phase switching: 6 A on three phases for a lock, on one phase for each other charger, and 10 % more
 * voltage.
 */
const SWITCHING_LEAST_KW = Math.ceil(((3 + 3) * 6 * 253) / 1000);

function reallocating(location: { readonly locationId: string }, failsafeA: number) {
  const { locationId } = location;
  const rotations = ['RST', 'STR', 'TRS', undefined];
  return {
    ...location,
    connection: { currentA: [70, 60, 65] },
    feeders: [{ name: 'hall', currentA: [40, 45, 38] }],
    chargers: rotations.map((rotation, nth) => ({
      controllerUuid: `${locationId}-${nth}`,
      ...(nth < 2 && { feeder: 'hall' }),
      connectors: [
        {
          connectorId: '1',
          voltageV: 230,
          status: 'ACTIVE',
          phases: 3,
          maxCurrentA: 32,
          failsafeA,
          ...(rotation !== undefined && { rotation }),
        },
      ],
    })),
  };
}

function plainLocation(locationId: string, count: number, failsafeA: number) {
  const connector = { connectorId: '1', phases: 3, voltageV: 230, maxCurrentA: 32, status: 'ACTIVE' };
  return {
    locationId,
    name: locationId,
    status: 'ACTIVE',
    permanentLimitKw: 50,
    gridLimitKw: 80,
    chargers: Array.from({ length: count }, (_, i) => ({
      controllerUuid: `${locationId}-${i}`,
      connectors: [{ ...connector, failsafeA }],
    })),
  };
}

/**
 * Its fail-safe is in the range of the other limits. The operator counts as lost after ten minutes, and its
 * fail-safe ends after two hours.
 */
const operatorOf = (locationId: string, leastKw: number) => ({
  operator: { operatorUuid: `${locationId}-grid`, failsafeKw: leastKw + 10, heartbeatS: 300 },
});
/** Less than the connection, so that the average binds now and then. */
const PEAK_SHAVING = { peakShaving: { limitKw: 30, windowS: 900 } };

interface Surroundings {
  readonly speaksOcpp?: boolean;
  readonly hasNodes?: boolean;
}

function drawnBy(seed: number, chargers: number, { hasNodes = false }: Surroundings) {
  const isSwitching = seed % 20 === 13;
  const hasFailsafe = seed % 2 === 1 && !isSwitching;
  const isForgetful = hasFailsafe && seed % 6 === 1;
  const isFused = seed % 10 === 7;
  const isReallocating = seed % 10 === 3;
  const hasKeptPhases = isSwitching && seed % 40 === 33;
  const hasReceipts = seed % 10 === 0;
  // With several nodes the order that the service received is unknown: another node may have answered.
  const isLimitedFromOutside = !hasNodes;
  const lendingLeastKw = isSwitching ? SWITCHING_LEAST_KW : LENDING_LEAST_KW;
  const ownLeastKw = hasFailsafe ? Math.ceil((chargers * 6 * 253 * 3) / 1000) : 5;
  return {
    hasFailsafe,
    isForgetful,
    failsafeA: hasFailsafe ? 6 : 0,
    isHungry: seed % 3 !== 0,
    isFused,
    isReallocating,
    isSwitching,
    hasKeptPhases,
    hasReceipts,
    hasOperator: isLimitedFromOutside && seed % 5 === 4,
    isShaved: isLimitedFromOutside && seed % 10 === 5,
    leastKw: isFused ? FUSED_LEAST_KW : isReallocating ? lendingLeastKw : ownLeastKw,
  };
}

function ownLocations(
  chargers: number,
  { failsafeA, isFused, isReallocating, hasOperator, isShaved, leastKw }: ReturnType<typeof drawnBy>,
): readonly object[] {
  return LOCATIONS.map((locationId) => {
    const location = plainLocation(locationId, chargers, failsafeA);
    if (isFused) return fused(location, failsafeA);
    if (isReallocating) return reallocating(location, failsafeA);
    if (hasOperator) return Object.assign(location, operatorOf(locationId, leastKw));
    return isShaved ? Object.assign(location, PEAK_SHAVING) : location;
  });
}

/** Less than 6 A on three phases for each of four chargers, so that each is on one phase as a rule. */
const KEPT_PHASES_KW = 12;

/** The location whose chargers break the contract, if the seed has one. */
function yardOf(
  seed: number,
  speaksOcpp: boolean,
  { failsafeA, hasKeptPhases }: ReturnType<typeof drawnBy>,
): readonly object[] {
  if (hasKeptPhases && !speaksOcpp)
    return [{ ...plainLocation(YARD, 4, failsafeA), permanentLimitKw: KEPT_PHASES_KW }];
  return seed % 4 === 0 || speaksOcpp ? [plainLocation(YARD, 2, failsafeA)] : [];
}

/**
 * The seed decides the kind of a site:
 * - An even seed has no fail-safes. An odd seed has fail-safes, and some chargers do not keep `thenA` over a
 *   restart.
 * - With 1, 7, 19, 25 and so on no charger keeps it. These are odd and 1 when divided by 6; 13, 73 and so on are not
 *   among them.
 * - A multiple of 3 has ordinary cars. Every other pair of seeds has a cluster.
 * - A seed that ends with 7 has fuses, with cars of one phase and of three, and a DC charger. Half of those behind OCPP
 *   take amperes only.
 * - A seed that ends with 3 has fuses, and most chargers reallocate phases until a session ends. With odd tens (13,
 *   33 and so on) these chargers also switch phases and have no fail-safes. Limits are then below 6 A on three phases
 *   for each.
 * - With 33, 73, 113 and so on all chargers of one further location keep their phases connected, against their duty.
 * - A seed that ends with 0 has chargers that count their leases from the receipt of a limit: half of them.
 * - A seed that ends with 4 or 9 has a grid operator. A seed that ends with 5 has an average that the tariff bills.
 * - Each location has a policy, and half of the cars declare departures and needs.
 *
 * On all other sites one charger in four reallocates phases. Half of these chargers also switch phases. Behind OCPP
 * one charger in four uses MQTT, because OCPP has no messages for either.
 */
export function hostileSiteOf(seed: number, chargers: number, surroundings: Surroundings = {}): HostileSite {
  const { speaksOcpp = false } = surroundings;
  const drawn = drawnBy(seed, chargers, surroundings);
  const {
    hasFailsafe,
    isForgetful,
    failsafeA,
    isHungry,
    isFused,
    isReallocating,
    isSwitching,
    hasKeptPhases,
    hasReceipts,
    hasOperator,
    isShaved,
    leastKw,
  } = drawn;
  const tenant = (tenantUuid: string, name: string, locations: readonly object[]) => ({
    tenantUuid,
    name,
    features: ['energy-management'],
    apiKeys: [{}],
    locations,
  });
  const ofPolicies = mersenne(seedFor(seed, 'policies'));
  const withPolicy = (location: object) => ({ ...location, policy: oneOf(POLICY_NAMES, ofPolicies) });
  const own = ownLocations(chargers, drawn);
  const yard = yardOf(seed, speaksOcpp, drawn);
  const file = {
    tenants: [
      tenant(TENANT, 'Hostile', [...own, ...yard].map(withPolicy)),
      tenant(OTHER_TENANT, 'Other', [plainLocation(FAR, 1, failsafeA)].map(withPolicy)),
    ],
  };
  const { tenants } = parseProvisioning(JSON.stringify(file), 'hostile-site');
  const dcChargers = dcChargersOf(tenants);
  return {
    tenants,
    locationIds: LOCATIONS,
    chargers: isFused ? FUSED_LOCKABLE + 1 : isReallocating ? 4 : chargers,
    leastKw,
    lockable: isFused ? FUSED_LOCKABLE : isSwitching ? 1 : isReallocating ? 4 : hasFailsafe ? chargers : 1,
    hasCluster: seed % 4 < 2,
    // The checks compute no best draw for sites on which fuses or an average bind.
    isHungry: isHungry && !isFused && !isReallocating && !isShaved,
    hasOperator,
    visitorsOf: () => ({
      ...(isFused ? MIXED : isReallocating ? CHANGING : isHungry ? HUNGRY : BUSY_STREET),
      declaring: DECLARING,
    }),
    traitsOf: (charger, random) =>
      drawTraits(charger, random, {
        hasFailsafe,
        isForgetful,
        isReallocating,
        isSwitching,
        hasKeptPhases,
        hasReceipts,
      }),
    ocppOf({ locationId, controllerUuid }, random) {
      if (!speaksOcpp || locationId === FAR) return undefined;
      // Only MQTT lets a charger declare that it reallocates or switches phases.
      const isOcpp = uniformInt(random, 0, 3) > 0 || locationId === YARD;
      if (!isOcpp) return undefined;
      const isBroken = locationId === YARD;
      const drawnTraits = drawnOcpp(random, { hasFuses: isFused || isReallocating, isBroken });
      const takesAmperes = dcChargers.has(controllerUuid) && uniformInt(random, 0, 1) === 0;
      return takesAmperes ? withBehaviour(drawnTraits, 'amperes-only') : drawnTraits;
    },
  };
}

function dcChargersOf(tenants: readonly TenantEntry[]): ReadonlySet<string> {
  const chargers = tenants.flatMap(({ locations }) => locations.flatMap((location) => location.chargers));
  const dc = chargers.filter(({ connectors }) => connectors.some((connector) => connector.dc !== null));
  return new Set(dc.map(({ controllerUuid }) => controllerUuid));
}

function withBehaviour(
  { behaviours = [], ...traits }: Partial<OcppTraits>,
  behaviour: OcppBehaviour,
): Partial<OcppTraits> {
  return { ...traits, behaviours: [...behaviours, behaviour] };
}

/** Most chargers set their clocks, which are good; the clocks of the others drift as far as permitted. */
function drawnOcpp(
  random: RandomGenerator,
  { hasFuses, isBroken }: { readonly hasFuses: boolean; readonly isBroken: boolean },
): Partial<OcppTraits> {
  const setsClock = uniformInt(random, 0, 2) > 0;
  // A limit in watts has no phases: until a car has shown its number, one phase may carry the current meant for
  // three.
  const harmless = hasFuses ? HARMLESS.filter((each) => each !== 'watts-only') : HARMLESS;
  const behaviours = [
    ...harmless.filter(() => uniformInt(random, 0, 3) === 0),
    ...(setsClock ? (['sets-clock'] as const) : []),
    ...(isBroken ? [oneOf(LEASELESS, random)] : []),
  ];
  return {
    protocol: oneOf(OCPP_PROTOCOLS, random),
    behaviours,
    driftShare: setsClock ? uniformInt(random, -10, 10) / 100_000 : uniformInt(random, -19, 19) / 1000,
    lateMs: SETTLE_MS,
  };
}

function drawTraits(
  { controllerUuid, locationId }: ChargerAddress,
  random: RandomGenerator,
  {
    hasFailsafe,
    isForgetful,
    isReallocating,
    isSwitching,
    hasKeptPhases,
    hasReceipts,
  }: Pick<
    ReturnType<typeof drawnBy>,
    'hasFailsafe' | 'isForgetful' | 'isReallocating' | 'isSwitching' | 'hasKeptPhases' | 'hasReceipts'
  >,
): Partial<ChargerTraits> {
  const misbehaviours: Misbehaviour[] = ['late-reaction'];
  if (locationId === FAR) misbehaviours.push(oneOf(ODDEST, random));
  else if (uniformInt(random, 0, 3) === 0) misbehaviours.push(oneOf(ODD, random));
  // The fail-safe of such a charger is always reserved if it fits.
  if (isForgetful || (hasFailsafe && uniformInt(random, 0, 5) === 0)) misbehaviours.push('forget-then');
  const keepsPhases = locationId === YARD && hasKeptPhases;
  const isBroken = keepsPhases || (locationId === YARD && controllerUuid.endsWith('-0'));
  const lendsHere = isReallocating && uniformInt(random, 0, 3) > 0;
  const brokenBy = () => (keepsPhases ? 'keep-phases' : oneOf(BROKEN, random));
  const drawnMisbehaviours = isBroken ? [brokenBy()] : misbehaviours;
  const driftShare = uniformInt(random, -20, 20) / 1000;
  const pilotDelayMs = uniformInt(random, 0, 5_000);
  const endsWithSession = isReallocating ? lendsHere : uniformInt(random, 0, 3) === 0;
  const switchesPhases = isSwitching || uniformInt(random, 0, 1) === 0;
  return {
    misbehaviours: drawnMisbehaviours,
    endsWithSession: endsWithSession || keepsPhases,
    switchesPhases: (endsWithSession && switchesPhases) || keepsPhases,
    ...(hasReceipts && uniformInt(random, 0, 1) === 0 && { lease: 'receipt' }),
    driftShare,
    pilotDelayMs,
  };
}

export function oneOf<T>(list: readonly [T, ...T[]] | readonly T[], random: RandomGenerator): T {
  const drawn = list[uniformInt(random, 0, list.length - 1)];
  if (drawn === undefined) throw new RangeError('nothing to draw from');
  return drawn;
}
