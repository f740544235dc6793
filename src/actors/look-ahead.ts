// Preview after a write: the caller and the log receive advice if locks or 6 A floors will not fit.
import {
  type ConnectorAhead,
  findShortfalls,
  SHORTAGES,
  type Shortage,
  type Shortfall,
} from '../../machines/limits/attainability.js';
import {
  type ClusterOutlook,
  clusterScale,
  clusterShareAhead,
  type ScaleStep,
} from '../../machines/limits/cluster-shares.js';
import { type LimitCause, type LimitSources, limitsInForce } from '../../machines/limits/limit-in-force.js';
import { ownLimits } from '../../machines/limits/own-limits.js';
import {
  compositeTimeline,
  type LimitProfile,
  type ProfileStack,
} from '../../machines/limits/profile-stack.js';
import { floorWOf } from '../../machines/power/connector.js';
import type { ConnectorAddress } from '../../machines/values/ids.js';
import type { EpochMs, TimeWindow } from '../../machines/values/time.js';
import { wattsOfLimit } from '../../machines/values/units.js';
import { toInstant } from '../wire/instants.js';
import type { Advise, Core } from './core.js';
import {
  type ClusterEntity,
  type ConnectorEntity,
  connectorStackOf,
  type LocationEntity,
} from './directory.js';

// Scales of a cluster over time, from the windows of all its members as far as known now.

// Sums are kept in whole milliwatts, so that additions and subtractions in any order end at the same number.
const MW_PER_KW = 1_000_000;

/** Assumed limits of `location`; all other locations keep their own. */
export interface Assumption {
  readonly location: LocationEntity;
  readonly stack: ProfileStack;
  readonly permanentLimitKw: number;
}

/** Sources of a location over time: its clusters share by the windows of all their members. */
export function sourcesAhead(
  { actor }: LocationEntity,
  clusters: readonly ClusterOutlook[],
  assumption?: Assumption,
): LimitSources {
  const [held, ...others] = actor.getSnapshot().context.sources;
  const own = assumption === undefined ? held : ownLimits({ ...assumption, activeProfile: undefined });
  const shares = clusters.map((cluster) => clusterShareAhead(cluster, own));
  return [own, ...shares, ...others.filter(({ share }) => share === undefined)];
}

/** Scales inside `window` in order, the first at its start; one step of 1 if the cluster lowers no member. */
export function clusterScales(
  { record, actor, members }: ClusterEntity,
  window: TimeWindow,
  assumption?: Assumption,
): ClusterOutlook {
  const { clusterId } = record;
  const { value, context } = actor.getSnapshot();
  const { limitKw: capKw } = context;
  if (value === 'inactive' || capKw === null)
    return { clusterId, steps: [{ atMs: window.startsAtMs, scale: 1 }] };
  const changes = new Map<EpochMs, number>();
  for (const member of members) {
    const { stack, permanentLimitKw } =
      assumption?.location === member ? assumption : member.actor.getSnapshot().context;
    let beforeMw = 0;
    for (const { startsAtMs, limitKw } of compositeTimeline(stack, permanentLimitKw, window)) {
      const limitMw = Math.round((limitKw ?? 0) * MW_PER_KW);
      changes.set(startsAtMs, (changes.get(startsAtMs) ?? 0) + limitMw - beforeMw);
      beforeMw = limitMw;
    }
  }
  const steps: ScaleStep[] = [];
  let sumMw = 0;
  for (const [atMs, changeMw] of [...changes].sort(([a], [b]) => a - b)) {
    sumMw += changeMw;
    const scale = clusterScale(capKw, sumMw / MW_PER_KW);
    if (scale !== steps.at(-1)?.scale) steps.push({ atMs, scale });
  }
  return { clusterId, steps };
}

// Advice for the caller of a write that leads to a shortage of power: one sentence for each kind, the worst first.

/** A location and its shortfalls; at least one. */
interface Finding {
  readonly locationId: string;
  readonly shortfalls: readonly Shortfall[];
}

const NEEDS: Readonly<Record<Shortage, readonly [needs: string, consequence: string]>> = {
  unattainable: ['the 6 A minimum of locked connectors needs', 'it cannot be kept (LIMIT_UNATTAINABLE)'],
  lastResort: ['the locks may use', 'locked connectors will be throttled'],
  turns: ['the 6 A minimum of all connectors needs', 'connectors will take turns'],
};

/** The shortfall to name first: the earliest one of the worst kind. */
function worstOf(shortfalls: readonly Shortfall[]): Shortfall | undefined {
  for (const shortage of SHORTAGES) {
    const worst = shortfalls.find((shortfall) => shortfall.shortage === shortage);
    if (worst !== undefined) return worst;
  }
  return undefined;
}

/** ASCII, with the most important words first. `findings` begin with the worst. */
function adviceOn(findings: readonly Finding[], lookedAt: number): string {
  const [worst] = findings;
  if (worst === undefined) return '';
  const advice = `${worst.locationId}: ${sentencesOn(worst.shortfalls)}`;
  return lookedAt === 1 ? advice : `${findings.length} of ${lookedAt} locations, the worst is ${advice}`;
}

/** Advice on a lock below the minimum of `minimumW`. ASCII. */
function adviceOnLock(
  { controllerUuid, connectorId }: Pick<ConnectorAddress, 'controllerUuid' | 'connectorId'>,
  limitKw: number,
  minimumW: number,
): string {
  return (
    `${controllerUuid}/${connectorId}: the lock of ${limitKw} kW is less than the 6 A minimum of the connector, ` +
    `${minimumW / 1000} kW: its car may draw that much`
  );
}

function sentencesOn(shortfalls: readonly Shortfall[]): string {
  const sentences = SHORTAGES.flatMap((shortage) => {
    const alike = shortfalls.filter((shortfall) => shortfall.shortage === shortage);
    const [first] = alike;
    if (first === undefined) return [];
    const [needs, consequence] = NEEDS[shortage];
    const more = alike.length > 1 ? ` (the first of ${alike.length} windows)` : '';
    const { neededW, limitW } = first;
    return `${spanOf(first)}${more} ${needs} ${neededW / 1000} kW, the limit is ${limitW / 1000} kW: ${consequence}`;
  });
  return sentences.join('; ');
}

function spanOf({ startsAtMs, endsAtMs }: TimeWindow): string {
  const until = Number.isFinite(endsAtMs) ? `until ${toInstant(endsAtMs)}` : 'on';
  return `from ${toInstant(startsAtMs)} ${until}`;
}

/** A location, and the spans in which a write can have changed its limits: from now on, in order. */
export interface Outlook {
  readonly location: LocationEntity;
  readonly spans: readonly TimeWindow[];
}

// The preview of a cluster of a thousand locations with eleven windows each would take seconds, so it ends earlier.
const MOST_STEPS = 100_000;

/** Also advises on a lock below the smallest limit that a car can be offered: such a limit will not be kept. */
export function adviseOnLock(
  core: Core,
  { record, control, location }: ConnectorEntity,
  { limitKw }: LimitProfile,
  outlook: Outlook,
  advise: Advise,
): void {
  const told: string[] = [];
  const minimumW = floorWOf(control);
  if (wattsOfLimit(limitKw) < minimumW) {
    const advice = adviceOnLock(record, limitKw, minimumW);
    const { tenantUuid } = location.tenant;
    core.log.warn(
      { tenantUuid, locationId: location.record.locationId, advice },
      'a written limit does not fit',
    );
    told.push(advice);
  }
  adviseOn(core, [outlook], (advice) => told.push(advice));
  if (told.length > 0) advise(told.join('; '));
}

/** Advises if a cluster that was just written sets a limit that its members' locks or floors will not fit. */
export function adviseOnCluster(core: Core, cluster: ClusterEntity, advise: Advise): void {
  if (cluster.record.status !== 'ACTIVE' || cluster.record.limitKw === null) return;
  const spans = [{ startsAtMs: core.clock.nowMs(), endsAtMs: Number.POSITIVE_INFINITY }];
  const outlooks = [...cluster.members].map((location) => ({ location, spans }));
  const { clusterId } = cluster.record;
  adviseOn(core, outlooks, advise, (cause) => cause.kind === 'clusterShare' && cause.clusterId === clusterId);
}

/**
 * Advises if locks or floors of the locations will not fit inside their spans.
 * @param isConcerned selects limits by their cause; all without it
 */
export function adviseOn(
  core: Core,
  outlooks: readonly Outlook[],
  advise: Advise,
  isConcerned?: (cause: LimitCause) => boolean,
): void {
  const shares = sharesAhead(outlooks);
  const findings: Finding[] = [];
  for (const { location, spans } of outlooks) {
    const clusters = [...location.clusters].flatMap((cluster) => shares.scales.get(cluster) ?? []);
    const { locationId } = location.record;
    const looked = shares.untilMs === Number.POSITIVE_INFINITY ? spans : cutOff(spans, shares.untilMs);
    const limits = limitsInForce(sourcesAhead(location, clusters), looked);
    const concerned = isConcerned === undefined ? limits : limits.filter(({ cause }) => isConcerned(cause));
    const shortfalls = findShortfalls(concerned, connectorsOf(location));
    if (shortfalls.length > 0) findings.push({ locationId, shortfalls });
  }
  findings.sort(byBadness);
  const worst = findings[0] && worstOf(findings[0].shortfalls);
  if (worst === undefined) return;
  const advice = adviceOn(findings, outlooks.length);
  const { shortage, startsAtMs, endsAtMs } = worst;
  core.log.warn(
    {
      tenantUuid: outlooks[0]?.location.tenant.tenantUuid,
      locationIds: findings.slice(0, MOST_LOGGED).map(({ locationId }) => locationId),
      locations: findings.length,
      shortage,
      from: toInstant(startsAtMs),
      to: Number.isFinite(endsAtMs) ? toInstant(endsAtMs) : null,
      advice,
    },
    'a written limit does not fit',
  );
  advise(advice);
}

const MOST_LOGGED = 10;

/** Scales of all clusters of the locations, each computed once, and the end of the preview. */
function sharesAhead(outlooks: readonly Outlook[]): {
  readonly scales: ReadonlyMap<ClusterEntity, ClusterOutlook>;
  readonly untilMs: EpochMs;
} {
  const window = { startsAtMs: Number.POSITIVE_INFINITY, endsAtMs: Number.NEGATIVE_INFINITY };
  for (const { spans } of outlooks) {
    window.startsAtMs = Math.min(window.startsAtMs, spans[0]?.startsAtMs ?? window.startsAtMs);
    window.endsAtMs = Math.max(window.endsAtMs, spans.at(-1)?.endsAtMs ?? window.endsAtMs);
  }
  const scales = new Map<ClusterEntity, ClusterOutlook>();
  let untilMs = Number.POSITIVE_INFINITY;
  for (const { location } of outlooks) {
    for (const cluster of location.clusters) {
      if (scales.has(cluster)) continue;
      const outlook = clusterScales(cluster, window);
      scales.set(cluster, outlook);
      untilMs = Math.min(untilMs, outlook.steps[Math.ceil(MOST_STEPS / outlooks.length)]?.atMs ?? untilMs);
    }
  }
  return { scales, untilMs };
}

function cutOff(spans: readonly TimeWindow[], untilMs: EpochMs): readonly TimeWindow[] {
  return spans
    .map(({ startsAtMs, endsAtMs }) => ({ startsAtMs, endsAtMs: Math.min(endsAtMs, untilMs) }))
    .filter(({ startsAtMs, endsAtMs }) => startsAtMs < endsAtMs);
}

/** Active connectors, with powers as enforcement counts them. */
function connectorsOf(location: LocationEntity): readonly ConnectorAhead[] {
  const connectors: ConnectorAhead[] = [];
  for (const { control } of location.connectors.values()) {
    const { key, account } = control;
    const { spec } = control.provisioned;
    if (!spec.isActive) continue;
    const { leastTenthsA, maxTenthsA, milliwattsPerTenth } = account;
    const stack = connectorStackOf(location, key);
    connectors.push({ stack, leastTenthsA, maxTenthsA, milliwattsPerTenth });
  }
  return connectors;
}

function byBadness(a: Finding, b: Finding): number {
  const [worstA, worstB] = [worstOf(a.shortfalls), worstOf(b.shortfalls)];
  if (worstA === undefined || worstB === undefined) return 0;
  return (
    SHORTAGES.indexOf(worstA.shortage) - SHORTAGES.indexOf(worstB.shortage) ||
    worstA.startsAtMs - worstB.startsAtMs
  );
}
