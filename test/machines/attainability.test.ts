// The look-ahead against an oracle that works out locks, needs and limits anew for every millisecond.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type ConnectorAhead,
  findShortfalls,
  type Shortfall,
  spansOfPermanentLimit,
  spansOfProfile,
} from '../../machines/limits/attainability.js';
import { clusterShareAhead, type ScaleStep } from '../../machines/limits/cluster-shares.js';
import {
  type LimitOutlook,
  type LimitSource,
  type LimitSources,
  limitsInForce,
  outlookLimits,
} from '../../machines/limits/limit-in-force.js';
import { ownLimits } from '../../machines/limits/own-limits.js';
import {
  EMPTY_STACK,
  type LimitProfile,
  type ProfileStack,
  putProfile,
} from '../../machines/limits/profile-stack.js';
import { MINIMUM_TENTHS_A, wattsOfLimit } from '../../machines/values/units.js';
import { eraMs, moved, profileWithin } from './arbitraries.js';
import { decidingAt, effectiveKwAt, type History } from './oracle.js';

const SPAN_MS = 40;
const LAST_MS = SPAN_MS + 20;
const MILLIWATTS = [23_000, 69_000, 75_900] as const;

const stackOf = (profiles: readonly LimitProfile[]) => profiles.reduce(putProfile, EMPTY_STACK);
const lockAround = (scaleKw: number) =>
  profileWithin(SPAN_MS).map((profile) => ({ ...profile, limitKw: 1 + (profile.limitKw % scaleKw) }));

/** A site that is short of power at times: a few connectors, and limits about as high as their minimums. */
const site = fc.record({
  era: eraMs,
  now: fc.integer({ min: -1, max: 30 }),
  own: fc.array(lockAround(25), { maxLength: 12 }),
  permanentLimitKw: fc.constantFrom(2, 5, 9, 14, 40),
  connectionLimitKw: fc.option(fc.constantFrom(4, 10, 30), { nil: undefined }),
  operatorEnd: fc.option(
    fc.oneof(fc.integer({ min: 0, max: LAST_MS }), fc.constant(Number.POSITIVE_INFINITY)),
    {
      nil: undefined,
    },
  ),
  // Unequal to any share, because another test covers the choice between equal limits.
  operatorKw: fc.constantFrom(3.3, 8.3, 20.7),
  buildingKw: fc.option(fc.constantFrom(3.7, 8.7, 20.3, 50.1), { nil: undefined }),
  windowEnd: fc.option(fc.integer({ min: 0, max: LAST_MS }), { nil: undefined }),
  shavedKw: fc.record({
    limitKw: fc.constantFrom(4.1, 12.9, 60.1),
    thenKw: fc.constantFrom(2.9, 11.3, 33.3),
  }),
  scales: fc.array(
    fc.array(fc.record({ atMs: fc.integer({ min: 0, max: LAST_MS }), scale: fc.constantFrom(0.2, 0.5, 1) }), {
      maxLength: 6,
    }),
    { maxLength: 2 },
  ),
  connectors: fc.array(
    fc.record({
      locks: fc.array(lockAround(12), { maxLength: 6 }),
      maxTenthsA: fc.constantFrom(60, 160, 320),
      milliwattsPerTenth: fc.constantFrom(...MILLIWATTS),
    }),
    { maxLength: 4 },
  ),
});
type Site = typeof site extends fc.Arbitrary<infer T> ? T : never;

/** The site at its era on the time axis. */
function build({
  era,
  now,
  own,
  connectors,
  scales,
  operatorEnd,
  operatorKw,
  buildingKw,
  windowEnd,
  shavedKw,
  ...rest
}: Site) {
  const stack = stackOf(own.map((profile) => moved(profile, era)));
  return {
    ...rest,
    operatorLimit:
      operatorEnd === undefined ? undefined : { limitKw: operatorKw, endsAtMs: era + operatorEnd },
    buildingKw,
    peakShaving: windowEnd === undefined ? undefined : { ...shavedKw, endsAtMs: era + windowEnd },
    now: era + now,
    stack,
    connectors: connectors.map(
      ({ locks, ...rating }): ConnectorAhead => ({
        ...rating,
        leastTenthsA: MINIMUM_TENTHS_A,
        stack: stackOf(locks.map((lock) => moved(lock, era))),
      }),
    ),
    clusters: scales.map((steps, i) => ({
      clusterId: `${i}`,
      steps: [
        { atMs: era - 10, scale: 1 },
        ...steps.map(({ atMs, scale }) => ({ atMs: era + atMs, scale })).sort((a, b) => a.atMs - b.atMs),
      ],
    })),
  };
}
type Built = ReturnType<typeof build>;

function sourcesOf(built: Built): LimitSources {
  const { stack, permanentLimitKw, clusters, operatorLimit, peakShaving, buildingKw, connectionLimitKw } =
    built;
  const own = ownLimits({ stack, permanentLimitKw, activeProfile: undefined });
  const connectionKw = buildingKw ?? connectionLimitKw;
  const connection =
    connectionKw === undefined ? undefined : { limitKw: connectionKw, endsAtMs: Number.POSITIVE_INFINITY };
  const source = (kind: 'operatorLimit' | 'peakShaving' | 'physicalConnection', outlook?: LimitOutlook) => {
    const limits = outlookLimits(outlook, { kind });
    return {
      name: kind,
      ...limits,
      lowestFrom: () => limits.current,
      explain: () => kind,
    } satisfies LimitSource;
  };
  return [
    own,
    ...clusters.map((cluster) => clusterShareAhead(cluster, own)),
    source('operatorLimit', operatorLimit),
    source('peakShaving', peakShaving),
    source('physicalConnection', connection),
  ];
}

const historyOf = (stack: ProfileStack, permanentLimitsKw: number[] = []): History => ({
  submissions: stack.map((profile) => ({ ...profile, atMs: 0, target: 'it' })),
  permanentLimitsKw,
});

/** The limit at `t` that no profile and no cluster can lift. undefined if none is known. */
function physicalOrOperatorsKw(
  { operatorLimit, peakShaving, buildingKw, connectionLimitKw }: Built,
  t: number,
): number | undefined {
  const operatorKw =
    operatorLimit !== undefined && t < operatorLimit.endsAtMs ? operatorLimit.limitKw : Infinity;
  const isFirst = peakShaving !== undefined && t < peakShaving.endsAtMs;
  const shavedKw = (isFirst ? peakShaving.limitKw : peakShaving?.thenKw) ?? Infinity;
  const leastKw = Math.min(operatorKw, shavedKw, buildingKw ?? connectionLimitKw ?? Infinity);
  return Number.isFinite(leastKw) ? leastKw : undefined;
}

/** Needs and limits at one instant, by the rules of the contract and the design, W. */
function needsAt(built: Built, t: number) {
  const own = effectiveKwAt(historyOf(built.stack, [built.permanentLimitKw]), 'it', t) ?? 0;
  const shares = built.clusters.map(
    ({ steps }) => own * (steps.findLast(({ atMs }) => atMs <= t)?.scale ?? 1),
  );
  const leastKw = Math.min(own, physicalOrOperatorsKw(built, t) ?? own, ...shares);
  const limitW = Math.floor(leastKw * 1000 + 1e-6);
  let [lockedFloorsW, locksW, floorsW] = [0, 0, 0];
  for (const { stack, maxTenthsA, milliwattsPerTenth } of built.connectors) {
    const floorW = Math.ceil((60 * milliwattsPerTenth) / 1000);
    floorsW += floorW;
    const lock = decidingAt(historyOf(stack), 'it', t);
    if (lock === undefined) continue;
    const tenthsA = Math.floor((Math.floor(lock.limitKw * 1000 + 1e-6) * 1000) / milliwattsPerTenth);
    lockedFloorsW += floorW;
    locksW += Math.max(floorW, Math.ceil((Math.min(tenthsA, maxTenthsA) * milliwattsPerTenth) / 1000));
  }
  if (lockedFloorsW > limitW) return { shortage: 'unattainable', neededW: lockedFloorsW, limitW };
  if (locksW > limitW) return { shortage: 'lastResort', neededW: locksW, limitW };
  if (floorsW > limitW) return { shortage: 'turns', neededW: floorsW, limitW };
  return undefined;
}

/** Compares `found` with the oracle at every millisecond for which `isAsked` returns true. */
function compare(found: readonly Shortfall[], built: Built, era: number, isAsked: (t: number) => boolean) {
  for (let t = era - 2; t <= era + LAST_MS; t++) {
    const needs = isAsked(t) ? needsAt(built, t) : undefined;
    const account = found.filter(({ startsAtMs, endsAtMs }) => startsAtMs <= t && t < endsAtMs);
    expect(account.map(({ shortage }) => shortage)).toEqual(needs === undefined ? [] : [needs.shortage]);
    const [named] = account;
    if (needs === undefined || named === undefined) continue;
    expect(named.neededW - named.limitW).toBeGreaterThanOrEqual(needs.neededW - needs.limitW);
  }
  for (const [i, { startsAtMs, endsAtMs, shortage, neededW, limitW }] of found.entries()) {
    expect(endsAtMs).toBeGreaterThan(startsAtMs);
    const before = found[i - 1];
    if (before !== undefined) expect(before.endsAtMs).toBeLessThanOrEqual(startsAtMs);
    expect(before?.endsAtMs === startsAtMs && before.shortage === shortage).toBe(false);
    const instants = Array.from({ length: LAST_MS + 3 }, (_, nth) => era - 2 + nth);
    const inside = instants.filter((t) => startsAtMs <= t && t < endsAtMs).map((t) => needsAt(built, t));
    expect(inside).toContainEqual({ shortage, neededW, limitW });
  }
}

describe('The shortage after a write', () => {
  it('of a profile is reported exactly where it or the replaced one decides, from now on', () => {
    const seen = new Set<string>();
    fc.assert(
      fc.property(site, profileWithin(SPAN_MS), (given, chosen) => {
        const before = build(given);
        const written = moved({ ...chosen, limitKw: 1 + (chosen.limitKw % 25) }, given.era);
        const built = { ...before, stack: putProfile(before.stack, written) };
        const replaced = before.stack.find(({ priority }) => priority === written.priority);
        const spans = spansOfProfile(built.stack, written, replaced, built.now);
        const found = findShortfalls(limitsInForce(sourcesOf(built), spans), built.connectors);
        compare(found, built, given.era, (t) => {
          const isIn = (profile: LimitProfile | undefined) =>
            profile !== undefined && profile.startsAtMs <= t && t < profile.endsAtMs;
          const deciding = decidingAt(historyOf(built.stack), 'it', t)?.priority ?? -1;
          return t >= built.now && (isIn(written) || isIn(replaced)) && deciding <= written.priority;
        });
        for (const { shortage } of found) seen.add(shortage);
      }),
      { numRuns: 400 },
    );
    expect([...seen].sort()).toEqual(['lastResort', 'turns', 'unattainable']);
  });

  it('of the permanent limit is reported exactly where no profile decides, from now on without end', () => {
    fc.assert(
      fc.property(site, (given) => {
        const built = build(given);
        const spans = spansOfPermanentLimit(built.stack, built.now);
        const found = findShortfalls(limitsInForce(sourcesOf(built), spans), built.connectors);
        compare(found, built, given.era, (t) => {
          return t >= built.now && decidingAt(historyOf(built.stack), 'it', t) === undefined;
        });
        const isShortAtLast = needsAt(built, given.era + LAST_MS) !== undefined;
        expect(found.at(-1)?.endsAtMs === Number.POSITIVE_INFINITY).toBe(isShortAtLast);
      }),
      { numRuns: 300 },
    );
  });

  it('names the cluster that sets the limit, and none where the location or its connection does', () => {
    fc.assert(
      fc.property(site, (given) => {
        const built = build(given);
        const ahead = [{ startsAtMs: given.era, endsAtMs: given.era + LAST_MS }];
        for (const { startsAtMs, endsAtMs, cause, limitKw } of limitsInForce(sourcesOf(built), ahead)) {
          for (let t = startsAtMs; t < endsAtMs; t++) {
            const own = effectiveKwAt(historyOf(built.stack, [built.permanentLimitKw]), 'it', t) ?? 0;
            const scaleOf = (steps: readonly ScaleStep[]) =>
              steps.findLast(({ atMs }) => atMs <= t)?.scale ?? 1;
            const without = Math.min(own, physicalOrOperatorsKw(built, t) ?? own);
            // Shares count in whole watts, as granted.
            const sharesW = built.clusters.map(({ steps }) => wattsOfLimit(own * scaleOf(steps)));
            const leastW = Math.min(...sharesW);
            const isBound = leastW < wattsOfLimit(without);
            expect(limitKw).toBe(isBound ? leastW / 1000 : without);
            const boundBy = cause.kind === 'clusterShare' ? cause.clusterId : undefined;
            expect(boundBy).toBe(isBound ? `${sharesW.indexOf(leastW)}` : undefined);
          }
        }
      }),
      { numRuns: 100 },
    );
  });
});

describe('Windows of a shortage', () => {
  const locked = (startsAtMs: number, endsAtMs: number, limitKw: number): ConnectorAhead => ({
    stack: [{ priority: 0, limitKw, startsAtMs, endsAtMs }],
    leastTenthsA: MINIMUM_TENTHS_A,
    maxTenthsA: 320,
    milliwattsPerTenth: 69_000,
  });
  const limit = (startsAtMs: number, endsAtMs: number, limitKw: number) => ({
    startsAtMs,
    endsAtMs,
    limitKw,
  });

  it('are half-open: a lock that ends as another begins is never locked with it', () => {
    const found = findShortfalls([limit(0, 30, 8)], [locked(0, 10, 4.2), locked(10, 20, 4.2)]);
    expect(found).toEqual([{ startsAtMs: 0, endsAtMs: 30, shortage: 'turns', neededW: 8280, limitW: 8000 }]);
    expect(findShortfalls([limit(0, 30, 8.28)], [locked(0, 10, 4.2), locked(10, 20, 4.2)])).toEqual([]);
  });

  it('go on over a change of the limit, and name the instant where most is missing', () => {
    const limits = [limit(0, 10, 3), limit(10, 20, 1), limit(20, 30, 2)];
    expect(findShortfalls(limits, [locked(5, 25, 4.2)])).toEqual([
      { startsAtMs: 0, endsAtMs: 5, shortage: 'turns', neededW: 4140, limitW: 3000 },
      { startsAtMs: 5, endsAtMs: 25, shortage: 'unattainable', neededW: 4140, limitW: 1000 },
      { startsAtMs: 25, endsAtMs: 30, shortage: 'turns', neededW: 4140, limitW: 2000 },
    ]);
  });

  it('count a lock at most at the maximum of its connector, and at least at its floor', () => {
    const most = 320 * 69;
    expect(findShortfalls([limit(0, 10, most / 1000)], [locked(0, 10, 500)])).toEqual([]);
    expect(findShortfalls([limit(0, 10, (most - 1) / 1000)], [locked(0, 10, 500)])).toMatchObject([
      { shortage: 'lastResort', neededW: most },
    ]);
    expect(findShortfalls([limit(0, 10, 4.139)], [locked(0, 10, 1)])).toMatchObject([
      { shortage: 'unattainable', neededW: 4140 },
    ]);
  });

  it('are none where nothing was asked about', () => {
    expect(findShortfalls([], [locked(0, 10, 500)])).toEqual([]);
  });
});
