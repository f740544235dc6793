// State machine of one location: its profiles, its connectors and the limit in force (contract sections 1 and 3.1).
import { type ActorRefFrom, enqueueActions, setup } from 'xstate';
import { type BilledWindow, peakShaving } from '../limits/billed-window.js';
import type { BuildingLoad } from '../limits/building-load.js';
import { clusterShare, clusterShareName } from '../limits/cluster-shares.js';
import {
  dropSource,
  type GrantedShare,
  type LimitSource,
  type LimitSources,
  limitInForce,
  nextLimitChangeAfter,
  putSource,
  sourcesAt,
} from '../limits/limit-in-force.js';
import {
  nextOperatorBoundary,
  type OperatorActor,
  type OperatorEvent,
  type OperatorInput,
  type OperatorReport,
  operatorLimit,
  operatorMachine,
} from '../limits/lpc.machine.js';
import { ownLimits } from '../limits/own-limits.js';
import {
  activeProfileOf,
  type HolderEvent,
  holdStack,
  holdSubmitted,
  isAnyDue,
  notifyProfiles,
  type ProfileHolder,
  releaseCancelled,
  statusOf,
} from '../limits/profile.machine.js';
import {
  nextBoundaryAfter,
  type ProfileCrossing,
  type ProfileStack,
  profileAtPriority,
} from '../limits/profile-stack.js';
import {
  besideBuilding,
  isSameReport,
  nextSiteMeterBoundary,
  type SiteMeterActor,
  type SiteMeterEvent,
  type SiteMeterReport,
  siteMeterMachine,
  siteMeterReportOf,
} from '../limits/site-meter.machine.js';
import type { Policy } from '../policy/policies.js';
import type { NeedSource, SessionNeed } from '../policy/session-needs.js';
import type { EpochMs } from '../values/time.js';
import { type BuildingOnPhases, budgetOf, type Instant, type LimitedLocation } from './budget.js';
import { siteImportOf } from './chargers-draw.js';
import { turnOf } from './connector.js';
import {
  type ConnectorActor,
  type ConnectorEvent,
  type ConnectorInput,
  type ConnectorReport,
  connectorLogic,
} from './connector.machine.js';
import type { ProvisionedConnector } from './connector-registry.js';
import { type Fuses, NO_FUSES } from './fuses.js';
import type { Decision, LocationSupervisor } from './location-supervisor.js';

// Events that a location's machine receives, and effects that it emits.
export type LocationEvent =
  | HolderEvent
  | { readonly type: 'permanentLimit.set'; readonly limitKw: number; readonly now: EpochMs }
  | {
      readonly type: 'clusterShare.set';
      readonly clusterId: string;
      readonly share: GrantedShare | undefined;
    }
  /** A source declares the need of a connector's car; undefined withdraws its declarations. */
  | {
      readonly type: 'need.declared';
      readonly key: string;
      readonly source: NeedSource;
      readonly need: SessionNeed | undefined;
    }
  | { readonly type: 'connector.event'; readonly key: string; readonly event: ConnectorEvent }
  /** From the grid operator. */
  | { readonly type: 'operator.event'; readonly event: OperatorEvent }
  | OperatorReport
  /** From the location's meter. */
  | { readonly type: 'siteMeter.event'; readonly event: SiteMeterEvent }
  | SiteMeterReport
  | ConnectorReport
  /** Counts the site import if peak shaving limits the billed average: the meter has sent a reading. */
  | ({ readonly type: 'import.due' } & Instant)
  /** Requests a new decision on the division of power, under a limit that counts the site import until now. */
  | ({ readonly type: 'decision.due' } & Instant);

export type LocationEffect =
  | ({ readonly type: 'profile.crossed' } & ProfileCrossing)
  | ({ readonly type: 'profile.cancelled' } & ProfileCrossing)
  | { readonly type: 'effectiveLimit.changed'; readonly effectiveLimitKw: number }
  | { readonly type: 'limitInForce.changed'; readonly limitKw: number }
  | OperatorReport
  /** The state of the site meter, or the power that the building leaves, has changed. */
  | SiteMeterReport
  /** Peak shaving leaves another limit for the chargers. */
  | { readonly type: 'peakShaving.changed' }
  /** A car has other declared needs. */
  | { readonly type: 'need.changed'; readonly key: string }
  | ConnectorReport;

/** Result of a `decision.due`; each is an object of its own. */
export type DecisionOutcome =
  | (Decision & {
      readonly outcome: 'decided';
      /** The limit in force that the decision divides. */
      readonly limitKw: number;
    })
  /** A defect. Earlier grants are renewed no longer, and chargers fall back to their fail-safes. */
  | { readonly outcome: 'failed'; readonly error: unknown };

/** Input to build a connector as a part of its location. */
export type LocationConnector = ProvisionedConnector & Pick<ConnectorInput, 'stack'>;

export interface LocationContext extends ProfileHolder, LimitedLocation {
  readonly permanentLimitKw: number;
  /** Source of the grid operator's limit; undefined if no operator may limit the location. */
  readonly operator: OperatorActor | undefined;
  /** Meter of the building beside the chargers; undefined without one. */
  readonly siteMeter: SiteMeterActor | undefined;
  /** The last report of that meter. */
  readonly building: SiteMeterReport | undefined;
  /** Site import in the current billed window; undefined if the billed average is not limited. */
  readonly billedWindow: BilledWindow | undefined;
  /**
   * Readings, entitlements and targets of the connectors, which change with every message. The machine owns the
   * supervisor; other modules pass readings to it and read from it.
   */
  readonly supervisor: LocationSupervisor;
  /** The newest decision, for the sender of its `decision.due` to carry out; undefined before the first. */
  readonly decision: DecisionOutcome | undefined;
}

export interface LocationInput {
  readonly permanentLimitKw: number;
  /** Sources that the provisioning file alone sets, in the order of `SINGLE_CAUSES`. */
  readonly provisioned?: readonly LimitSource[];
  /** undefined if no grid operator may limit the location. */
  readonly operator?: Omit<OperatorInput, 'now'> | undefined;
  /** undefined without a building meter. Kept when the location is rebuilt. */
  readonly buildingLoad?: BuildingLoad | undefined;
  /** undefined if the billed average is not limited. Kept when the location is rebuilt. */
  readonly billedWindow?: BilledWindow | undefined;
  /** Order of service while power is short; omitted if all cars share equally. */
  readonly policy?: Policy | undefined;
  readonly stack: ProfileStack;
  readonly connectors: readonly LocationConnector[];
  /** Fuses of connection and feeders; omitted if unknown. */
  readonly fuses?: Fuses;
  /** Kept when the location is rebuilt. */
  readonly supervisor: LocationSupervisor;
  readonly now: EpochMs;
  /** The same instant on the monotonic clock. */
  readonly nowMs: number;
}

export type LocationActor = ActorRefFrom<typeof locationMachine>;

/** The first boundary after `now` of the location's profiles, its connectors' profiles, or its other limits. */
export function nextLocationBoundary(context: LocationContext, now: EpochMs): EpochMs | undefined {
  const { connectors, sources, operator, siteMeter } = context;
  let next: EpochMs | undefined;
  for (const connector of connectors.values()) {
    const { stack } = connector.getSnapshot().context;
    const boundary = nextBoundaryAfter(stack, now);
    if (boundary !== undefined && (next === undefined || boundary < next)) next = boundary;
  }
  const others = [
    nextLimitChangeAfter(sources, now),
    operator && nextOperatorBoundary(operator),
    siteMeter && nextSiteMeterBoundary(siteMeter),
  ];
  for (const boundary of others)
    if (boundary !== undefined && boundary > now && (next === undefined || boundary < next)) next = boundary;
  return next === Number.POSITIVE_INFINITY ? undefined : next;
}

/**
 * Creates an actor for each connector and registers it with the supervisor. Connectors that no longer exist are
 * removed.
 */
function placeConnectors(
  { connectors, fuses = NO_FUSES, supervisor, now, nowMs }: LocationInput,
  spawn: (input: ConnectorInput) => ConnectorActor,
): LocationContext['connectors'] {
  const actors = new Map<string, ConnectorActor>();
  supervisor.rewire(fuses);
  for (const { stack, ...connector } of connectors) {
    const { key } = connector;
    const held = supervisor.connectors.get(key);
    const actor = spawn({ key, stack, now, ...(held !== undefined && { turn: turnOf(held) }) });
    supervisor.place(connector, actor, nowMs);
    actors.set(key, actor);
  }
  supervisor.keepOnly(actors);
  return actors;
}

function onPhases(
  building: SiteMeterReport | undefined,
  load: BuildingLoad | undefined,
): BuildingOnPhases | undefined {
  const mostTenthsA = load?.occupied(1).occupiedTenthsA;
  if (building?.occupiedTenthsA === undefined || mostTenthsA === undefined) return undefined;
  return { nowTenthsA: building.occupiedTenthsA, mostTenthsA };
}

function peakShavingAt(
  window: BilledWindow,
  { building, siteMeter }: Pick<LocationContext, 'building' | 'siteMeter'>,
  now: EpochMs,
): LimitSource {
  const besideW = building === undefined ? 0 : building.buildingW + building.reserveW;
  const { maxBuildingKw = 0 } = siteMeter?.getSnapshot().context.load.rule ?? {};
  return peakShaving(window, besideW, 1000 * maxBuildingKw, now);
}

/** Arguments of `enqueueActions`, as far as limits need them. */
interface LimitArgs {
  readonly context: LocationContext;
  readonly enqueue: {
    assign(changes: Pick<LocationContext, 'sources' | 'limit'>): void;
    emit(effect: LocationEffect): void;
  };
}

/** Sources and limit change together: an event costs one copy of the context less. */
function setSources({ context, enqueue }: LimitArgs, sources: LimitSources): void {
  const limit = limitInForce(sources);
  enqueue.assign({ sources, limit });
  const { effectiveLimitKw, limitKw } = limit;
  if (effectiveLimitKw !== context.limit.effectiveLimitKw)
    enqueue.emit({ type: 'effectiveLimit.changed', effectiveLimitKw });
  if (limitKw !== context.limit.limitKw) enqueue.emit({ type: 'limitInForce.changed', limitKw });
}

/** Timed sources change at boundaries, as profiles do. */
function sourcesByProfiles(context: LocationContext, now: EpochMs): LimitSources {
  const { sources, stack, permanentLimitKw } = context;
  const own = ownLimits({ stack, activeProfile: activeProfileOf(context), permanentLimitKw });
  return sourcesAt(putSource(sources, own), now);
}

/** Limits the billed average, if the location has such a limit. */
function sourcesByPeakShaving(
  { context, enqueue }: LimitArgs,
  sources: LimitSources,
  now: EpochMs,
): LimitSources {
  if (context.billedWindow === undefined) return sources;
  const source = peakShavingAt(context.billedWindow, context, now);
  const before = sources.find(({ name }) => name === source.name)?.current;
  if (source.current?.limitKw !== before?.limitKw) enqueue.emit({ type: 'peakShaving.changed' });
  return putSource(sources, source);
}

export const locationMachine = setup({
  types: {
    context: {} as LocationContext,
    events: {} as LocationEvent,
    emitted: {} as LocationEffect,
    input: {} as LocationInput,
  },
  actions: {
    holdSubmitted: enqueueActions(({ event, ...holder }) => {
      if (event.type === 'profile.submitted') holdSubmitted(holder, event);
    }),
    releaseCancelled: enqueueActions(({ event, ...holder }) => {
      if (event.type !== 'profile.cancelled') return;
      const { context, enqueue } = holder;
      const profile = profileAtPriority(context.stack, event.priority);
      if (profile !== undefined)
        enqueue.emit({ type: 'profile.cancelled', profile, status: statusOf(context, profile) });
      releaseCancelled(holder, event);
    }),
    notifyProfiles: enqueueActions(({ event, ...holder }) => {
      if (event.type !== 'boundary.reached') return;
      for (const profile of notifyProfiles(holder, event))
        holder.enqueue.emit(({ context }) => ({
          type: 'profile.crossed',
          profile,
          status: statusOf(context, profile),
        }));
    }),
    passBoundaryOn: enqueueActions(({ context, event, enqueue }) => {
      if (event.type !== 'boundary.reached') return;
      for (const connector of context.connectors.values()) {
        if (isAnyDue(connector.getSnapshot().context, event.now)) enqueue.sendTo(connector, event);
      }
      const { operator, siteMeter } = context;
      if (operator !== undefined && (nextOperatorBoundary(operator) ?? event.now + 1) <= event.now)
        enqueue.sendTo(operator, event);
      if (siteMeter !== undefined && (nextSiteMeterBoundary(siteMeter) ?? event.now + 1) <= event.now)
        enqueue.sendTo(siteMeter, event);
    }),
    followSiteMeter: enqueueActions(({ context, event, enqueue }) => {
      if (event.type !== 'siteMeter.changed') return;
      const { building: before, siteMeter, sources } = context;
      const load = siteMeter?.getSnapshot().context.load;
      if (load === undefined) return;
      enqueue.assign({ building: event, buildingOnPhases: onPhases(event, load) });
      if (before === undefined || !isSameReport(before, event)) enqueue.emit(event);
      setSources({ context, enqueue }, putSource(sources, besideBuilding(event, load)));
    }),
    countImport: enqueueActions(({ context, event }) => {
      if (event.type !== 'import.due' && event.type !== 'decision.due') return;
      const { supervisor, siteMeter, building, billedWindow } = context;
      const load = siteMeter?.getSnapshot().context.load;
      billedWindow?.note(siteImportOf(supervisor, load, building, event), event.now);
    }),
    followPeakShaving: enqueueActions(({ event, ...args }) => {
      if (event.type !== 'import.due' && event.type !== 'decision.due') return;
      setSources(args, sourcesByPeakShaving(args, args.context.sources, event.now));
    }),
    forwardToSiteMeter: enqueueActions(({ context, event, enqueue }) => {
      if (event.type === 'siteMeter.event' && context.siteMeter !== undefined)
        enqueue.sendTo(context.siteMeter, event.event);
    }),
    forwardToOperator: enqueueActions(({ context, event, enqueue }) => {
      if (event.type === 'operator.event' && context.operator !== undefined)
        enqueue.sendTo(context.operator, event.event);
    }),
    setPermanentLimit: enqueueActions(({ event, enqueue }) => {
      if (event.type === 'permanentLimit.set') enqueue.assign({ permanentLimitKw: event.limitKw });
    }),
    setClusterShare: enqueueActions(({ event, ...args }) => {
      if (event.type !== 'clusterShare.set') return;
      const { clusterId, share } = event;
      const { sources } = args.context;
      setSources(
        args,
        share === undefined
          ? dropSource(sources, clusterShareName(clusterId))
          : putSource(sources, clusterShare(clusterId, share)),
      );
    }),
    followProfiles: enqueueActions(({ event, ...args }) => {
      if ('now' in event) setSources(args, sourcesByProfiles(args.context, event.now));
    }),
    followTime: enqueueActions(({ event, ...args }) => {
      if (event.type !== 'boundary.reached') return;
      setSources(args, sourcesByPeakShaving(args, sourcesByProfiles(args.context, event.now), event.now));
    }),
    followOperator: enqueueActions(({ context, enqueue }) =>
      setSources({ context, enqueue }, context.sources),
    ),
    declareNeed: enqueueActions(({ context: { supervisor }, event, enqueue }) => {
      if (event.type !== 'need.declared') return;
      const { key, source, need } = event;
      const connector = supervisor.connectors.get(key);
      if (connector === undefined) return;
      supervisor.declareNeed(connector, source, need);
      enqueue.emit({ type: 'need.changed', key });
    }),
    forwardToConnector: enqueueActions(({ context, event, enqueue }) => {
      if (event.type !== 'connector.event') return;
      const connector = context.connectors.get(event.key);
      if (connector !== undefined) enqueue.sendTo(connector, event.event);
    }),
    decide: enqueueActions(({ context, event, enqueue }) => {
      if (event.type !== 'decision.due') return;
      const { supervisor, connectors, limit } = context;
      try {
        const decision = supervisor.decide(budgetOf(context, event, supervisor.lookAhead), event.nowMs);
        const { grants, turns, nextAtMs, reservedChange, unattainable } = decision;
        // Each field by itself: a spread takes longer than the rest of the transition.
        const outcome = 'decided';
        const { limitKw } = limit;
        enqueue.assign({
          decision: { outcome, limitKw, grants, turns, nextAtMs, reservedChange, unattainable },
        });
        for (const { connector, event: turn } of turns) {
          const actor = connectors.get(connector.key);
          if (actor !== undefined) enqueue.sendTo(actor, turn);
        }
      } catch (error) {
        supervisor.expireBudget(Number.NEGATIVE_INFINITY);
        enqueue.assign({ decision: { outcome: 'failed', error } });
      }
    }),
    passOn: enqueueActions(({ event, enqueue }) => {
      if (event.type === 'connector.locked' || event.type === 'connector.unlocked') enqueue.emit(event);
      if (event.type === 'operator.changed') enqueue.emit(event);
    }),
  },
  guards: {
    isAverageLimited: ({ context }) => context.billedWindow !== undefined,
  },
}).createMachine({
  id: 'location',
  context: ({ input, spawn }) => {
    const { supervisor, permanentLimitKw, provisioned = [], buildingLoad, billedWindow, now } = input;
    const operator = input.operator && spawn(operatorMachine, { input: { ...input.operator, now } });
    const siteMeter = buildingLoad && spawn(siteMeterMachine, { input: { load: buildingLoad, now } });
    const building = siteMeter && siteMeterReportOf(siteMeter);
    const holder = holdStack(input.stack, now, spawn);
    const { stack, profiles, toldAtMs } = holder;
    const activeProfile = activeProfileOf(holder);
    const others: LimitSource[] = [];
    if (operator !== undefined) others.push(operatorLimit(operator));
    if (billedWindow !== undefined) others.push(peakShavingAt(billedWindow, { building, siteMeter }, now));
    others.push(...provisioned);
    if (building !== undefined && buildingLoad !== undefined)
      others.push(besideBuilding(building, buildingLoad));
    const sources = sourcesAt([ownLimits({ stack, activeProfile, permanentLimitKw }), ...others], now);
    return {
      sources,
      limit: limitInForce(sources),
      permanentLimitKw,
      stack,
      profiles,
      toldAtMs,
      operator,
      siteMeter,
      building,
      billedWindow,
      buildingOnPhases: onPhases(building, buildingLoad),
      policy: input.policy,
      supervisor,
      decision: undefined,
      connectors: placeConnectors(input, (connector) => spawn(connectorLogic, { input: connector })),
    };
  },
  on: {
    'profile.submitted': { actions: ['holdSubmitted', 'followProfiles'] },
    'profile.cancelled': { actions: ['releaseCancelled', 'followProfiles'] },
    'permanentLimit.set': { actions: ['setPermanentLimit', 'followProfiles'] },
    'boundary.reached': { actions: ['notifyProfiles', 'followTime', 'passBoundaryOn'] },
    'clusterShare.set': { actions: 'setClusterShare' },
    'need.declared': { actions: 'declareNeed' },
    'connector.event': { actions: 'forwardToConnector' },
    'operator.event': { actions: 'forwardToOperator' },
    'operator.changed': { actions: ['passOn', 'followOperator'] },
    'siteMeter.event': { actions: 'forwardToSiteMeter' },
    'siteMeter.changed': { actions: 'followSiteMeter' },
    'import.due': { actions: ['countImport', 'followPeakShaving'] },
    'connector.locked': { actions: 'passOn' },
    'connector.unlocked': { actions: 'passOn' },
    'decision.due': [
      { guard: 'isAverageLimited', actions: ['countImport', 'followPeakShaving', 'decide'] },
      { actions: 'decide' },
    ],
  },
});
