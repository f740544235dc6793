// The preview of a change against the rule of the contract, queried again at every millisecond.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { EMPTY_STACK, effectiveLimitKwAt, putProfile } from '../../machines/limits/profile-stack.js';
import { previewOf } from '../../web/location/preview.js';
import { limitKw, profileWithin } from '../machines/arbitraries.js';

const SPAN_MS = 40;

describe('The preview of a change', () => {
  it('lists exactly the spans with another limit, with the limits before and after (section 1)', () => {
    const change = fc.oneof(
      profileWithin(SPAN_MS).map((profile) => ({ kind: 'profile' as const, profile })),
      fc.nat(10).map((priority) => ({ kind: 'cancellation' as const, priority })),
      limitKw.map((limit) => ({ kind: 'permanentLimit' as const, limitKw: limit })),
    );
    fc.assert(
      fc.property(
        fc.array(profileWithin(SPAN_MS), { maxLength: 20 }),
        fc.option(limitKw, { nil: undefined }),
        change,
        fc.integer({ min: 0, max: SPAN_MS }),
        (submitted, fallbackKw, changed, nowMs) => {
          const stack = submitted.reduce(putProfile, EMPTY_STACK);
          const preview = previewOf({ stack, fallbackKw }, changed, nowMs);
          const kept = submitted.filter(
            ({ priority }) => changed.kind !== 'cancellation' || priority !== changed.priority,
          );
          const added = changed.kind === 'profile' ? [changed.profile] : [];
          const changedStack = [...kept, ...added].reduce(putProfile, EMPTY_STACK);
          const changedKw = changed.kind === 'permanentLimit' ? changed.limitKw : fallbackKw;
          for (let atMs = nowMs; atMs < nowMs + 2 * SPAN_MS; atMs++) {
            const beforeKw = effectiveLimitKwAt(stack, fallbackKw, atMs);
            const afterKw = effectiveLimitKwAt(changedStack, changedKw, atMs);
            const spans = preview.changed.filter((span) => span.startsAtMs <= atMs && atMs < span.endsAtMs);
            expect(spans.map((span) => [span.beforeKw, span.afterKw])).toEqual(
              beforeKw === afterKw ? [] : [[beforeKw, afterKw]],
            );
          }
        },
      ),
    );
  });

  it('joins adjacent spans with the same change, and ends a day after the last window', () => {
    const low = { priority: 1, limitKw: 20, startsAtMs: 0, endsAtMs: 10 };
    const high = { priority: 2, limitKw: 20, startsAtMs: 10, endsAtMs: 30 };
    const stack = [low, high];
    const profile = { priority: 5, limitKw: 7, startsAtMs: 5, endsAtMs: 25 };
    const preview = previewOf({ stack, fallbackKw: 50 }, { kind: 'profile', profile }, 2);
    expect(preview.changed).toEqual([{ startsAtMs: 5, endsAtMs: 25, beforeKw: 20, afterKw: 7 }]);
    expect(preview.window).toEqual({ startsAtMs: 2, endsAtMs: 30 + 86_400_000 });
  });

  it('is empty below a higher priority', () => {
    const stack = [{ priority: 9, limitKw: 20, startsAtMs: 0, endsAtMs: 100 }];
    const profile = { priority: 5, limitKw: 7, startsAtMs: 5, endsAtMs: 25 };
    expect(previewOf({ stack, fallbackKw: 50 }, { kind: 'profile', profile }, 0).changed).toEqual([]);
  });
});
