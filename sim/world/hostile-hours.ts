// Hours in which everything goes wrong, drawn from a seed: hostile chargers, bad wires, crashes, a busy database, an operator.
import { uniformInt } from 'pure-rand/distribution/uniformInt';
import { mersenne } from 'pure-rand/generator/mersenne';
import type { RandomGenerator } from 'pure-rand/types/RandomGenerator';
import { parseProvisioning } from '../../src/provisioning/parse-provisioning.js';
import type { TenantEntry } from '../../src/provisioning/provisioning-schema.js';
import { toInstant } from '../../src/wire/rest.js';
import { EVERYDAY, HUNGRY, type Traffic } from '../charger/traffic.js';
import type { ChargerTraits } from '../charger/traits.js';
import { HEAVY, type Misfortune, strikeWorld } from './misfortune.js';
import type { Violation } from './power-watch.js';
import { createWorld, type World } from './world.js';

export interface HostileHours {
  readonly seed: number;
  readonly violations: readonly Violation[];
  readonly struck: Misfortune['struck'];
  readonly counts: World['counts'];
  /** Of how many chargers, how many hold a lease once nothing has gone wrong for 101 s. */
  readonly chargers: number;
  readonly leased: number;
}

const START_MS = Date.parse('2026-06-01T00:00:00Z');
const ACT_EVERY_MS = 120_000;
/** Once faults have stopped, every charger holds a lease within this (P12). */
const HEALED_MS = 101_000;
const LOCATIONS = ['north', 'south'] as const;
const BUSY_STREET: Traffic = { ...EVERYDAY, firstArrivalS: [0, 600], gapS: [10, 300], stayS: [300, 3600] };

/** Two locations of `chargers` each; with even seeds nobody has a fail-safe, with odd ones a cluster caps both. */
export async function runHostileHours(options: {
  readonly seed: number;
  readonly chargers: number;
  readonly durationMs: number;
}): Promise<HostileHours> {
  const { seed, durationMs } = options;
  const random = mersenne(seed);
  const failsafeA = seed % 2 === 0 ? 0 : 6;
  const world = await createWorld({
    tenants: tenantsOf(options.chargers, failsafeA),
    seed,
    startMs: START_MS,
    visitorsOf: () => (seed % 3 === 0 ? BUSY_STREET : HUNGRY),
    traitsOf: (_, drawn) => hostileTraits(drawn),
  });
  try {
    if (seed % 2 === 1)
      await world.call('POST', '/clusters', { name: 'cluster', locationIds: LOCATIONS, limitKw: 60 });
    const misfortune = strikeWorld(world, seed, HEAVY);
    // Where fail-safes are to be reserved, the lowest limit leaves room for them.
    const leastKw = failsafeA === 0 ? 5 : Math.ceil((options.chargers * 6 * 253 * 3) / 1000);
    for (let passedMs = 0; passedMs < durationMs; passedMs += ACT_EVERY_MS) {
      await world.advance(ACT_EVERY_MS);
      await act(world, random, leastKw);
    }
    misfortune.end();
    await world.advance(HEALED_MS);
    const { violations, counts, runs } = world;
    const leased = runs.filter(({ charger }) => charger.limits().every(({ seq }) => seq > 0)).length;
    return { seed, violations, struck: misfortune.struck, counts, chargers: runs.length, leased };
  } finally {
    await world.close();
  }
}

/** Within the contract, the worst there is: the most it was ever allowed within settle, on the slowest clock. */
function hostileTraits(random: RandomGenerator): Partial<ChargerTraits> {
  return {
    misbehaviours: ['late-reaction'],
    driftShare: uniformInt(random, -20, 20) / 1000,
    pilotDelayMs: uniformInt(random, 0, 5_000),
  };
}

async function act(world: World, random: RandomGenerator, leastKw: number): Promise<void> {
  const now = world.nowMs();
  const locationId = LOCATIONS[uniformInt(random, 0, 1)] ?? LOCATIONS[0];
  const limitKw = uniformInt(random, leastKw, 70);
  const startsAtMs = now + 1_000 * uniformInt(random, -60, 300);
  const endsAtMs = Math.max(now + 5_000, startsAtMs + 1_000 * uniformInt(random, 5, 600));
  const window = { startTime: toInstant(startsAtMs), endTime: toInstant(endsAtMs) };
  const choice = uniformInt(random, 0, 9);
  if (choice < 6) {
    const profile = { ...window, limitKw, priority: uniformInt(random, 0, 10) };
    await world.call('POST', `/locations/${locationId}/schedules`, profile);
  } else if (choice < 8) {
    await world.call('PUT', `/locations/${locationId}/limit`, { limitKw });
  } else {
    const lock = { ...window, limitKw: uniformInt(random, 1, 22), priority: 1 };
    await world.call('POST', `/chargers/${locationId}-0/connectors/1/schedules`, lock);
  }
}

function tenantsOf(chargers: number, failsafeA: number): readonly TenantEntry[] {
  const connector = {
    connectorId: '1',
    phases: 3,
    voltageV: 230,
    maxCurrentA: 32,
    status: 'ACTIVE',
    failsafeA,
  };
  const locations = LOCATIONS.map((locationId) => ({
    ...{ locationId, name: locationId, status: 'ACTIVE', permanentLimitKw: 50, gridLimitKw: 80 },
    chargers: Array.from({ length: chargers }, (_, i) => ({
      controllerUuid: `${locationId}-${i}`,
      connectors: [connector],
    })),
  }));
  const tenantUuid = '0b6cf0c4-6d0f-4e0e-9f0a-5f6c3b1d2a10';
  const tenant = { tenantUuid, name: 'Hostile', features: ['energy-management'], apiKeys: [{}], locations };
  return parseProvisioning(JSON.stringify({ tenants: [tenant] }), 'hostile-hours').tenants;
}
