// The grid operator's limit follows the states of EEBUS LPC: every transition into and out of each state, to the
// millisecond.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createActor, enqueueActions, setup } from 'xstate';
import {
  nextOperatorBoundary,
  type OperatorActor,
  type OperatorEvent,
  type OperatorOrder,
  type OperatorReport,
  type OperatorStanding,
  operatorLimitKwOf,
  operatorMachine,
  operatorStandingOf,
} from '../../../machines/limits/lpc.machine.js';

const S = 1000;
const RULE = { failsafeKw: 4.2, failsafeMinMs: 7200 * S, missingAfterMs: 120 * S };

const beat = (now: number): OperatorEvent => ({ type: 'heartbeat.received', now });
const time = (now: number): OperatorEvent => ({ type: 'boundary.reached', now });

function order(now: number, limitKw: number | undefined, more: Partial<OperatorOrder> = {}): OperatorEvent {
  const order = { source: 'DSO', limitKw, endsAtMs: undefined, sentAtMs: now, ...more };
  return { type: 'order.received', order, now };
}

/** A location's LPC machine, with the standings that it reports to its location. */
function operatorOf(standing?: OperatorStanding, now = 0) {
  const heard: OperatorStanding[] = [];
  const location = createActor(
    setup({
      types: {
        context: {} as { operator: OperatorActor },
        events: {} as OperatorReport,
      },
      actors: { operator: operatorMachine },
    }).createMachine({
      context: ({ spawn }) => ({
        operator: spawn('operator', { input: { rule: RULE, now, standing } }),
      }),
      on: {
        'operator.changed': {
          actions: enqueueActions(({ event }) => void heard.push(event.standing)),
        },
      },
    }),
  ).start();
  const { operator } = location.getSnapshot().context;
  return { operator, heard };
}

/** State and limit after `events`. */
function reached(...events: readonly OperatorEvent[]) {
  const { operator } = operatorOf();
  for (const event of events) operator.send(event);
  return { state: operatorStandingOf(operator).state, limitKw: operatorLimitKwOf(operator) };
}

const INIT = { state: 'init', limitKw: 4.2 };
const FREE = { state: 'unlimitedControlled', limitKw: undefined };
const FAILSAFE = { state: 'failsafe', limitKw: 4.2 };
const AUTONOMOUS = { state: 'unlimitedAutonomous', limitKw: undefined };
const limitedTo = (limitKw: number) => ({ state: 'limited', limitKw });

describe('Before its first order the operator', () => {
  it('holds the location at the fail-safe limit', () => {
    expect(reached()).toEqual(INIT);
  });

  it('reports that once, since when and how much; a restart reports it again only if the fail-safe limit differs', () => {
    const { heard } = operatorOf(undefined, 7 * S);
    const first = {
      state: 'init',
      sinceMs: 7 * S,
      limitKw: 4.2,
      order: undefined,
      newestSentAtMs: undefined,
    } as const;
    expect(heard).toEqual([first]);
    expect(operatorOf(first, 30 * S).heard).toEqual([]);
    expect(operatorOf({ ...first, limitKw: 6 }, 30 * S).heard).toEqual([first]);
    const lost = { ...first, state: 'failsafe' } as const;
    expect(operatorOf(lost, 30 * S).heard).toEqual([]);
    expect(operatorOf({ ...lost, limitKw: 6 }, 30 * S).heard).toEqual([lost]);
  });

  it('lets it go on by itself after 120 s, to the millisecond', () => {
    expect(reached(time(119_999))).toEqual(INIT);
    expect(reached(time(120_000))).toEqual(AUTONOMOUS);
  });

  it('does so though heartbeats came: an order counts', () => {
    expect(reached(beat(30 * S), beat(90 * S), time(120 * S))).toEqual(AUTONOMOUS);
  });

  it('may limit it, or send that it does not', () => {
    expect(reached(order(5 * S, 10))).toEqual(limitedTo(10));
    expect(reached(order(5 * S, undefined))).toEqual(FREE);
  });
});

describe('An order', () => {
  it('holds until it is taken back where it names no duration', () => {
    const beats = Array.from({ length: 600 }, (_, minute) => beat(minute * 60 * S));
    expect(reached(order(0, 10), ...beats.slice(1))).toEqual(limitedTo(10));
    expect(reached(order(0, 10), ...beats.slice(1), order(600 * 60 * S, undefined))).toEqual(FREE);
  });

  it('ends by itself at the millisecond that it names', () => {
    expect(reached(order(0, 10, { endsAtMs: 60 * S }), time(60 * S - 1))).toEqual(limitedTo(10));
    expect(reached(order(0, 10, { endsAtMs: 60 * S }), time(60 * S))).toEqual(FREE);
  });

  it('replaces the one before, with its duration', () => {
    expect(reached(order(0, 10, { endsAtMs: 60 * S }), order(10 * S, 8), time(100 * S))).toEqual(
      limitedTo(8),
    );
  });

  it('that is doubled or late is not taken', () => {
    expect(
      reached(order(10 * S, 10), order(20 * S, undefined), order(30 * S, 10, { sentAtMs: 10 * S })),
    ).toEqual(FREE);
    expect(reached(order(10 * S, 10), order(20 * S, 30, { sentAtMs: 9 * S }))).toEqual(limitedTo(10));
  });

  it('that differs from the last is applied though its timestamp is of the same second', () => {
    expect(reached(order(10 * S, 10), order(10 * S, undefined))).toEqual(FREE);
    const lost = [order(0, 10), time(120 * S)];
    expect(reached(...lost, order(130 * S, 5, { sentAtMs: 0 }))).toEqual(FAILSAFE);
  });

  it('that is over when it arrives limits nothing', () => {
    expect(reached(order(60 * S, 10, { sentAtMs: 0, endsAtMs: 50 * S }))).toEqual(FREE);
  });

  it('may be zero', () => {
    expect(reached(order(0, 0))).toEqual(limitedTo(0));
  });
});

describe('Silence of the operator', () => {
  it('leads to the fail-safe after 120 s and not before', () => {
    expect(reached(order(0, 10), time(119_999))).toEqual(limitedTo(10));
    expect(reached(order(0, 10), time(120_000))).toEqual(FAILSAFE);
    expect(reached(order(0, undefined), time(120_000))).toEqual(FAILSAFE);
  });

  it('is not broken by an order that has ended and comes again', () => {
    const ends = { endsAtMs: 30 * S };
    const twice = [order(0, 10, ends), time(30 * S), order(60 * S, 10, { ...ends, sentAtMs: 0 })];
    expect(reached(...twice)).toEqual(FREE);
    expect(reached(...twice, time(120 * S))).toEqual(FAILSAFE);
  });

  it('is broken by each heartbeat', () => {
    expect(reached(order(0, 10), beat(119 * S), time(238 * S))).toEqual(limitedTo(10));
    expect(reached(order(0, 10), beat(119 * S), time(239 * S))).toEqual(FAILSAFE);
  });

  it('leads there from a limit that had ended meanwhile, both received late', () => {
    const { operator, heard } = operatorOf();
    operator.send(order(0, 10, { endsAtMs: 60 * S }));
    operator.send(time(500 * S));
    expect(heard.map(({ state, sinceMs }) => [state, sinceMs])).toEqual([
      ['init', 0],
      ['limited', 0],
      ['unlimitedControlled', 60 * S],
      ['failsafe', 120 * S],
    ]);
  });

  it('makes earlier orders void (LPC-918)', () => {
    const { operator } = operatorOf();
    operator.send(order(0, 10));
    operator.send(time(120 * S));
    expect(operatorStandingOf(operator).order).toBeUndefined();
  });
});

describe('The fail-safe', () => {
  const lost = [order(0, 10), time(120 * S)];

  it('is not left by a heartbeat alone', () => {
    expect(reached(...lost, beat(200 * S), time(319 * S))).toEqual(FAILSAFE);
  });

  it('is left at once by a new order after it', () => {
    expect(reached(...lost, beat(200 * S), order(201 * S, 7))).toEqual(limitedTo(7));
    expect(reached(...lost, beat(200 * S), order(201 * S, undefined))).toEqual(FREE);
  });

  it('is not left by an order of before', () => {
    expect(reached(...lost, order(200 * S, undefined, { sentAtMs: 0 }))).toEqual(FAILSAFE);
  });

  it('ends 120 s after the operator is back without an order', () => {
    expect(reached(...lost, beat(200 * S), beat(260 * S), time(320 * S))).toEqual(AUTONOMOUS);
  });

  it('ends after its provisioned time where the operator stays silent', () => {
    expect(reached(...lost, time(7320 * S - 1))).toEqual(FAILSAFE);
    expect(reached(...lost, time(7320 * S))).toEqual(AUTONOMOUS);
  });

  it('ends in a state that an order leaves at once', () => {
    expect(reached(...lost, time(7320 * S), beat(8000 * S))).toEqual(AUTONOMOUS);
    expect(reached(...lost, time(7320 * S), order(8000 * S, 6))).toEqual(limitedTo(6));
  });
});

describe('A restart', () => {
  const resume = (state: OperatorStanding['state'], now: number, more: Partial<OperatorStanding> = {}) =>
    operatorOf(
      { state, sinceMs: 0, limitKw: undefined, order: undefined, newestSentAtMs: undefined, ...more },
      now,
    ).operator;
  const ordered: OperatorOrder = { source: 'DSO', limitKw: 10, endsAtMs: 500 * S, sentAtMs: 0 };

  it.each(['init', 'unlimitedControlled', 'limited', 'failsafe', 'unlimitedAutonomous'] as const)(
    'goes on in %s',
    (state) => {
      const order = state === 'limited' ? ordered : undefined;
      expect(operatorStandingOf(resume(state, 1, { order }))).toMatchObject({
        state,
        sinceMs: 0,
        order,
        newestSentAtMs: undefined,
      });
    },
  );

  it('keeps when an order ends, and lets it end while the service was down', () => {
    const operator = resume('limited', 400 * S, { order: ordered });
    expect(nextOperatorBoundary(operator)).toBe(500 * S);
    const late = resume('limited', 600 * S, { order: ordered });
    late.send(time(600 * S));
    expect(operatorStandingOf(late)).toMatchObject({ state: 'unlimitedControlled', sinceMs: 500 * S });
  });

  it('gives the operator 120 s to send a message, and the fail-safe its rest', () => {
    expect(nextOperatorBoundary(resume('init', 5000 * S))).toBe(5120 * S);
    expect(nextOperatorBoundary(resume('unlimitedControlled', 5000 * S))).toBe(5120 * S);
    expect(nextOperatorBoundary(resume('failsafe', 5000 * S))).toBe(7200 * S);
  });

  it('does not apply an old order again', () => {
    const operator = resume('unlimitedControlled', 10 * S, { newestSentAtMs: 5 * S });
    operator.send(order(20 * S, 3, { sentAtMs: 5 * S }));
    expect(operatorStandingOf(operator).state).toBe('unlimitedControlled');
  });
});

describe('With any messages', () => {
  const arbitraryEvent = fc.record({
    afterMs: fc.oneof(fc.nat(70 * S), fc.nat(3 * 3600 * S)),
    kind: fc.constantFrom('beat', 'time', 'limit', 'release', 'old'),
    limitKw: fc.integer({ min: 0, max: 50 }),
    durationS: fc.option(fc.nat(600), { nil: undefined }),
  });

  it('no boundary passes unnoticed however late it is processed: in time or late, it ends the same', () => {
    fc.assert(
      fc.property(fc.array(arbitraryEvent, { maxLength: 30 }), (steps) => {
        const [late, timely] = [operatorOf(), operatorOf()];
        let now = 0;
        for (const { afterMs, kind, limitKw, durationS } of steps) {
          now += afterMs;
          const endsAtMs = durationS === undefined ? undefined : now + durationS * S;
          const event =
            kind === 'beat'
              ? beat(now)
              : kind === 'time'
                ? time(now)
                : order(now, kind === 'release' ? undefined : limitKw, {
                    endsAtMs,
                    sentAtMs: kind === 'old' ? now - 300 * S : now,
                  });
          for (let due = dueBy(timely.operator, now); due !== undefined; due = dueBy(timely.operator, now))
            timely.operator.send(time(due));
          late.operator.send(time(now));
          late.operator.send(event);
          timely.operator.send(event);
          expect(operatorStandingOf(late.operator)).toEqual(operatorStandingOf(timely.operator));
          expect(late.heard).toEqual(timely.heard);
        }
      }),
    );
  });

  function dueBy(operator: OperatorActor, now: number): number | undefined {
    const due = nextOperatorBoundary(operator);
    return due !== undefined && due <= now ? due : undefined;
  }
});
