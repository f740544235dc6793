// Hours in which everything goes wrong, drawn from a seed, and a while in which nothing does: what must hold then, too.
import { uniformInt } from 'pure-rand/distribution/uniformInt';
import { mersenne } from 'pure-rand/generator/mersenne';
import { STEADY_MS } from '../../machines/session/charger-clock.js';
import type { RareBranch } from '../checks/reached.js';
import type { TraceEvent } from '../trace/trace-event.js';
import { HostileOperator } from './hostile-operator.js';
import { type HostileSite, hostileSiteOf, YARD } from './hostile-site.js';
import { drawStrengths, Misfortune } from './misfortune.js';
import type { Violation } from './power-watch.js';
import { createWorld, type World } from './world.js';

/** Whom they befall, and for how long. */
export interface HostileSetting {
  /** At each of two locations of one tenant; there are a few elsewhere. */
  readonly chargers: number;
  readonly durationMs: number;
  /** Several that stand by for each other; one service if left out. */
  readonly nodes?: number | undefined;
  /** They share the tenants instead. */
  readonly isSharded?: boolean | undefined;
  /** Its chargers speak OCPP, and the gateway speaks for them. */
  readonly speaksOcpp?: boolean | undefined;
}

interface HostileOptions extends HostileSetting {
  readonly seed: number;
  /** It stops at the first violation. */
  readonly isFirstEnough?: boolean;
  readonly onEvent?: (event: TraceEvent) => void;
}

export interface HostileHours {
  readonly seed: number;
  readonly violations: readonly Violation[];
  readonly struck: Misfortune['struck'];
  readonly reached: ReadonlyMap<RareBranch, number>;
  readonly counts: World['counts'];
  /** How often a node became the one that runs. */
  readonly terms: number;
}

const START_MS = Date.parse('2026-06-01T00:00:00Z');
/** Once faults have stopped, all is well within this (P12). */
const HEALED_MS = 101_000;
/** A charger's clock that went wrong before is found out by then: both ends have noticed a dead connection, and made another. */
const CLOCKS_SEEN_MS = 30_000;
/** Power is looked at so often, for so long before that: turns pass from one car to another meanwhile. */
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
    const misfortune = new Misfortune(world, seed, drawStrengths(random, speaksOcpp));
    const actEveryMs = 1_000 * uniformInt(random, 60, 300);
    for (let passedMs = 0; passedMs < durationMs && !isOver(); passedMs += actEveryMs) {
      await world.advance(actEveryMs);
      await operator.act();
    }
    misfortune.end();
    await operator.leave();
    if (!isOver()) await heal(world, site);
    const { violations, counts, checks, terms } = world;
    return { seed, violations, struck: misfortune.struck, reached: checks.reached.counts, counts, terms };
  } finally {
    await world.close();
  }
}

/** Power is at its best where cars do not come and go: those leave none to compare with. */
async function heal(world: World, { locationIds, isHungry }: HostileSite): Promise<void> {
  const best = new Map((isHungry ? locationIds : []).map((locationId) => [locationId, 0]));
  await world.advance(CLOCKS_SEEN_MS);
  // Its lease is none before its clock has been steady for so long; all else follows from then on.
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
  // A charger may give up its lease as its car leaves, and has the next one within a second: one look is too few.
  for (const target of leaseless.filter((each) => before.has(each)))
    world.report({ invariant: 'P12', target, detail: 'it holds no lease though nothing went wrong lately' });
  for (const [target, share] of best) {
    if (share >= BEST_SHARE) continue;
    const detail = `it draws ${(100 * share).toFixed(1)} % of the best possible though nothing went wrong lately`;
    world.report({ invariant: 'P12', target, detail });
  }
}
