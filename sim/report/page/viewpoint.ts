// View of the reader: a location, a span of time, and the chosen instant inside it.
import type { Site } from './unpack.js';

export interface View {
  readonly site: Site;
  /** The visible span. */
  readonly fromMs: number;
  readonly toMs: number;
  readonly instant: number;
}

export interface Viewpoint {
  readonly view: View;
  choose(instant: number): void;
  /** Shows the span, clipped to the run and at least a minute long. */
  show(fromMs: number, toMs: number): void;
  /** Multiplies the visible time around the instant by `factor`. */
  zoom(factor: number): void;
  showAll(): void;
  visit(site: Site): void;
  /** Calls `draw` before the next frame after a change. */
  onChange(draw: (view: View, before: View | undefined) => void): void;
}

const SHORTEST_MS = 60_000;

export function createViewpoint(
  run: { readonly startsAtMs: number; readonly endsAtMs: number },
  site: Site,
): Viewpoint {
  const { startsAtMs, endsAtMs } = run;
  const watchers: ((view: View, before: View | undefined) => void)[] = [];
  const whole = { fromMs: startsAtMs, toMs: Math.max(endsAtMs, startsAtMs + 1) };
  let view: View = { site, ...whole, instant: startsAtMs };
  let drawn: View | undefined;
  let isDue = false;

  function change(to: Partial<View>): void {
    view = { ...view, ...to };
    if (isDue) return;
    isDue = true;
    requestAnimationFrame(() => {
      isDue = false;
      const before = drawn;
      drawn = view;
      for (const draw of watchers) draw(view, before);
    });
  }

  function stretchAround(instant: number, lengthMs: number): { fromMs: number; toMs: number } {
    const length = Math.min(Math.max(lengthMs, SHORTEST_MS), whole.toMs - whole.fromMs);
    const share = (instant - view.fromMs) / (view.toMs - view.fromMs);
    const ideal = instant - length * Math.min(Math.max(share, 0), 1);
    const fromMs = Math.round(Math.min(Math.max(ideal, whole.fromMs), whole.toMs - length));
    return { fromMs, toMs: Math.round(fromMs + length) };
  }

  return {
    get view() {
      return view;
    },
    choose(asked) {
      const instant = Math.round(Math.min(Math.max(asked, whole.fromMs), whole.toMs));
      const isShown = instant >= view.fromMs && instant <= view.toMs;
      change({ instant, ...(isShown ? {} : stretchAround(instant, view.toMs - view.fromMs)) });
    },
    show(fromMs, toMs) {
      const from = Math.max(fromMs, whole.fromMs);
      const to = Math.min(toMs, whole.toMs);
      const stretch =
        to - from < SHORTEST_MS ? stretchAround((from + to) / 2, SHORTEST_MS) : { fromMs: from, toMs: to };
      change({ ...stretch, instant: Math.min(Math.max(view.instant, stretch.fromMs), stretch.toMs) });
    },
    zoom: (factor) => change(stretchAround(view.instant, (view.toMs - view.fromMs) * factor)),
    showAll: () => change(whole),
    visit: (other) => change({ site: other }),
    onChange(draw) {
      watchers.push(draw);
      change({});
    },
  };
}
