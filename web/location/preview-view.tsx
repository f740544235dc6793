// Shows a preview: the limit without and with the change as a chart, and the changed spans as a table.

import { kwText } from '../../machines/values/figures.js';
import type { EpochMs } from '../../machines/values/time.js';
import { Time } from '../ui/time.js';
import { type ChangedSpan, type LimitChange, type LimitState, type Preview, previewOf } from './preview.js';
import type { StepLine } from './step-line.js';
import { StepPlot } from './step-plot.js';
import type { Span } from './time-view.js';

const HEIGHT_PX = 140;
const HOUR_MS = 3_600_000;
const SPANS_SHOWN = 20;

/** For a target without clusters and a connection, so that its own profiles alone decide. */
export function OwnPreview({
  state,
  change,
  unlimited,
  nowMs,
}: {
  readonly state: LimitState;
  readonly change: LimitChange | undefined;
  readonly unlimited: string;
  readonly nowMs: EpochMs;
}) {
  return <PreviewView preview={change && previewOf(state, change, nowMs)} unlimited={unlimited} />;
}

export function PreviewView({
  preview,
  unlimited,
  isLoading = false,
}: {
  readonly preview: Preview | undefined;
  readonly isLoading?: boolean;
  /** Text for a time without a limit. */
  readonly unlimited: string;
}) {
  return (
    <section class="preview" aria-label="Preview">
      <h3>Preview</h3>
      {isLoading && <p class="quiet small">Loading…</p>}
      {preview === undefined && !isLoading && (
        <p class="quiet small">Fill in the fields to preview the limit.</p>
      )}
      {preview !== undefined && preview.changed.length === 0 && (
        <p>The limit would not change at any time.</p>
      )}
      {preview !== undefined && preview.changed.length > 0 && (
        <>
          <ul class="legend" aria-hidden="true">
            <li class="before">Planned now</li>
            <li class="after">With this change</li>
          </ul>
          <StepPlot
            lines={[
              { label: 'Planned now', line: lineOf(preview.before), colour: 'muted', dash: [6, 4] },
              { label: 'With this change', line: lineOf(preview.after), colour: 'effective', isFilled: true },
            ]}
            unit="kW"
            span={spanOfPreview(preview)}
            heightPx={HEIGHT_PX}
            markMs={preview.window.startsAtMs}
          />
          <ChangedSpans preview={preview} unlimited={unlimited} />
        </>
      )}
    </section>
  );
}

function ChangedSpans({ preview, unlimited }: { readonly preview: Preview; readonly unlimited: string }) {
  const limitText = (kw: number | undefined) => (kw === undefined ? unlimited : kwText(kw));
  const more = preview.changed.length - SPANS_SHOWN;
  return (
    <>
      <table class="changed-spans" aria-label="Changes">
        <thead>
          <tr>
            <th scope="col">From</th>
            <th scope="col">Until</th>
            <th scope="col">Planned</th>
            <th scope="col">Then</th>
          </tr>
        </thead>
        <tbody>
          {preview.changed.slice(0, SPANS_SHOWN).map(({ startsAtMs, endsAtMs, beforeKw, afterKw }) => (
            <tr key={startsAtMs}>
              <td>
                {startsAtMs <= preview.window.startsAtMs ? 'now' : <Time at={iso(startsAtMs)} isShort />}
              </td>
              <td>{isOpenEnded(preview, endsAtMs) ? 'further on' : <Time at={iso(endsAtMs)} isShort />}</td>
              <td>{limitText(beforeKw)}</td>
              <td>
                <strong>{limitText(afterKw)}</strong>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {more > 0 && <p class="quiet small">And {more} more spans.</p>}
    </>
  );
}

const iso = (atMs: number) => new Date(atMs).toISOString();

function isOpenEnded({ window }: Preview, endsAtMs: number): boolean {
  return endsAtMs >= window.endsAtMs;
}

function lineOf(segments: Preview['before']): StepLine {
  return segments.map(({ startsAtMs, limitKw }) => ({ atMs: startsAtMs, value: limitKw ?? null }));
}

/** The changed spans, with a margin. */
function spanOfPreview(preview: Preview): Span {
  const [first] = preview.changed;
  const last: ChangedSpan | undefined = preview.changed.at(-1);
  if (first === undefined || last === undefined) return { fromMs: 0, toMs: 1 };
  const endsAtMs = isOpenEnded(preview, last.endsAtMs) ? last.startsAtMs + HOUR_MS : last.endsAtMs;
  const room = Math.ceil((endsAtMs - first.startsAtMs) / 5);
  return { fromMs: first.startsAtMs - room, toMs: endsAtMs + room };
}
