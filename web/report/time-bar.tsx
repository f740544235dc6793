// Chooses the location, the instant and the visible span, by slider, text, button or key.
import { useEffect, useRef, useState } from 'preact/hooks';
import type { EpochMs } from '../../machines/values/time.js';
import type { Mark, ReportData } from '../../sim/report/report-data.js';
import { Button } from '../ui/button.js';
import { iso, siteTime } from './instant-text.js';
import type { RecordedLocation } from './recorded-location.js';
import type { Viewpoint } from './viewpoint.js';

const ZOOM_STEP = 2;
const SHORTEST_STEP_MS = 1_000;
const MOST_MARKS = 3;

interface Props {
  readonly data: ReportData;
  readonly location: RecordedLocation;
  readonly viewpoint: Viewpoint;
}

export function TimeBar({ data, location, viewpoint }: Props) {
  const { span, instant, place } = viewpoint;
  const jump = (direction: 1 | -1) => {
    const nearest = nearestEdge(location, instant, direction);
    if (nearest !== undefined) viewpoint.choose(nearest);
  };
  useKeys(viewpoint, jump);
  return (
    <section class="time-bar" aria-label="Time">
      <div class="row">
        <select
          aria-label="Location"
          value={place}
          onChange={(event) => viewpoint.visit(Number(event.currentTarget.value))}
        >
          {data.locations.map(({ locationId }, i) => (
            <option key={locationId} value={i}>
              {locationId}
            </option>
          ))}
        </select>
        <InstantText instant={instant} onChoose={viewpoint.choose} />
        <span class="local quiet small" title="By the clock of the site">
          {siteTime(instant, data.utcOffsetMs)}
        </span>
        <span class="row buttons">
          <Button label="◀ Previous mark, key [" onClick={() => jump(-1)}>
            ◀
          </Button>
          <Button label="▶ Next mark, key ]" onClick={() => jump(1)}>
            ▶
          </Button>
          <Button label="+ Zoom in, key +" onClick={() => viewpoint.zoom(1 / ZOOM_STEP)}>
            +
          </Button>
          <Button label="− Zoom out, key -" onClick={() => viewpoint.zoom(ZOOM_STEP)}>
            −
          </Button>
          <Button label="All: show the whole run, key 0" onClick={() => viewpoint.showAll()}>
            All
          </Button>
        </span>
      </div>
      <input
        type="range"
        aria-label="Instant"
        min={span.fromMs}
        max={span.toMs}
        step={1}
        value={instant}
        aria-valuetext={iso(instant)}
        onInput={(event) => viewpoint.choose(Number(event.currentTarget.value))}
      />
      <p class="marks-now small" role="status">
        {marksAt(location.marks, instant)}
      </p>
    </section>
  );
}

function InstantText({
  instant,
  onChoose,
}: {
  readonly instant: EpochMs;
  readonly onChoose: (instant: EpochMs) => void;
}) {
  const [text, setText] = useState<string>();
  return (
    <input
      class="instant"
      type="text"
      aria-label="Instant, UTC"
      spellcheck={false}
      value={text ?? iso(instant)}
      onInput={(event) => setText(event.currentTarget.value)}
      onChange={(event) => {
        const asked = Date.parse(event.currentTarget.value);
        setText(undefined);
        if (!Number.isNaN(asked)) onChoose(asked);
      }}
    />
  );
}

function useKeys(viewpoint: Viewpoint, jump: (direction: 1 | -1) => void): void {
  const press = (key: string, isShifted: boolean): boolean => {
    const { span, instant } = viewpoint;
    const lengthMs = span.toMs - span.fromMs;
    const step = Math.max(SHORTEST_STEP_MS, Math.round(lengthMs / (isShifted ? 50 : 1_000)));
    const keys: Readonly<Record<string, () => void>> = {
      ArrowLeft: () => viewpoint.choose(instant - step),
      ArrowRight: () => viewpoint.choose(instant + step),
      Home: () => viewpoint.choose(span.fromMs),
      End: () => viewpoint.choose(span.toMs),
      '[': () => jump(-1),
      ']': () => jump(1),
      '+': () => viewpoint.zoom(1 / ZOOM_STEP),
      '-': () => viewpoint.zoom(ZOOM_STEP),
      '0': () => viewpoint.showAll(),
    };
    const act = keys[key];
    act?.();
    return act !== undefined;
  };
  const newest = useRef(press);
  newest.current = press;
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      if (newest.current(event.key, event.shiftKey)) event.preventDefault();
    };
    document.addEventListener('keydown', listen);
    return () => document.removeEventListener('keydown', listen);
  }, []);
}

function isTyping(target: EventTarget | null): boolean {
  if (target instanceof HTMLInputElement) return target.type !== 'range';
  return target instanceof HTMLSelectElement;
}

/** The nearest instant before or after at which a mark, a profile or the rule behind the limit begins or ends. */
function nearestEdge(
  { marks, profiles, rules }: RecordedLocation,
  instant: EpochMs,
  direction: 1 | -1,
): EpochMs | undefined {
  let nearest: EpochMs | undefined;
  const look = (edge: EpochMs) => {
    const isAhead = direction * (edge - instant) > 0;
    if (isAhead && (nearest === undefined || direction * (nearest - edge) > 0)) nearest = edge;
  };
  for (const { startsAtMs, endsAtMs } of [...marks, ...profiles]) {
    look(startsAtMs);
    look(endsAtMs);
  }
  for (const { atMs } of rules) look(atMs);
  return nearest;
}

/** The marks that begin or end at `instant`. */
function marksAt(marks: readonly Mark[], instant: EpochMs): string {
  const begun = marks.filter(({ startsAtMs }) => startsAtMs === instant).map(wordsOf);
  const ended = marks
    .filter(({ startsAtMs, endsAtMs }) => endsAtMs === instant && endsAtMs > startsAtMs)
    .map((mark) => `${wordsOf(mark)} over`);
  const all = [...begun, ...ended];
  const more = all.length - MOST_MARKS;
  return all.slice(0, MOST_MARKS).join(' · ') + (more > 0 ? ` · and ${more} more` : '');
}

function wordsOf({ kind, what, target, detail }: Mark): string {
  return [kind, what, target, detail].filter((word) => word !== '').join(' ');
}
