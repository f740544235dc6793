// The stack of one target against an oracle that searches every submission for every millisecond anew.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  activeProfileAt,
  compositeTimeline,
  crossingsBetween,
  EMPTY_STACK,
  effectiveLimitKwAt,
  type LimitProfile,
  nextBoundaryAfter,
  putProfile,
} from '../../machines/limits/profile-stack.js';
import { eraMs, moved, profileWithin } from './arbitraries.js';
import {
  boundariesAfter,
  crossedBetween,
  decidingAt,
  effectiveKwAt,
  everyMillisecond,
  type History,
  heldBy,
  phaseAt,
} from './oracle.js';

const SPAN_MS = 40;
const FALLBACK_KW = 50;
const profiles = fc.array(profileWithin(SPAN_MS), { maxLength: 30 });

/** The same submissions, as a stack and as the oracle's list. */
function stackAndHistory(submitted: readonly LimitProfile[], permanentLimitsKw: number[] = [FALLBACK_KW]) {
  const history: History = {
    submissions: submitted.map((profile) => ({ ...profile, atMs: 0, target: 'quay-1' })),
    permanentLimitsKw,
  };
  return { stack: submitted.reduce(putProfile, EMPTY_STACK), history };
}

function forAllStacks(check: (given: ReturnType<typeof stackAndHistory> & { readonly era: number }) => void) {
  fc.assert(
    fc.property(profiles, eraMs, (submitted, era) =>
      check({ ...stackAndHistory(submitted.map((each) => moved(each, era))), era }),
    ),
    { numRuns: 200 },
  );
}

describe('A stack of profiles (section 1)', () => {
  it('holds the newest profile of each priority, at most 11, in ascending order (section 8)', () => {
    forAllStacks(({ stack, history }) => {
      const held = heldBy(history, 'quay-1').reverse();
      expect(
        stack.map(({ priority, limitKw, startsAtMs, endsAtMs }) => [priority, limitKw, startsAtMs, endsAtMs]),
      ).toEqual(
        held.map(({ priority, limitKw, startsAtMs, endsAtMs }) => [priority, limitKw, startsAtMs, endsAtMs]),
      );
      expect(stack.length).toBeLessThanOrEqual(11);
    });
  });

  it('is not changed by a submission: the earlier stack stays the same', () => {
    fc.assert(
      fc.property(profiles, profileWithin(SPAN_MS), (submitted, next) => {
        const { stack } = stackAndHistory(submitted);
        const before = structuredClone(stack);
        putProfile(stack, next);
        expect(stack).toEqual(before);
      }),
    );
  });

  it('lets the highest-priority active profile decide, at every millisecond', () => {
    forAllStacks(({ stack, history, era }) => {
      for (let t = era - 1; t <= era + SPAN_MS + 16; t++) {
        expect(activeProfileAt(stack, t)?.priority).toBe(decidingAt(history, 'quay-1', t)?.priority);
        expect(effectiveLimitKwAt(stack, FALLBACK_KW, t)).toBe(effectiveKwAt(history, 'quay-1', t));
      }
    });
  });

  it('falls back to nothing where no permanent limit exists, as a connector does', () => {
    const { stack } = stackAndHistory([{ priority: 3, limitKw: 11, startsAtMs: 10, endsAtMs: 20 }]);
    expect([9, 10, 19, 20].map((t) => effectiveLimitKwAt(stack, undefined, t))).toEqual([
      undefined,
      11,
      11,
      undefined,
    ]);
  });

  it('returns the first instant at which a window begins or ends', () => {
    forAllStacks(({ stack, history, era }) => {
      for (let t = era - 1; t <= era + SPAN_MS + 16; t++) {
        expect(nextBoundaryAfter(stack, t)).toBe(boundariesAfter(history, ['quay-1'], t)[0]);
      }
    });
  });

  it('never changes its effective limit between two boundaries', () => {
    forAllStacks(({ stack, era }) => {
      const next = nextBoundaryAfter(stack, era - 1) ?? era;
      for (let t = era - 1; t < next; t++) {
        expect(activeProfileAt(stack, t)).toBe(activeProfileAt(stack, era - 1));
      }
    });
  });
});

describe('The crossings of a boundary (section 3.1)', () => {
  it('is every profile whose status changed, with its new status, ends before starts', () => {
    const instants = fc.tuple(fc.integer({ min: -1, max: 60 }), fc.integer({ min: 0, max: 30 }));
    fc.assert(
      fc.property(profiles, eraMs, instants, (submitted, era, [sinceMs, lengthMs]) => {
        const { stack, history } = stackAndHistory(submitted.map((each) => moved(each, era)));
        const [since, now] = [era + sinceMs, era + sinceMs + lengthMs];
        const crossings = crossingsBetween(stack, since, now);
        const expected = crossedBetween(history, 'quay-1', since, now);
        expect(new Map(crossings.map(({ profile, status }) => [profile.priority, status]))).toEqual(
          new Map(expected.map(({ priority, to }) => [priority, to])),
        );
        const ended = crossings.map(({ status }) => status === 'EXPIRED');
        expect(ended.lastIndexOf(true)).toBeLessThan(
          ended.includes(false) ? ended.indexOf(false) : ended.length,
        );
      }),
    );
  });
});

describe('The composite timeline', () => {
  const query = fc.tuple(fc.integer({ min: -5, max: 50 }), fc.integer({ min: 0, max: 60 }));

  function forAllTimelines(
    check: (given: ReturnType<typeof stackAndHistory> & { fromMs: number; toMs: number }) => void,
  ) {
    fc.assert(
      fc.property(profiles, eraMs, query, (submitted, era, [fromMs, lengthMs]) => {
        const given = stackAndHistory(submitted.map((each) => moved(each, era)));
        check({ ...given, fromMs: era + fromMs, toMs: era + fromMs + lengthMs });
      }),
      { numRuns: 200 },
    );
  }

  it('covers the window without gap or overlap, and neighbours differ', () => {
    forAllTimelines(({ stack, fromMs, toMs }) => {
      const segments = compositeTimeline(stack, FALLBACK_KW, { startsAtMs: fromMs, endsAtMs: toMs });
      let at = fromMs;
      for (const [i, segment] of segments.entries()) {
        expect(segment.startsAtMs).toBe(at);
        expect(segment.endsAtMs).toBeGreaterThan(at);
        const before = segments[i - 1];
        expect(before?.priority === segment.priority && before?.limitKw === segment.limitKw).toBe(false);
        at = segment.endsAtMs;
      }
      expect(at).toBe(toMs);
    });
  });

  it('agrees with the oracle at every millisecond', () => {
    forAllTimelines(({ stack, history, fromMs, toMs }) => {
      const segments = compositeTimeline(stack, FALLBACK_KW, { startsAtMs: fromMs, endsAtMs: toMs });
      const moments = segments.flatMap(({ startsAtMs, endsAtMs, limitKw, priority }) =>
        Array.from({ length: endsAtMs - startsAtMs }, () => ({ limitKw, priority })),
      );
      expect(moments).toEqual(everyMillisecond(history, 'quay-1', fromMs, toMs));
    });
  });

  it('shows where nothing applies at all', () => {
    const { stack } = stackAndHistory([{ priority: 0, limitKw: 11, startsAtMs: 10, endsAtMs: 20 }]);
    expect(compositeTimeline(stack, undefined, { startsAtMs: 0, endsAtMs: 30 })).toEqual([
      { startsAtMs: 0, endsAtMs: 10, limitKw: undefined, priority: undefined },
      { startsAtMs: 10, endsAtMs: 20, limitKw: 11, priority: 0 },
      { startsAtMs: 20, endsAtMs: 30, limitKw: undefined, priority: undefined },
    ]);
  });
});

describe('The oracle', () => {
  it('reads the table of section 3.1 as the contract writes it', () => {
    const each = { atMs: 0, target: 'quay-1', priority: 0, limitKw: 1, startsAtMs: 10, endsAtMs: 20 };
    expect([9, 10, 19, 20].map((t) => phaseAt(each, t))).toEqual([
      'SCHEDULED',
      'ACTIVE',
      'ACTIVE',
      'EXPIRED',
    ]);
  });
});
