// One location: its permanent limit, its profiles, its shares of clusters and its connection together give its limit.
import { describe, expect, it, vi } from 'vitest';
import { createActor, type InspectionEvent, type SnapshotFrom } from 'xstate';
import { BilledWindow } from '../../machines/limits/billed-window.js';
import { BuildingLoad, type SiteMeterRule } from '../../machines/limits/building-load.js';
import { physicalConnection } from '../../machines/limits/own-limits.js';
import type { LimitProfile } from '../../machines/limits/profile-stack.js';
import { budgetOf } from '../../machines/power/budget.js';
import type { ConnectorEvent } from '../../machines/power/connector.machine.js';
import type { LocationEffect, LocationEvent } from '../../machines/power/location.machine.js';
import {
  type LocationInput,
  locationMachine,
  nextLocationBoundary,
} from '../../machines/power/location.machine.js';
import { everyWalk, inTime, isLater, watchTransitions } from './graph-walk.js';
import { connectorWith, newSupervisor } from './location-parts.js';
import { cancelIn, decidingAt, effectiveKwAt, type History, smallestOf } from './oracle.js';

const KEY = 'q1-a/1';
const PERMANENT_KW = 50;
const CONNECTION_KW = 80;

const LOW = { priority: 0, limitKw: 10, startsAtMs: 100, endsAtMs: 200 };
const HIGH = { priority: 10, limitKw: 90, startsAtMs: 150, endsAtMs: 250 };
/** Takes the slot of LOW and is not active before 300. */
const LATER = { priority: 0, limitKw: 20, startsAtMs: 300, endsAtMs: 400 };

const submit = (profile: LimitProfile, now: number): LocationEvent => ({
  type: 'profile.submitted',
  profile,
  now,
});
const cancel = (priority: number, now: number): LocationEvent => ({
  type: 'profile.cancelled',
  priority,
  now,
});
const at = (now: number): LocationEvent => ({ type: 'boundary.reached', now });
const permanent = (limitKw: number, now: number): LocationEvent => ({
  type: 'permanentLimit.set',
  limitKw,
  now,
});
const share = (clusterId: string, shareKw: number | undefined): LocationEvent => ({
  type: 'clusterShare.set',
  clusterId,
  share:
    shareKw === undefined
      ? undefined
      : { shareW: 1000 * shareKw, roomW: 1000 * shareKw, raisesToW: 1000 * shareKw },
});
const tell = (event: ConnectorEvent): LocationEvent => ({ type: 'connector.event', key: KEY, event });
const lock = (now: number) => tell({ type: 'profile.submitted', profile: LOW, now });
const lockEnds = (now: number) => tell({ type: 'boundary.reached', now });

const OPERATOR = { failsafeKw: 2, failsafeMinMs: 7_200_000, missingAfterMs: 120_000 };
const orderedBy = (limitKw: number | undefined, now = 100): LocationEvent => ({
  type: 'operator.event',
  event: {
    type: 'order.received',
    order: { source: 'DSO', limitKw, endsAtMs: undefined, sentAtMs: now },
    now,
  },
});

const NO_DRAW = { measured: 0, most: 0 };
const readAs = (powerW: number, now = 100): LocationEvent => ({
  type: 'siteMeter.event',
  event: {
    type: 'reading.received',
    reading: { atMs: now, powerW },
    chargers: { watts: NO_DRAW, amperes: [NO_DRAW, NO_DRAW, NO_DRAW], witnessedW: 0, reportedSinceMs: now },
    now,
  },
});
const newLoad = (more: Partial<SiteMeterRule> = {}) =>
  new BuildingLoad(
    { covers: 'building', maxBuildingKw: 60, reserveKw: [1, 5], pvRaisesHeadroom: false, ...more },
    { limitW: CONNECTION_KW * 1000, currentA: [120, 120, 120], voltageV: 230 },
    0,
  );

/** 20 kW on average over a minute. */
const newWindow = () => new BilledWindow({ limitKw: 20, windowMs: 60_000 }, 100_000, 0, undefined);

const EVENTS: LocationEvent[] = [
  submit(LOW, 50),
  submit(LOW, 120),
  submit(HIGH, 150),
  submit(LATER, 150),
  cancel(0, 120),
  cancel(10, 150),
  ...[99, 100, 150, 199, 200, 250, 300, 400].map(at),
  permanent(PERMANENT_KW, 120),
  permanent(10, 120),
  share('c1', 5),
  share('c1', undefined),
  share('c2', 15),
  { type: 'connector.event', key: 'unknown/1', event: { type: 'meter.received' } },
];

const locationInput = (): LocationInput => ({
  permanentLimitKw: PERMANENT_KW,
  provisioned: [physicalConnection(CONNECTION_KW)],
  stack: [],
  connectors: [connectorWith(KEY, [])],
  supervisor: newSupervisor(),
  now: 0,
  nowMs: 0,
});
const graph = {
  input: locationInput(),
  events: EVENTS,
  isPossible: isLater,
  sentFor: (event: LocationEvent) => inTime(event),
  serializeState: ({ value, context }: SnapshotFrom<typeof locationMachine>) =>
    JSON.stringify([
      value,
      context.stack,
      context.permanentLimitKw,
      context.limit.effectiveLimitKw,
      context.sources.flatMap(({ name, share }) => (share === undefined ? [] : [[name, share]])).sort(),
    ]),
};

/** The state after `events` by the contract, with all effects. */
function expectedAfter(events: readonly LocationEvent[]) {
  const history: History = { submissions: [], permanentLimitsKw: [PERMANENT_KW] };
  const sharesKw = new Map<string, number | undefined>();
  const effects: LocationEffect[] = [];
  let [effectiveLimitKw, gridLimitKw, state] = [PERMANENT_KW, PERMANENT_KW, 'permanent'];
  for (const event of events) {
    if (event.type === 'profile.submitted')
      history.submissions.push({ ...event.profile, atMs: event.now, target: 'quay-1' });
    if (event.type === 'profile.cancelled') cancelIn(history, 'quay-1', event.priority);
    if (event.type === 'permanentLimit.set') history.permanentLimitsKw.push(event.limitKw);
    if (event.type === 'clusterShare.set')
      sharesKw.set(event.clusterId, event.share && event.share.shareW / 1000);
    if ('now' in event) {
      const kw = effectiveKwAt(history, 'quay-1', event.now) ?? Number.NaN;
      state = decidingAt(history, 'quay-1', event.now) ? 'scheduled' : 'permanent';
      if (kw !== effectiveLimitKw) effects.push({ type: 'effectiveLimit.changed', effectiveLimitKw: kw });
      effectiveLimitKw = kw;
    }
    const gridKw = smallestOf(effectiveLimitKw, CONNECTION_KW, ...sharesKw.values());
    if (gridKw !== gridLimitKw) effects.push({ type: 'limitInForce.changed', limitKw: gridKw });
    gridLimitKw = gridKw;
  }
  return { effectiveLimitKw, gridLimitKw, state, effects };
}

/** A location after `events`, with its effects. */
function run(
  events: readonly LocationEvent[],
  options: { inspect?: (event: InspectionEvent) => void; from?: Partial<LocationInput> } = {},
) {
  const { inspect, from } = options;
  const actor = createActor(locationMachine, {
    input: { ...locationInput(), ...from },
    ...(inspect && { inspect }),
  });
  const effects: LocationEffect[] = [];
  actor.on('*', (effect) => effects.push(effect));
  actor.start();
  for (const event of events.flatMap(inTime)) actor.send(event);
  return { ...actor.getSnapshot(), effects };
}

const isLimitChange = ({ type }: LocationEffect) =>
  type === 'effectiveLimit.changed' || type === 'limitInForce.changed';

describe('A location', () => {
  const walks = everyWalk(locationMachine, graph);

  it('is as in the contract after every event in every state, and takes every transition it has', () => {
    const watch = watchTransitions(locationMachine);
    for (const { events } of walks) {
      const { context, effects } = run(events, { inspect: watch.inspect });
      const expected = expectedAfter(events.flatMap(inTime));
      expect(context.limit.cause.kind === 'profile').toBe(
        expected.state === 'scheduled' && expected.gridLimitKw === expected.effectiveLimitKw,
      );
      expect(context.limit.effectiveLimitKw).toBe(expected.effectiveLimitKw);
      expect(context.limit.limitKw).toBe(expected.gridLimitKw);
      // Each change is reported once, the location's own before its consequences.
      expect(effects.filter(isLimitChange)).toEqual(expected.effects);
    }
    run([lock(150), lockEnds(200), { type: 'decision.due', now: 200, nowMs: 200 }], {
      inspect: watch.inspect,
    });
    run([orderedBy(4)], {
      inspect: watch.inspect,
      from: { operator: { rule: OPERATOR, standing: undefined } },
    });
    run([readAs(20_000)], { inspect: watch.inspect, from: { buildingLoad: newLoad() } });
    run([{ type: 'need.declared', key: KEY, source: 'api', need: { priority: 1 } }], {
      inspect: watch.inspect,
    });
    const dueAt200: readonly LocationEvent[] = [
      { type: 'import.due', now: 200, nowMs: 200 },
      { type: 'decision.due', now: 200, nowMs: 200 },
    ];
    run(dueAt200, { inspect: watch.inspect, from: { billedWindow: newWindow() } });
    expect(watch.untaken()).toEqual([]);
    expect(watch.count).toBe(16);
  });
});

describe('The effective limit of a location (section 1)', () => {
  it('changes once at an instant at which one window ends and another starts', () => {
    const stack = [
      { priority: 0, limitKw: 10, startsAtMs: 200, endsAtMs: 300 },
      { priority: 5, limitKw: 30, startsAtMs: 100, endsAtMs: 200 },
    ];
    const { effects } = run([at(200)], { from: { stack, now: 150 } });
    expect(effects.filter(isLimitChange)).toEqual([
      { type: 'effectiveLimit.changed', effectiveLimitKw: 10 },
      { type: 'limitInForce.changed', limitKw: 10 },
    ]);
    expect(effects.flatMap((effect) => (effect.type === 'profile.crossed' ? [effect.status] : []))).toEqual([
      'EXPIRED',
      'ACTIVE',
    ]);
  });

  it('is sent to nobody if the same limit follows the ended one', () => {
    const stack = [
      { priority: 0, limitKw: 10, startsAtMs: 200, endsAtMs: 300 },
      { priority: 5, limitKw: 10, startsAtMs: 100, endsAtMs: 200 },
    ];
    const { effects, context } = run([at(200)], { from: { stack, now: 150 } });
    expect(effects.filter(isLimitChange)).toEqual([]);
    expect(context.limit.effectiveLimitKw).toBe(10);
  });

  it('does not change with a permanent limit set while a profile decides, and follows it afterwards', () => {
    const during = [submit(LOW, 120), permanent(33, 130)];
    expect(run(during).context.limit.effectiveLimitKw).toBe(10);
    expect(run([...during, at(200)]).context.limit.effectiveLimitKw).toBe(33);
  });

  it('falls back at once when the profile that decides is cancelled, and nothing is left of it', () => {
    const { context, effects, children } = run([submit(LOW, 120), submit(HIGH, 150), cancel(10, 160)]);
    expect(context.stack).toEqual([LOW]);
    expect([...context.profiles.keys()]).toEqual([0]);
    expect(Object.keys(children)).toHaveLength(2);
    expect(effects.slice(-3)).toEqual([
      { type: 'profile.cancelled', profile: HIGH, status: 'ACTIVE' },
      { type: 'effectiveLimit.changed', effectiveLimitKw: 10 },
      { type: 'limitInForce.changed', limitKw: 10 },
    ]);
    expect(nextLocationBoundary(context, 160)).toBe(LOW.endsAtMs);
  });

  it('stays when a profile that does not decide is cancelled, or one that is not there', () => {
    const before = [submit(LOW, 50), submit(HIGH, 150)];
    expect(run([...before, cancel(0, 160)]).context.limit.effectiveLimitKw).toBe(90);
    const { context, effects } = run([...before, cancel(7, 160)]);
    expect(context.stack).toEqual([LOW, HIGH]);
    expect(effects.some(({ type }) => type === 'profile.cancelled')).toBe(false);
  });

  it('never takes a profile from rows into play that is cancelled as its window begins', () => {
    const { context, children } = run([cancel(0, 120)], { from: { stack: [LOW] } });
    expect([context.stack, context.profiles.size, Object.keys(children).length]).toEqual([[], 0, 1]);
  });

  it('is right from the first where the rows are older than the process', () => {
    const { context, effects } = run([], { from: { stack: [LOW, HIGH], now: 150 } });
    expect(context.limit).toMatchObject({
      effectiveLimitKw: 90,
      limitKw: CONNECTION_KW,
      cause: { kind: 'physicalConnection' },
    });
    expect(effects).toEqual([]);
  });
});

describe('The grid limit of a location', () => {
  it('is the smallest of effective limit, shares of clusters and physical connection', () => {
    expect(run([]).context.limit.limitKw).toBe(PERMANENT_KW);
    expect(run([permanent(100, 1)]).context.limit.limitKw).toBe(CONNECTION_KW);
    expect(run([share('c1', 30), share('c2', 20)]).context.limit.limitKw).toBe(20);
    expect(run([share('c1', 30), share('c2', 20), share('c2', undefined)]).context.limit.limitKw).toBe(30);
    expect(run([share('c1', 30), submit(LOW, 120)]).context.limit.limitKw).toBe(10);
  });

  it('is the effective limit where no connection and no cluster bind it', () => {
    expect(run([permanent(400, 1)], { from: { provisioned: [] } }).context.limit.limitKw).toBe(400);
  });
});

describe('A location and its connectors', () => {
  it('passes on that a connector is locked and unlocked (section 3.1)', () => {
    expect(run([lock(150), lockEnds(200)]).effects).toEqual([
      { type: 'connector.locked', key: KEY, limitKw: 10 },
      { type: 'connector.unlocked', key: KEY },
    ]);
  });

  it('lets connectors cross their boundaries with its own', () => {
    const { effects } = run([lock(50), at(100), at(199), at(200), at(201)]);
    expect(effects.map(({ type }) => type)).toEqual(['connector.locked', 'connector.unlocked']);
  });

  it('returns the next boundary of all of them', () => {
    const { context } = run([lock(50), submit(LATER, 50)]);
    expect([50, 100, 200, 300, 400].map((now) => nextLocationBoundary(context, now))).toEqual([
      100,
      200,
      300,
      400,
      undefined,
    ]);
  });
});

describe('A location decides', () => {
  /** A location of 50 kW and a charger with a car, after a decision at each of `decideAtMs` on both clocks. */
  function decided(decideAtMs: readonly number[]) {
    const from = locationInput();
    const { supervisor } = from;
    const actor = createActor(locationMachine, { input: from });
    const effects: LocationEffect[] = [];
    actor.on('*', (effect) => effects.push(effect));
    actor.start();
    const connector = supervisor.connectors.get(KEY);
    if (connector === undefined) throw new Error('the supervisor does not know the connector');
    actor.send(tell({ type: 'meter.received' }));
    supervisor.meters.record(connector.telemetry.slot, READING, 0);
    supervisor.receive(connector, READING, { now: 0, nowMs: 0 });
    for (const nowMs of decideAtMs) actor.send({ type: 'decision.due', now: nowMs, nowMs });
    return { actor, effects, supervisor };
  }

  const READING = { powerW: 9_000, boot: 'b', hb: 1, status: 'Charging' } as const;

  it('when its event is due, by its limit and the reports of its connectors, and returns the messages as data', () => {
    const { actor, effects, supervisor } = decided([3_000]);
    expect(actor.getSnapshot().context.decision).toMatchObject({
      outcome: 'decided',
      limitKw: 50,
      grants: [{ connector: { key: KEY }, grant: { seq: 1, limitTenthsA: 320 } }],
      reservedChange: 'other',
    });
    expect(effects).toEqual([]);
    expect(supervisor.draw.now).toEqual({ actualW: 9_000, estimatedW: undefined });
    expect(supervisor.reservedW).toBeGreaterThan(20_000);
  });

  it('and reports it if its chargers may be entitled to less than before, or need more', () => {
    const { actor, supervisor } = decided([3_000]);
    supervisor.keepOnly(new Set());
    actor.send({ type: 'decision.due', now: 4_000, nowMs: 4_000 });
    expect(actor.getSnapshot().context.decision).toMatchObject({ grants: [], reservedChange: 'other' });
  });

  it('and a defect in that ends the earlier decisions, and nothing else', () => {
    const { actor, supervisor } = decided([3_000]);
    expect(supervisor.validUntilMs).toBe(Number.POSITIVE_INFINITY);
    const defect = new Error('a defect');
    vi.spyOn(supervisor.ledger, 'release').mockImplementationOnce(() => {
      throw defect;
    });
    actor.send({ type: 'decision.due', now: 4_000, nowMs: 4_000 });
    expect(actor.getSnapshot().context.decision).toEqual({ outcome: 'failed', error: defect });
    expect(supervisor.validUntilMs).toBe(Number.NEGATIVE_INFINITY);
    expect(actor.getSnapshot().status).toBe('active');
  });

  it('with its facts about its connectors before it was built anew', () => {
    const { supervisor } = decided([3_000]);
    const before = supervisor.connectors.get(KEY);
    const rebuilt = createActor(locationMachine, { input: { ...locationInput(), supervisor } }).start();
    expect(supervisor.connectors.get(KEY)).toBe(before);
    expect(before?.actor).toBe(rebuilt.getSnapshot().context.connectors.get(KEY));
    expect(before?.actor.getSnapshot().context.turn).toEqual({ onSinceMs: 3_000, pausedSinceMs: undefined });
    expect(supervisor.draw.now.actualW).toBe(9_000);
  });
});

describe('The grid operator', () => {
  const operator = { rule: OPERATOR, standing: undefined };
  const limitAfter = (...events: readonly LocationEvent[]) =>
    run(events, { from: { operator } }).context.limit;

  it('limits the location before its first word, to the fail-safe', () => {
    expect(limitAfter()).toMatchObject({ limitKw: 2, cause: { kind: 'operatorLimit' } });
  });

  it('is lifted by no priority, no permanent limit and no share', () => {
    const limit = limitAfter(orderedBy(4), submit(HIGH, 150), permanent(500, 150), share('c1', 300));
    expect(limit).toMatchObject({ limitKw: 4, cause: { kind: 'operatorLimit' } });
  });

  it("leaves lower limits alone, and the contract's effective limit always", () => {
    expect(limitAfter(orderedBy(4), share('c1', 3))).toMatchObject({ limitKw: 3 });
    expect(limitAfter(orderedBy(4)).effectiveLimitKw).toBe(PERMANENT_KW);
  });

  it('frees the location at the millisecond of the final loss, or later at its report', () => {
    expect(limitAfter(orderedBy(4), orderedBy(undefined, 150)).limitKw).toBe(PERMANENT_KW);
    expect(limitAfter(at(119_999)).limitKw).toBe(2);
    expect(limitAfter(at(120_000)).limitKw).toBe(PERMANENT_KW);
  });

  it('emits each change once, before the limit that follows', () => {
    const { effects } = run([orderedBy(4), orderedBy(4)], { from: { operator } });
    expect(effects).toEqual([
      expect.objectContaining({
        type: 'operator.changed',
        standing: expect.objectContaining({ state: 'init' }),
      }),
      expect.objectContaining({
        type: 'operator.changed',
        standing: expect.objectContaining({ state: 'limited' }),
      }),
      { type: 'limitInForce.changed', limitKw: 4 },
    ]);
  });
});

describe("The site's meter", () => {
  const limitAfter = (...events: readonly LocationEvent[]) =>
    run(events, { from: { buildingLoad: newLoad() } }).context.limit;

  it('limits the location before its first reading, to the rest beside the building at its maximum', () => {
    expect(limitAfter()).toMatchObject({ limitKw: 20, cause: { kind: 'building' } });
  });

  it('is lifted by no priority, no permanent limit and no share', () => {
    const limit = limitAfter(readAs(50_000), submit(HIGH, 150), permanent(500, 150), share('c1', 300));
    expect(limit).toMatchObject({ limitKw: 25, cause: { kind: 'building' } });
  });

  it("leaves lower limits alone, and the contract's effective limit always", () => {
    expect(limitAfter(readAs(50_000), share('c1', 3))).toMatchObject({ limitKw: 3 });
    expect(limitAfter(readAs(10_000))).toMatchObject({
      limitKw: PERMANENT_KW,
      effectiveLimitKw: PERMANENT_KW,
    });
  });

  it('uses nothing of the export, or all, as provisioned; then more than the connection may be used', () => {
    const fedBack = (pvRaisesHeadroom: boolean) =>
      run([readAs(-30_000), permanent(500, 150)], {
        from: { buildingLoad: newLoad({ pvRaisesHeadroom }), provisioned: [] },
      });
    expect(fedBack(false).context.limit.limitKw).toBe(75);
    expect(fedBack(true).context.limit.limitKw).toBe(105);
  });

  it('emits each change once, before the limit that follows', () => {
    const { effects } = run([readAs(50_000), readAs(50_000, 150)], { from: { buildingLoad: newLoad() } });
    expect(effects).toEqual([
      expect.objectContaining({ type: 'siteMeter.changed', state: 'fresh', headroomW: 25_000 }),
      { type: 'limitInForce.changed', limitKw: 25 },
    ]);
  });

  it('goes on after the location is built anew, with its readings', () => {
    const buildingLoad = newLoad();
    run([readAs(50_000)], { from: { buildingLoad } });
    expect(run([], { from: { buildingLoad, now: 200 } }).context.limit.limitKw).toBe(25);
    expect(run([], { from: { buildingLoad, now: 30_100 } }).context.limit.limitKw).toBe(20);
  });
});

describe('A location whose average import is limited', () => {
  const limitAfter = (...events: LocationEvent[]) =>
    run(events, { from: { billedWindow: newWindow() } }).context.limit;

  it('has the rest of the window as its limit, whatever asks for more', () => {
    // Uncounted time counts with the highest import of the site.
    expect(limitAfter(permanent(500, 120))).toMatchObject({ limitKw: 19.8, cause: { kind: 'peakShaving' } });
    expect(limitAfter(permanent(10, 120))).toMatchObject({ limitKw: 10, cause: { kind: 'permanentLimit' } });
  });

  it('has more where nothing was imported, once that is counted, and the average again in the next window', () => {
    const due = (now: number): LocationEvent => ({ type: 'import.due', now, nowMs: now });
    const counted = [permanent(500, 120), due(200), due(10_000), due(20_000), due(30_000)];
    expect(limitAfter(...counted).limitKw).toBeGreaterThan(30);
    expect(limitAfter(...counted, at(60_000)).limitKw).toBe(20);
  });

  it('decides under the import counted until then, in one transition', () => {
    const due: LocationEvent = { type: 'decision.due', now: 20_000, nowMs: 20_000 };
    const { context, effects } = run([permanent(500, 120), due], { from: { billedWindow: newWindow() } });
    expect(effects.at(-1)).toEqual({ type: 'limitInForce.changed', limitKw: context.limit.limitKw });
    expect(context.decision).toMatchObject({ outcome: 'decided', limitKw: context.limit.limitKw });
  });

  it('has leases end before the next window, and keeps to its first limit from a notice before on', () => {
    const { context } = run([permanent(500, 120)], { from: { billedWindow: newWindow() } });
    const location = { ...context, limit: { ...context.limit, limitKw: 70 }, peakShavingKw: 70 };
    const budgetAt = (now: number) =>
      budgetOf(location, { now, nowMs: now }, { noticeMs: 15_000, horizonMs: 40_000 });
    expect(budgetAt(10_000)).toMatchObject({ budgetW: 70_000, fall: undefined });
    expect(budgetAt(20_000)).toMatchObject({
      budgetW: 70_000,
      fall: { budgetW: 20_000, bindsFromMs: 60_000 },
    });
    expect(budgetAt(45_000)).toMatchObject({ budgetW: 20_000, fall: undefined });
  });
});
