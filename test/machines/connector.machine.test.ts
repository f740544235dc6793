// One connector as a child of its location: locked by its profiles, and throttled and reachable according to its
// reports.
import { describe, expect, it } from 'vitest';
import { createActor, type InspectionEvent, type SnapshotFrom } from 'xstate';
import type { LimitProfile } from '../../machines/limits/profile-stack.js';
import {
  type ConnectorEvent,
  connectorMachine,
  LINKS,
  type Link,
} from '../../machines/power/connector.machine.js';
import type { LocationEffect } from '../../machines/power/location.machine.js';
import { locationMachine } from '../../machines/power/location.machine.js';
import { edgesOf, everyWalk, inTime, isLater, watchTransitions } from './graph-walk.js';
import { connectorWith, newSupervisor } from './location-parts.js';
import { cancelIn, decidingAt, type History } from './oracle.js';

const KEY = 'q1-a/1';
const LINK_EVENTS = ['meter.received', 'meter.missed', 'charger.connected', 'charger.disconnected'] as const;

/** The next state for each event. An absent event changes nothing. */
const NEXT_LINK: Readonly<Record<Link, Partial<Record<string, Link>>>> = {
  offline: { 'meter.received': 'online', 'charger.connected': 'stale' },
  stale: { 'meter.received': 'online', 'charger.disconnected': 'offline' },
  online: { 'meter.missed': 'stale', 'charger.disconnected': 'offline' },
};

type Throttle = 'idle' | 'charging' | 'paused';
const NEXT_THROTTLE: Readonly<Record<Throttle, Partial<Record<string, Throttle>>>> = {
  idle: { 'charging.allowed': 'charging' },
  charging: { 'charging.paused': 'paused', 'car.left': 'idle' },
  paused: { 'charging.allowed': 'charging', 'car.left': 'idle' },
};

const LOW = { priority: 0, limitKw: 10, startsAtMs: 100, endsAtMs: 200 };
const HIGH = { priority: 5, limitKw: 22, startsAtMs: 150, endsAtMs: 250 };
/** Takes the slot of LOW and is not active before 300. */
const LATER = { priority: 0, limitKw: 11, startsAtMs: 300, endsAtMs: 400 };

const submit = (profile: LimitProfile, now: number): ConnectorEvent => ({
  type: 'profile.submitted',
  profile,
  now,
});
const cancel = (priority: number, now: number): ConnectorEvent => ({
  type: 'profile.cancelled',
  priority,
  now,
});
const at = (now: number): ConnectorEvent => ({ type: 'boundary.reached', now });

const EVENTS: ConnectorEvent[] = [
  submit(LOW, 50),
  submit(LOW, 120),
  submit(HIGH, 150),
  submit(LATER, 150),
  cancel(0, 120),
  cancel(5, 150),
  ...[99, 100, 150, 199, 200, 250, 300, 400].map(at),
  { type: 'charging.allowed', nowMs: 0 },
  { type: 'charging.paused', nowMs: 0 },
  { type: 'car.left' },
  ...LINK_EVENTS.map((type) => ({ type })),
];

const graph = {
  input: { key: KEY, stack: [], now: 0 },
  events: EVENTS,
  isPossible: isLater,
  sentFor: (event: ConnectorEvent) => inTime(event),
  serializeState: ({ value, context }: SnapshotFrom<typeof connectorMachine>) =>
    JSON.stringify([value, context.stack, context.lockLimitKw]),
};

/** The machine alone for the graph, without a location above it. */
const alone = connectorMachine.provide({ actions: { reportLocked: () => {}, reportUnlocked: () => {} } });

function historyOf(events: readonly ConnectorEvent[]): History {
  const history: History = { submissions: [], permanentLimitsKw: [] };
  for (const event of events) {
    if (event.type === 'profile.submitted')
      history.submissions.push({ ...event.profile, atMs: event.now, target: KEY });
    if (event.type === 'profile.cancelled') cancelIn(history, KEY, event.priority);
  }
  return history;
}

/** The lock's limit and the last reports after `events`, by the contract. */
function expectedAfter(events: readonly ConnectorEvent[]) {
  let lockLimitKw: number | undefined;
  let throttle: Throttle = 'idle';
  let link: Link = 'offline';
  for (const [i, event] of events.entries()) {
    link = NEXT_LINK[link][event.type] ?? link;
    throttle = NEXT_THROTTLE[throttle][event.type] ?? throttle;
    if ('now' in event) lockLimitKw = decidingAt(historyOf(events.slice(0, i + 1)), KEY, event.now)?.limitKw;
  }
  return { lockLimitKw, throttle, link };
}

/** A location with this one connector, after `events`. */
function run(events: readonly ConnectorEvent[], inspect: (event: InspectionEvent) => void = () => {}) {
  const actor = createActor(locationMachine, {
    input: {
      permanentLimitKw: 50,
      stack: [],
      connectors: [connectorWith(KEY, [])],
      supervisor: newSupervisor(),
      now: 0,
      nowMs: 0,
    },
    inspect,
  });
  const effects: LocationEffect[] = [];
  actor.on('*', (effect) => effects.push(effect));
  actor.start();
  for (const event of events.flatMap(inTime)) actor.send({ type: 'connector.event', key: KEY, event });
  const connector = actor.getSnapshot().context.connectors.get(KEY);
  if (connector === undefined) throw new Error('the location has no connector');
  return { snapshot: connector.getSnapshot(), effects, location: actor.getSnapshot() };
}

describe('A connector', () => {
  const walks = everyWalk(alone, graph);

  it('can be in every combination of lock, throttle and link', () => {
    const { states, changes } = edgesOf(walks);
    const combinations = ['unlocked', 'locked'].flatMap((lock) =>
      (['idle', 'charging', 'paused'] as const).flatMap((throttle) =>
        LINKS.map((link) => ({ lock, throttle, link })),
      ),
    );
    expect(states.size).toBe(18);
    const expected = new Set<string>();
    for (const { lock, throttle, link } of combinations) {
      const other = lock === 'locked' ? 'unlocked' : 'locked';
      const from = `${lock}.${throttle}.${link}`;
      expected.add(`${from} → ${from}`).add(`${from} → ${other}.${throttle}.${link}`);
      for (const next of Object.values(NEXT_THROTTLE[throttle]))
        expected.add(`${from} → ${lock}.${next}.${link}`);
      for (const next of Object.values(NEXT_LINK[link]))
        expected.add(`${from} → ${lock}.${throttle}.${next}`);
    }
    expect(changes).toEqual(expected);
  });

  it('is as in the contract after every event in every state, and takes every transition it has', () => {
    const watch = watchTransitions(connectorMachine);
    for (const { events, to } of walks) {
      const { snapshot } = run(events, watch.inspect);
      const { lockLimitKw, throttle, link } = expectedAfter(events);
      expect(snapshot.value).toEqual(to.value);
      expect(snapshot.value).toEqual({
        lock: lockLimitKw === undefined ? 'unlocked' : 'locked',
        throttle,
        link,
      });
      expect(snapshot.context.lockLimitKw).toBe(lockLimitKw);
    }
    expect(watch.untaken()).toEqual([]);
    expect(watch.count).toBe(15);
  });

  it('notifies its location of every lock, of its limit, and of its end, each once (section 1)', () => {
    for (const { events } of walks) {
      const reported = run(events).effects.map((effect) =>
        effect.type === 'connector.locked' ? effect.limitKw : effect.type,
      );
      const sent = events.flatMap(inTime);
      const lockLimits = sent.map((_, i) => expectedAfter(sent.slice(0, i + 1)).lockLimitKw);
      const changes = lockLimits.filter(
        (limitKw, i) => limitKw !== (i === 0 ? undefined : lockLimits[i - 1]),
      );
      expect(reported).toEqual(changes.map((limitKw) => limitKw ?? 'connector.unlocked'));
    }
  });
});

describe('A lock of a connector (sections 1 and 3.1)', () => {
  const limitOf = (...events: ConnectorEvent[]) => run(events).snapshot.context.lockLimitKw;

  it('lasts from the start of its window to its end, to the millisecond', () => {
    expect([99, 100, 199, 200].map((now) => limitOf(submit(LOW, 50), at(now)))).toEqual([
      undefined,
      10,
      10,
      undefined,
    ]);
  });

  it('begins at once where the window has begun already', () => {
    expect(limitOf(submit(LOW, 120))).toBe(10);
  });

  it('has the limit of the highest active profile, and falls back to the next when it ends', () => {
    const both = [submit(LOW, 50), submit({ ...HIGH, endsAtMs: 180 }, 50)];
    expect([120, 150, 179, 180, 200].map((now) => limitOf(...both, at(now)))).toEqual([
      10,
      22,
      22,
      10,
      undefined,
    ]);
  });

  it('ends where its profile is replaced by one that has not begun', () => {
    expect(limitOf(submit(LOW, 120), submit(LATER, 130))).toBeUndefined();
  });

  it('ends where its profile is cancelled, or has the limit of the next', () => {
    const both = [submit(LOW, 50), submit(HIGH, 50), at(160)];
    expect(limitOf(...both, cancel(5, 170))).toBe(10);
    expect(limitOf(...both, cancel(5, 170), cancel(0, 170))).toBeUndefined();
    expect(run([...both, cancel(5, 170), cancel(0, 170)]).effects.at(-1)).toEqual({
      type: 'connector.unlocked',
      key: KEY,
    });
  });

  it('is there from the first if the rows have it at start', () => {
    const actor = createActor(locationMachine, {
      input: {
        permanentLimitKw: 50,
        stack: [],
        connectors: [connectorWith(KEY, [LOW])],
        supervisor: newSupervisor(),
        now: 150,
        nowMs: 0,
      },
    });
    const effects: LocationEffect[] = [];
    actor.on('*', (effect) => effects.push(effect));
    actor.start();
    expect(effects).toEqual([{ type: 'connector.locked', key: KEY, limitKw: 10 }]);
  });

  it('leaves the limit of the location alone', () => {
    expect(run([submit(LOW, 120)]).location.context.limit.effectiveLimitKw).toBe(50);
  });
});
