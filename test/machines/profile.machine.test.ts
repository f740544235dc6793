// The lifecycle of one profile: forward through its states as time passes.
import { getSimplePaths } from '@xstate/graph';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createActor, type InspectionEvent } from 'xstate';
import { type BoundaryReached, profileMachine } from '../../machines/limits/profile.machine.js';
import { edgesOf, everyWalk, watchTransitions } from './graph-walk.js';
import { type Phase, phaseAt } from './oracle.js';

const WINDOW = { startsAtMs: 100, endsAtMs: 200 };
const BEFORE = 50;
const at = (now: number): BoundaryReached => ({ type: 'boundary.reached', now });
const graph = {
  input: { window: WINDOW, now: BEFORE },
  events: [BEFORE, 99, 100, 150, 199, 200, 1e13].map(at),
  serializeState: ({ value }: { value: unknown }) => String(value),
};

const ORDER: readonly Phase[] = ['SCHEDULED', 'ACTIVE', 'EXPIRED'];

/** The furthest phase reached so far, by section 3.1. */
function stateAfter(events: readonly BoundaryReached[], bornAtMs: number): string {
  const submission = { atMs: 0, target: 'quay-1', priority: 0, limitKw: 1, ...WINDOW };
  const instants = [bornAtMs, ...events.map(({ now }) => now)];
  const furthest = Math.max(...instants.map((t) => ORDER.indexOf(phaseAt(submission, t))));
  return (ORDER[furthest] ?? '').toLowerCase();
}

function run(
  events: readonly BoundaryReached[],
  now: number,
  inspect: (event: InspectionEvent) => void = () => {},
) {
  const actor = createActor(profileMachine, { input: { window: WINDOW, now }, inspect }).start();
  for (const event of events) actor.send(event);
  return actor.getSnapshot();
}

describe('A profile (section 3.1)', () => {
  it('goes SCHEDULED, ACTIVE, EXPIRED and never back', () => {
    const { states, changes } = edgesOf(everyWalk(profileMachine, graph));
    expect(states).toEqual(new Set(['scheduled', 'active', 'expired']));
    expect(changes).toEqual(
      new Set([
        'scheduled → scheduled',
        'scheduled → active',
        'scheduled → expired',
        'active → active',
        'active → expired',
        'expired → expired',
      ]),
    );
  });

  it("is in the contract's state after every event in every state, and takes every transition it has", () => {
    const watch = watchTransitions(profileMachine);
    for (const { events } of everyWalk(profileMachine, graph)) {
      expect(run(events, BEFORE, watch.inspect).value).toBe(stateAfter(events, BEFORE));
    }
    expect(watch.untaken()).toEqual([]);
    expect(watch.count).toBe(3);
  });

  it("is in the contract's state along every simple path, and goes on living in every state", () => {
    const paths = getSimplePaths(profileMachine, graph);
    expect(paths.length).toBeGreaterThan(5);
    for (const { steps } of paths) {
      const events = steps.slice(1).map(({ event }) => event);
      const snapshot = run(events, BEFORE);
      expect(snapshot.value).toBe(stateAfter(events, BEFORE));
      expect(snapshot.status).toBe('active');
    }
  });

  it.each([
    [99, 'scheduled'],
    [100, 'active'],
    [199, 'active'],
    [200, 'expired'],
  ])('that comes into being at %i ms of a window from 100 to 200 is %s at once', (now, state) => {
    expect(run([], now).value).toBe(state);
  });

  it('needs no particular boundary: late, doubled, missing or out of order, the furthest instant counts', () => {
    const event = fc.integer({ min: 40, max: 260 }).map(at);
    fc.assert(
      fc.property(
        fc.array(event, { maxLength: 12 }),
        fc.integer({ min: 40, max: 260 }),
        (events, bornAtMs) => {
          expect(run(events, bornAtMs).value).toBe(stateAfter(events, bornAtMs));
        },
      ),
    );
  });
});
