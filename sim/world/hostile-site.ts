// The sites of a hostile day, drawn from its seed: two tenants, locations under caps and locks, and chargers that do their worst.
import { uniformInt } from 'pure-rand/distribution/uniformInt';
import type { RandomGenerator } from 'pure-rand/types/RandomGenerator';
import type { ChargerAddress } from '../../machines/values/ids.js';
import { parseProvisioning } from '../../src/provisioning/parse-provisioning.js';
import type { TenantEntry } from '../../src/provisioning/provisioning-schema.js';
import { EVERYDAY, HUNGRY, type Traffic } from '../charger/traffic.js';
import type { ChargerTraits, Misbehaviour } from '../charger/traits.js';

export interface HostileSite {
  readonly tenants: readonly TenantEntry[];
  /** Locations of the first tenant whose limits must hold, in the order of their names. */
  readonly locationIds: readonly string[];
  readonly chargers: number;
  /** No limit of theirs is lower than this, kW: fail-safes fit, or the floor of one lock. */
  readonly leastKw: number;
  /** How many of a location's chargers may be locked at once. */
  readonly lockable: number;
  readonly hasCluster: boolean;
  readonly isHungry: boolean;
  visitorsOf(): Traffic;
  traitsOf(charger: ChargerAddress, random: RandomGenerator): Partial<ChargerTraits>;
}

export const TENANT = '0b6cf0c4-6d0f-4e0e-9f0a-5f6c3b1d2a10';
export const OTHER_TENANT = '1c7d01d5-7e10-4f1f-8a1b-6a7d4c2e3b21';
/** The location of the other tenant, and the one whose chargers break their word. */
export const FAR = 'far';
export const YARD = 'yard';
const LOCATIONS = ['north', 'south'];
const BUSY_STREET: Traffic = { ...EVERYDAY, firstArrivalS: [0, 600], gapS: [10, 300], stayS: [300, 3600] };

/** Within the contract, however odd; the last two go without a lease or without acks, so that they live by themselves. */
const ODD: readonly Misbehaviour[] = ['garbage', 'others-ids', 'backward-counters'];
const ODDEST: readonly Misbehaviour[] = ['old-boot', 'no-ack'];
/** Beyond it: what is reserved for these is their maximum. */
const BROKEN: readonly Misbehaviour[] = ['ignore-limits', 'overdraw', 'impossible-power', 'power-only'];

/** With even seeds nobody has a fail-safe; every third has ordinary cars; every other one has a cluster. */
export function hostileSiteOf(seed: number, chargers: number): HostileSite {
  const hasFailsafe = seed % 2 === 1;
  const failsafeA = hasFailsafe ? 6 : 0;
  const isHungry = seed % 3 !== 0;
  const location = (locationId: string, count: number) => ({
    locationId,
    name: locationId,
    status: 'ACTIVE',
    permanentLimitKw: 50,
    gridLimitKw: 80,
    chargers: Array.from({ length: count }, (_, i) => ({
      controllerUuid: `${locationId}-${i}`,
      connectors: [
        { connectorId: '1', phases: 3, voltageV: 230, maxCurrentA: 32, status: 'ACTIVE', failsafeA },
      ],
    })),
  });
  const tenant = (tenantUuid: string, name: string, locations: readonly object[]) => ({
    tenantUuid,
    name,
    features: ['energy-management'],
    apiKeys: [{}],
    locations,
  });
  const own = LOCATIONS.map((locationId) => location(locationId, chargers));
  const file = {
    tenants: [
      tenant(TENANT, 'Hostile', seed % 4 === 0 ? [...own, location(YARD, 2)] : own),
      tenant(OTHER_TENANT, 'Other', [location(FAR, 1)]),
    ],
  };
  return {
    tenants: parseProvisioning(JSON.stringify(file), 'hostile-site').tenants,
    locationIds: LOCATIONS,
    chargers,
    leastKw: hasFailsafe ? Math.ceil((chargers * 6 * 253 * 3) / 1000) : 5,
    lockable: hasFailsafe ? chargers : 1,
    hasCluster: seed % 4 < 2,
    isHungry,
    visitorsOf: () => (isHungry ? HUNGRY : BUSY_STREET),
    traitsOf({ controllerUuid, locationId }, random) {
      const misbehaviours: Misbehaviour[] = ['late-reaction'];
      if (locationId === FAR) misbehaviours.push(oneOf(ODDEST, random));
      else if (uniformInt(random, 0, 3) === 0) misbehaviours.push(oneOf(ODD, random));
      // Its fail-safe is reserved for good where there is room for it.
      if (hasFailsafe && uniformInt(random, 0, 5) === 0) misbehaviours.push('forget-then');
      const isBroken = locationId === YARD && controllerUuid.endsWith('-0');
      return {
        misbehaviours: isBroken ? [oneOf(BROKEN, random)] : misbehaviours,
        driftShare: uniformInt(random, -20, 20) / 1000,
        pilotDelayMs: uniformInt(random, 0, 5_000),
      };
    },
  };
}

export function oneOf<T>(list: readonly [T, ...T[]] | readonly T[], random: RandomGenerator): T {
  const drawn = list[uniformInt(random, 0, list.length - 1)];
  if (drawn === undefined) throw new RangeError('nothing to draw from');
  return drawn;
}
