// View of the reader: a location, a span of time, and the chosen instant inside it.
import { useMemo, useState } from 'preact/hooks';
import type { EpochMs } from '../../machines/values/time.js';
import type { Span } from '../location/time-view.js';

export interface Viewpoint {
  /** Index of the location in the report. */
  readonly place: number;
  readonly span: Span;
  readonly instant: EpochMs;
  choose(instant: EpochMs): void;
  /** Shows the span, clipped to the run and at least a minute long. */
  show(span: Span): void;
  /** Multiplies the visible time around the instant by `factor`. */
  zoom(factor: number): void;
  showAll(): void;
  visit(place: number): void;
}

const SHORTEST_MS = 60_000;

export function useViewpoint(
  { startsAtMs, endsAtMs }: { readonly startsAtMs: EpochMs; readonly endsAtMs: EpochMs },
  first: EpochMs,
): Viewpoint {
  const whole: Span = { fromMs: startsAtMs, toMs: Math.max(endsAtMs, startsAtMs + 1) };
  const [view, setView] = useState({ place: 0, span: whole, instant: first });

  return useMemo(() => {
    const change = (to: (before: typeof view) => Partial<typeof view>) =>
      setView((before) => ({ ...before, ...to(before) }));

    function around(instant: EpochMs, lengthMs: number, { fromMs, toMs }: Span): Span {
      const length = Math.min(Math.max(lengthMs, SHORTEST_MS), whole.toMs - whole.fromMs);
      const share = (instant - fromMs) / (toMs - fromMs);
      const ideal = instant - length * Math.min(Math.max(share, 0), 1);
      const start = Math.round(Math.min(Math.max(ideal, whole.fromMs), whole.toMs - length));
      return { fromMs: start, toMs: Math.round(start + length) };
    }

    return {
      ...view,
      choose: (asked) =>
        change(({ span }) => {
          const instant = Math.round(Math.min(Math.max(asked, whole.fromMs), whole.toMs));
          const isShown = instant >= span.fromMs && instant <= span.toMs;
          return { instant, ...(isShown ? {} : { span: around(instant, span.toMs - span.fromMs, span) }) };
        }),
      show: (asked) =>
        change(({ span, instant }) => {
          const fromMs = Math.round(Math.max(asked.fromMs, whole.fromMs));
          const toMs = Math.round(Math.min(asked.toMs, whole.toMs));
          const shown =
            toMs - fromMs < SHORTEST_MS ? around((fromMs + toMs) / 2, SHORTEST_MS, span) : { fromMs, toMs };
          return { span: shown, instant: Math.min(Math.max(instant, shown.fromMs), shown.toMs) };
        }),
      zoom: (factor) =>
        change(({ span, instant }) => ({ span: around(instant, (span.toMs - span.fromMs) * factor, span) })),
      showAll: () => change(() => ({ span: whole })),
      visit: (place) => change(() => ({ place })),
    };
  }, [view]);
}
