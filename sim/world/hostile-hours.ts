// Runs hours of faults drawn from a seed, and then a calm phase in which everything must recover.
import { uniformInt } from 'pure-rand/distribution/uniformInt';
import { mersenne } from 'pure-rand/generator/mersenne';
import { STEADY_MS } from '../../machines/session/charger-clock.js';
import type { RareBranch } from '../checks/reached.js';
import type { TraceEvent } from '../log/trace-event.js';
import { HostileOperator } from './hostile-operator.js';
import { type HostileSite, hostileSiteOf, YARD } from './hostile-site.js';
import type { Violation } from './power-watch.js';
import { drawStrengths, RandomFaults } from './random-faults.js';
import { createWorld, type World } from './world.js';

/** Size and length of the run. */
export interface HostileSetting {
  /** At each of two locations of one tenant; there are a few more elsewhere. */
  readonly chargers: number;
  readonly durationMs: number;
  /** Number of nodes that stand by for each other; one service if left out. */
  readonly nodes?: number | undefined;
  /** The nodes share the tenants instead of standing by. */
  readonly isSharded?: boolean | undefined;
  /** Most chargers use OCPP, through the gateway. */
  readonly speaksOcpp?: boolean | undefined;
}

interface HostileOptions extends HostileSetting {
  readonly seed: number;
  /** The run stops at the first violation. */
  readonly isFirstEnough?: boolean;
  readonly onEvent?: (event: TraceEvent) => void;
}

export interface HostileHours {
  readonly seed: number;
  readonly violations: readonly Violation[];
  readonly struck: RandomFaults['struck'];
  readonly reached: ReadonlyMap<RareBranch, number>;
  readonly counts: World['counts'];
  /** Number of times that a node became active. */
  readonly terms: number;
}

const START_MS = Date.parse('2026-06-01T00:00:00Z');
/** After the last fault everything recovers within this time (P12). */
const HEALED_MS = 101_000;
/**
 * By then the gateway has found a charger's clock that went wrong before: both ends have replaced a dead
 * connection.
 */
const CLOCKS_SEEN_MS = 30_000;
/** Interval of the last `LOOKS` samples of the power before that; meanwhile the rotation passes from car to car. */
const LOOK_EVERY_MS = 5_000;
const LOOKS = 9;
const BEST_SHARE = 0.95;

export async function runHostileHours(options: HostileOptions): Promise<HostileHours> {
  const {
    seed,
    chargers,
    durationMs,
    nodes,
    isSharded = false,
    speaksOcpp = false,
    isFirstEnough = false,
    onEvent,
  } = options;
  const random = mersenne(seed);
  const site = hostileSiteOf(seed, chargers, { speaksOcpp, hasNodes: nodes !== undefined });
  const { tenants, visitorsOf, traitsOf, ocppOf } = site;
  const world = await createWorld({
    tenants,
    seed,
    startMs: START_MS,
    visitorsOf,
    traitsOf,
    ocppOf,
    keepsMessages: true,
    ...(nodes === undefined ? {} : { nodes, isSharded }),
    ...(onEvent === undefined ? {} : { onEvent }),
  });
  const isOver = () => isFirstEnough && world.violations.length > 0;
  try {
    if (world.oracle.locationIds.includes(YARD)) world.watch.pardon(YARD);
    const operator = new HostileOperator(world, site, random);
    const randomFaults = new RandomFaults(world, seed, drawStrengths(random, speaksOcpp));
    const actEveryMs = 1_000 * uniformInt(random, 60, 300);
    for (let passedMs = 0; passedMs < durationMs && !isOver(); passedMs += actEveryMs) {
      await world.advance(actEveryMs);
      await operator.act();
    }
    randomFaults.end();
    await operator.leave();
    if (!isOver()) await heal(world, site);
    const { violations, counts, checks, terms } = world;
    return { seed, violations, struck: randomFaults.struck, reached: checks.reached.counts, counts, terms };
  } finally {
    await world.close();
  }
}

/** Power is compared with its best only if cars do not come and go; otherwise no best is known. */
async function heal(world: World, { locationIds, isHungry }: HostileSite): Promise<void> {
  const best = new Map((isHungry ? locationIds : []).map((locationId) => [locationId, 0]));
  await world.advance(CLOCKS_SEEN_MS);
  // The charger has no lease before its clock has been steady for `STEADY_MS`; the rest follows from then on.
  const isClockDoubted = world.runs.some(({ charger }) => charger.isClockDoubted === true);
  if (isClockDoubted) await world.advance(CLOCKS_SEEN_MS + STEADY_MS);
  await world.advance(HEALED_MS - CLOCKS_SEEN_MS - LOOKS * LOOK_EVERY_MS);
  let before = new Set<string>();
  let leaseless: readonly string[] = [];
  for (let look = 0; look < LOOKS; look++) {
    await world.advance(LOOK_EVERY_MS);
    before = new Set(leaseless);
    leaseless = locationIds.flatMap((locationId) => world.checks.recovery.leaseless(locationId));
    for (const [locationId, share] of best)
      best.set(locationId, Math.max(share, world.checks.recovery.shareOfBest(locationId)));
  }
  // A charger may give up its lease as its car leaves, and get the next one within a second: one sample is too few.
  for (const target of leaseless.filter((each) => before.has(each)))
    world.report({ invariant: 'P12', target, detail: 'it holds no lease though nothing went wrong lately' });
  for (const [target, share] of best) {
    if (share >= BEST_SHARE) continue;
    const detail = `it draws ${(100 * share).toFixed(1)} % of the best possible though nothing went wrong lately`;
    world.report({ invariant: 'P12', target, detail });
  }
}
