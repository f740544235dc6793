// The organization's profiles pass through their states, and no limit enforces them.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createActor, type InspectionEvent } from 'xstate';
import { organizationMachine } from '../../machines/limits/organization.machine.js';
import { type HolderEvent, statusOf } from '../../machines/limits/profile.machine.js';
import {
  EMPTY_STACK,
  type LimitProfile,
  type ProfileStack,
  putProfile,
} from '../../machines/limits/profile-stack.js';
import { eraMs, moved, profileWithin } from './arbitraries.js';
import { everyWalk, isLater, watchTransitions } from './graph-walk.js';
import { cancelIn, type History, heldBy, phaseAt } from './oracle.js';

const TARGET = 'organization';
const submit = (profile: LimitProfile, now: number): HolderEvent => ({
  type: 'profile.submitted',
  profile,
  now,
});
const cancel = (priority: number, now: number): HolderEvent => ({
  type: 'profile.cancelled',
  priority,
  now,
});
const at = (now: number): HolderEvent => ({ type: 'boundary.reached', now });

/** An organization after `events`, with the statuses of its profiles after each event, by priority. */
function run(
  events: readonly HolderEvent[],
  input: { readonly stack: ProfileStack; readonly now: number } = { stack: [], now: 0 },
  inspect: (event: InspectionEvent) => void = () => {},
) {
  const actor = createActor(organizationMachine, { input, inspect });
  actor.start();
  const statuses = events.map((event) => {
    actor.send(event);
    const { context } = actor.getSnapshot();
    return context.stack.map((profile) => [profile.priority, statusOf(context, profile)]);
  });
  return { ...actor.getSnapshot(), statuses };
}

describe("An organization's profiles (sections 1 and 3.1)", () => {
  const LOW = { priority: 0, limitKw: 10, startsAtMs: 100, endsAtMs: 200 };
  const LATER = { priority: 0, limitKw: 20, startsAtMs: 300, endsAtMs: 400 };
  const HIGH = { priority: 5, limitKw: 30, startsAtMs: 150, endsAtMs: 200 };

  it('are recorded in every order of submissions, cancellations and boundaries, and every transition is taken', () => {
    const watch = watchTransitions(organizationMachine);
    const walks = everyWalk(organizationMachine, {
      input: { stack: [], now: 0 },
      events: [
        submit(LOW, 50),
        submit(LATER, 50),
        submit(HIGH, 150),
        cancel(0, 150),
        cancel(5, 150),
        ...[100, 150, 200, 400].map(at),
      ],
      isPossible: isLater,
      serializeState: ({ context }) => JSON.stringify(context.stack),
    });
    for (const { events } of walks) {
      const history: History = { submissions: [], permanentLimitsKw: [] };
      for (const event of events) {
        if (event.type === 'profile.submitted')
          history.submissions.push({ ...event.profile, target: TARGET, atMs: event.now });
        if (event.type === 'profile.cancelled') cancelIn(history, TARGET, event.priority);
      }
      const { context } = run(events, undefined, watch.inspect);
      const held = heldBy(history, TARGET).reverse();
      expect(context.stack).toEqual(held.map(({ target: _, atMs: __, ...profile }) => profile));
    }
    expect(watch.untaken()).toEqual([]);
    expect(watch.count).toBe(3);
  });

  it('have the status of the instant, however late or often boundaries arrive, and leave no actor behind', () => {
    const step = fc.oneof(
      fc.record({ kind: fc.constant('pass' as const), ms: fc.integer({ min: 0, max: 15 }) }),
      fc.record({ kind: fc.constant('submit' as const), profile: profileWithin(40) }),
      fc.constant({ kind: 'boundary' as const }),
      fc.record({ kind: fc.constant('cancel' as const), priority: fc.integer({ min: 0, max: 10 }) }),
    );
    const rows = fc.array(profileWithin(40), { maxLength: 5 });
    fc.assert(
      fc.property(eraMs, rows, fc.array(step, { maxLength: 30 }), (era, atStart, steps) => {
        const start = era + 20;
        const history: History = { submissions: [], permanentLimitsKw: [] };
        const remember = (profile: LimitProfile, atMs: number) =>
          history.submissions.push({ ...profile, target: TARGET, atMs });
        const stack = atStart.map((profile) => moved(profile, era)).reduce(putProfile, EMPTY_STACK);
        for (const profile of stack) remember(profile, Number.NEGATIVE_INFINITY);
        const events: HolderEvent[] = [];
        const expected: (readonly [number, string])[][] = [];
        let now = start;
        const tell = (event: HolderEvent) => {
          // Due boundaries take effect before a submission or cancellation at the same instant.
          if (event.type !== 'boundary.reached') tell(at(now));
          if (event.type === 'profile.submitted') remember(event.profile, now);
          if (event.type === 'profile.cancelled') cancelIn(history, TARGET, event.priority);
          events.push(event);
          const held = heldBy(history, TARGET);
          expected.push(held.map((each) => [each.priority, phaseAt(each, now)]));
        };
        for (const each of steps) {
          if (each.kind === 'pass') now += each.ms;
          else if (each.kind === 'boundary') tell(at(now));
          else if (each.kind === 'cancel') tell(cancel(each.priority, now));
          else tell(submit(moved(each.profile, now - 15), now));
        }
        tell(at(now));
        const { statuses, context, children } = run(events, { stack, now: start });
        for (const [i, each] of statuses.entries()) expect(each.sort()).toEqual(expected[i]?.sort());
        const live = heldBy(history, TARGET).filter((held) =>
          held.atMs < start ? phaseAt(held, now) === 'ACTIVE' : phaseAt(held, now) !== 'EXPIRED',
        );
        expect([...context.profiles.keys()].sort()).toEqual(live.map(({ priority }) => priority).sort());
        expect(Object.keys(children)).toHaveLength(live.length);
        const over = run([...events, at(era + 1_000)], { stack, now: start });
        expect(over.context.profiles.size + Object.keys(over.children).length).toBe(0);
      }),
      { numRuns: 200 },
    );
  });
});
