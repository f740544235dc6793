// Choice of the span of chart and bars: ranges around now, and buttons to move and zoom.
import { Button } from '../ui/button.js';
import { following, moved, RANGES, type Span, type TimeView, zoomed } from './time-view.js';

const STEP = 0.5;
const FACTOR = 2;

export function TimeRange({
  view,
  span,
  onChange,
}: {
  readonly view: TimeView;
  readonly span: Span;
  readonly onChange: (view: TimeView) => void;
}) {
  return (
    <fieldset class="time-range">
      <legend class="visually-hidden">Time shown</legend>
      {Object.entries(RANGES).map(([name, lengthMs]) => (
        <button
          key={name}
          type="button"
          class="button"
          aria-pressed={view.startsAtMs === undefined && view.lengthMs === lengthMs}
          onClick={() => onChange(following(lengthMs))}
        >
          {name}
        </button>
      ))}
      <Button label="◀ Earlier" onClick={() => onChange(moved(span, -STEP))}>
        ◀
      </Button>
      <Button label="▶ Later" onClick={() => onChange(moved(span, STEP))}>
        ▶
      </Button>
      <Button label="+ Zoom in" onClick={() => onChange(zoomed(span, 1 / FACTOR))}>
        +
      </Button>
      <Button label="− Zoom out" onClick={() => onChange(zoomed(span, FACTOR))}>
        −
      </Button>
      <Button disabled={view.startsAtMs === undefined} onClick={() => onChange(following(view.lengthMs))}>
        Follow now
      </Button>
    </fieldset>
  );
}
