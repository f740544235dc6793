// Lanes on the time axis of the chart: the rule behind the limit in force, profiles, and marks.
import type { ComponentChildren } from 'preact';
import { useMemo, useRef } from 'preact/hooks';
import { kwText } from '../../machines/values/figures.js';
import { compareNaturally } from '../../machines/values/natural-order.js';
import type { EpochMs, TimeWindow } from '../../machines/values/time.js';
import type { Mark, ProfileBar } from '../../sim/report/report-data.js';
import type { Span } from '../location/time-view.js';
import { Canvas, type Surface } from './canvas.js';
import { iso } from './instant-text.js';
import { colourOfRule, ruleWords } from './reasons.js';
import { deciding, type RecordedLocation } from './recorded-location.js';
import type { Viewpoint } from './viewpoint.js';

/** More lanes of locks than this are collapsed at first. */
const LOCKS_SHOWN = 6;
/** A shorter drag is a click. */
const DRAG_PX = 6;
const NARROWEST_PX = 2;
const TEXT_MARGIN_PX = 6;

interface LaneProps {
  readonly viewpoint: Viewpoint;
  readonly label: string;
  /** State at the chosen instant. */
  readonly now: string;
  readonly title?: string | undefined;
  readonly children: ComponentChildren;
}

/** A click chooses an instant, a drag a span. The time bar has the same functions for a keyboard. */
function Lane({ viewpoint, label, now, title, children }: LaneProps) {
  const { span, instant } = viewpoint;
  const pressedX = useRef<number | undefined>(undefined);
  const timeAt = (track: HTMLElement, clientX: number) => {
    const { left, width } = track.getBoundingClientRect();
    const share = Math.min(Math.max((clientX - left) / width, 0), 1);
    return span.fromMs + share * (span.toMs - span.fromMs);
  };
  return (
    <div class="time-lane">
      <p class="label small">
        <span>{label}</span> <strong title={title}>{now}</strong>
      </p>
      <div
        class="track"
        onPointerDown={(event) => {
          if (event.button !== 0) return;
          pressedX.current = event.clientX;
          event.currentTarget.setPointerCapture(event.pointerId);
        }}
        onPointerUp={(event) => {
          const fromX = pressedX.current;
          pressedX.current = undefined;
          if (fromX === undefined) return;
          const [a, b] = [timeAt(event.currentTarget, fromX), timeAt(event.currentTarget, event.clientX)];
          if (Math.abs(event.clientX - fromX) < DRAG_PX) viewpoint.choose(b);
          else viewpoint.show({ fromMs: Math.min(a, b), toMs: Math.max(a, b) });
        }}
        onPointerCancel={() => {
          pressedX.current = undefined;
        }}
      >
        {children}
        {instant >= span.fromMs && instant <= span.toMs && (
          <span class="mark" style={{ left: `${percent(instant, span)}%` }} />
        )}
      </div>
    </div>
  );
}

function percent(atMs: EpochMs, { fromMs, toMs }: Span): number {
  return Math.min(Math.max((100 * (atMs - fromMs)) / (toMs - fromMs), 0), 100);
}

/** @returns the filled place, px; undefined if the window is outside the span */
function fill(
  { context, width, height, colour }: Surface,
  { startsAtMs, endsAtMs }: TimeWindow,
  span: Span,
  name: string,
): { readonly left: number; readonly width: number } | undefined {
  if (endsAtMs < span.fromMs || startsAtMs > span.toMs) return undefined;
  const left = (width * percent(startsAtMs, span)) / 100;
  const filled = Math.max((width * percent(endsAtMs, span)) / 100 - left, NARROWEST_PX);
  context.fillStyle = colour(name);
  context.fillRect(left, 2, filled, height - 4);
  return { left, width: filled };
}

function isAt({ startsAtMs, endsAtMs }: TimeWindow, instant: EpochMs): boolean {
  return instant === startsAtMs || (instant > startsAtMs && instant < endsAtMs);
}

interface Props {
  readonly location: RecordedLocation;
  readonly viewpoint: Viewpoint;
}

export function RuleLane({ location, viewpoint, endsAtMs }: Props & { readonly endsAtMs: EpochMs }) {
  const { rules } = location;
  const windows = useMemo(() => windowsOf(rules, endsAtMs), [rules]);
  if (windows.length === 0) return null;
  const { span, instant } = viewpoint;
  const now = windows.findLast(({ startsAtMs }) => startsAtMs <= instant);
  return (
    <Lane viewpoint={viewpoint} label="Limit in force set by" now={now?.words ?? ''}>
      <Canvas
        label="Rule behind the limit in force over time"
        inputs={[windows, span.fromMs, span.toMs]}
        draw={(surface) => {
          const { context, height, colour } = surface;
          context.textBaseline = 'middle';
          for (const { words, tone, ...window } of windows) {
            const place = fill(surface, window, span, tone);
            if (place === undefined || place.width < context.measureText(words).width + 2 * TEXT_MARGIN_PX)
              continue;
            context.fillStyle = colour(tone === 'idle' ? 'text' : 'panel');
            context.fillText(words, place.left + TEXT_MARGIN_PX, height / 2);
          }
        }}
      />
    </Lane>
  );
}

interface RuleWindow extends TimeWindow {
  readonly tone: string;
  readonly words: string;
}

/** Joins successive rules that differ only in the state of an operator that sets no limit. */
function windowsOf(rules: RecordedLocation['rules'], endsAtMs: EpochMs): readonly RuleWindow[] {
  const windows: RuleWindow[] = [];
  for (const rule of rules) {
    const words = ruleWords(rule);
    const last = windows.at(-1);
    if (last?.words === words) continue;
    if (last !== undefined) windows[windows.length - 1] = { ...last, endsAtMs: rule.atMs };
    windows.push({ tone: colourOfRule(rule), words, startsAtMs: rule.atMs, endsAtMs });
  }
  return windows;
}

export function ProfileLanes({ location, viewpoint }: Props) {
  const lanes = useMemo(() => profileLanesOf(location), [location]);
  const isLock = useMemo(() => {
    const names = new Set(location.connectors.map(({ name }) => name));
    return (target: string) => names.has(target);
  }, [location]);
  const locks = lanes.filter(({ target }) => isLock(target));
  if (lanes.length === 0) return null;
  const lane = (each: ProfileLane) => (
    <ProfileLane key={each.label} lane={each} location={location} viewpoint={viewpoint} />
  );
  return (
    <section aria-label="Profiles">
      <h2>Profiles</h2>
      {lanes.filter(({ target }) => !isLock(target)).map(lane)}
      {locks.length > 0 && (
        <details open={locks.length <= LOCKS_SHOWN}>
          <summary>Locks: {locks.length}</summary>
          {locks.map(lane)}
        </details>
      )}
    </section>
  );
}

interface ProfileLane {
  readonly label: string;
  readonly target: string;
  readonly bars: readonly ProfileBar[];
}

/** The lanes of the location come first, then those of other targets, each by descending priority. */
function profileLanesOf({ profiles, locationId }: RecordedLocation): readonly ProfileLane[] {
  const isOwn = (target: string) => Number(target === locationId);
  const ordered = [...profiles].sort(
    (a, b) =>
      isOwn(b.target) - isOwn(a.target) || compareNaturally(a.target, b.target) || b.priority - a.priority,
  );
  const lanes = new Map<string, ProfileBar[]>();
  for (const bar of ordered) {
    const label = `${bar.target} · priority ${bar.priority}`;
    lanes.set(label, [...(lanes.get(label) ?? []), bar]);
  }
  return [...lanes].map(([label, bars]) => ({ label, target: bars[0]?.target ?? '', bars }));
}

function ProfileLane({
  lane: { label, target, bars },
  location: { profiles },
  viewpoint,
}: Props & { readonly lane: ProfileLane }) {
  const { span, instant } = viewpoint;
  const decides = deciding(profiles, target, instant);
  const active = bars.find((bar) => bar.startsAtMs <= instant && instant < bar.endsAtMs);
  const now =
    active === undefined ? '' : `${kwText(active.limitW / 1000)}${active === decides ? ' decides' : ''}`;
  return (
    <Lane viewpoint={viewpoint} label={label} now={now}>
      {bars.map((bar) => {
        const { startsAtMs, endsAtMs, limitW } = bar;
        if (endsAtMs <= span.fromMs || startsAtMs >= span.toMs) return null;
        const left = percent(startsAtMs, span);
        const state = bar === decides ? 'active deciding' : bar === active ? 'active' : 'scheduled';
        return (
          <span
            key={startsAtMs}
            class={`profile-bar ${state}`}
            style={{ left: `${left}%`, width: `${percent(endsAtMs, span) - left}%` }}
            title={`${kwText(limitW / 1000)}, ${iso(startsAtMs)} to ${iso(endsAtMs)}`}
          >
            <span>{kwText(limitW / 1000)}</span>
          </span>
        );
      })}
    </Lane>
  );
}

const KINDS: readonly Mark['kind'][] = ['violation', 'alarm', 'fault', 'action'];
const COLOUR_OF_MARK: Readonly<Record<Mark['kind'], string>> = {
  violation: 'bad',
  alarm: 'warning',
  fault: 'muted',
  action: 'accent',
};

export function MarkLanes({ location, viewpoint }: Props) {
  const lanes = useMemo(() => markLanesOf(location), [location]);
  if (lanes.length === 0) return null;
  const { span, instant } = viewpoint;
  return (
    <section aria-label="Violations, alarms, faults and actions">
      <h2>Violations, alarms, faults, actions</h2>
      {lanes.map(({ label, kind, marks }) => {
        const now = marks.filter((mark) => isAt(mark, instant));
        return (
          <Lane
            key={label}
            viewpoint={viewpoint}
            label={`${label} (${marks.length})`}
            now={now.length === 0 ? '' : `${now.length} now`}
            title={now.map(({ target, detail }) => `${target} ${detail}`.trim()).join('\n')}
          >
            <Canvas
              label={`${label} over time`}
              inputs={[marks, span.fromMs, span.toMs]}
              draw={(surface) => {
                for (const mark of marks) fill(surface, mark, span, COLOUR_OF_MARK[kind]);
              }}
            />
          </Lane>
        );
      })}
    </section>
  );
}

function markLanesOf({ marks }: RecordedLocation) {
  const lanes = new Map<string, { label: string; kind: Mark['kind']; marks: Mark[] }>();
  for (const mark of marks) {
    const label = `${mark.kind} ${mark.what}`;
    const lane = lanes.get(label) ?? { label, kind: mark.kind, marks: [] };
    lane.marks.push(mark);
    lanes.set(label, lane);
  }
  return [...lanes.values()].sort(
    (a, b) => KINDS.indexOf(a.kind) - KINDS.indexOf(b.kind) || compareNaturally(a.label, b.label),
  );
}
