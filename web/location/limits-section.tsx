// Limits and power of a location on one time axis, its profile stack, and forms to change it.
import { useEffect, useState } from 'preact/hooks';
import { kwText } from '../../machines/values/figures.js';
import type { EpochMs } from '../../machines/values/time.js';
import type { LocationTimeline } from '../../src/features/locations/contract.js';
import type { LocationLimits } from '../../src/features/profiles/contract.js';
import type { ApiError } from '../api/api-error.js';
import { path } from '../api/client.js';
import { useResource } from '../api/resource.js';
import { announce } from '../ui/announce.js';
import { Button } from '../ui/button.js';
import { Dialog } from '../ui/dialog.js';
import { Field } from '../ui/field.js';
import { ErrorNotice } from '../ui/notice.js';
import { CancellableProfiles } from './cancellable-profiles.js';
import { PhaseChart, type ShownFeeder } from './phase-chart.js';
import { PowerChart } from './power-chart.js';
import {
  type LimitChange,
  type LimitState,
  type Preview,
  previewOfTimelines,
  previewWindow,
  stackOf,
} from './preview.js';
import { PreviewView } from './preview-view.js';
import { kwOf, limitOf, messagesByField } from './profile-draft.js';
import { ProfileTable } from './profile-table.js';
import { ScheduleForm } from './schedule-form.js';
import type { ServerClock } from './server-clock.js';
import { type StackedProfile, stackedAt } from './stacked-profiles.js';
import { SubmissionForm } from './submission-form.js';
import { following, moved, RANGES, type Span, showing, type TimeView, zoomed } from './time-view.js';
import type { ChartLines } from './use-chart-lines.js';
import { useSubmission } from './use-submission.js';

// Preview of a change to a location's own limits: the resulting limit in force, with clusters and connection.

// Limit in force of a location with a change. The service computes it, because it has all members of the clusters.

/** Waits for a pause in the typing, because a number has more than one digit. */
const TYPED_WITHIN_MS = 250;
/** Longest span of a timeline, less a day's margin. */
const LONGEST_MS = 365 * 86_400_000;
/** The timelines are requested again after the current time has moved by this much. */
const NOW_STEP_MS = 10_000;

interface LocationPreviewState {
  /** Of the given change; undefined until it is read. */
  readonly preview: Preview | undefined;
  readonly error: ApiError | undefined;
}

function useLocationPreview(
  locationId: string,
  state: LimitState,
  change: LimitChange | undefined,
  nowMs: EpochMs,
): LocationPreviewState {
  const asked = change === undefined ? undefined : queryOf(change);
  const query = useDebounced(asked);
  const fromMs = Math.floor(nowMs / NOW_STEP_MS) * NOW_STEP_MS;
  const endsAtMs = change === undefined ? fromMs : previewWindow(state, change, fromMs).endsAtMs;
  const toMs = Math.min(endsAtMs, fromMs + LONGEST_MS);
  const { value, error } = useResource(
    async (client, signal) => {
      if (query === undefined || toMs <= fromMs) return undefined;
      const [from, to] = [fromMs, toMs].map((atMs) => new Date(atMs).toISOString());
      const address = path`/locations/${locationId}/timeline?from=${from ?? ''}&to=${to ?? ''}`;
      const [before, after] = await Promise.all([
        client.get<LocationTimeline>(address, signal),
        client.get<LocationTimeline>(`${address}&${query}`, signal),
      ]);
      return { query, preview: previewOfTimelines(before, after) };
    },
    [locationId, query, fromMs, toMs],
  );
  return { preview: value?.query === asked ? value?.preview : undefined, error };
}

function queryOf(change: LimitChange): string {
  if (change.kind === 'permanentLimit') return path`withPermanentLimitKw=${String(change.limitKw)}`;
  if (change.kind === 'cancellation') return path`withoutPriority=${String(change.priority)}`;
  const { priority, limitKw, startsAtMs, endsAtMs } = change.profile;
  const [start, end] = [startsAtMs, endsAtMs].map((atMs) => new Date(atMs).toISOString());
  const window = path`withStartTime=${start ?? ''}&withEndTime=${end ?? ''}`;
  return `${window}&${path`withLimitKw=${String(limitKw)}&withPriority=${String(priority)}`}`;
}

/** The newest value after it has not changed for a moment. */
function useDebounced(value: string | undefined): string | undefined {
  const [debounced, setDebounced] = useState(value);
  useEffect(() => {
    const timer = window.setTimeout(() => setDebounced(value), TYPED_WITHIN_MS);
    return () => window.clearTimeout(timer);
  }, [value]);
  return debounced;
}

function LocationPreview({
  locationId,
  state,
  change,
  nowMs,
}: {
  readonly locationId: string;
  readonly state: LimitState;
  /** Undefined as long as the fields are not a valid change. */
  readonly change: LimitChange | undefined;
  readonly nowMs: EpochMs;
}) {
  const { preview, error } = useLocationPreview(locationId, state, change, nowMs);
  if (change !== undefined && error !== undefined) return <ErrorNotice error={error} />;
  return (
    <div>
      <PreviewView
        preview={preview}
        unlimited="no limit"
        isLoading={change !== undefined && preview === undefined}
      />
      <p class="quiet small">
        Limits in force: cluster shares, the grid operator, peak shaving, the building and the connection
        count with their present values.
      </p>
    </div>
  );
}

// Form for the permanent limit, which applies without an active profile. A preview shows the effect first.
function PermanentLimitForm({
  locationId,
  state,
  clock,
  onWritten,
  onDone,
}: {
  readonly locationId: string;
  readonly state: LimitState;
  readonly clock: ServerClock;
  readonly onWritten: () => void;
  /** Called after a write without warnings, or after the user has read them. */
  readonly onDone: () => void;
}) {
  const [text, setText] = useState(() => String(state.fallbackKw ?? ''));
  const submission = useSubmission<object>(({ warnings }) => {
    announce('The permanent limit was set.', warnings.length > 0 ? 'warning' : 'good');
    onWritten();
    if (warnings.length === 0) onDone();
  });
  const message = messagesByField(submission.error, ['limitKw']).get('limitKw');
  const limitKw = kwOf(text);
  const canPreview = limitKw !== undefined && limitKw > 0;
  return (
    <SubmissionForm
      submission={submission}
      write={(client) => client.put(path`/locations/${locationId}/limit`, limitOf(text))}
      isToldAtFields={message !== undefined}
      submitText="Set the permanent limit"
      onDone={onDone}
    >
      <Field
        label="Permanent limit in kW"
        inputMode="decimal"
        autoComplete="off"
        value={text}
        error={message}
        onInput={setText}
      />
      <LocationPreview
        locationId={locationId}
        state={state}
        change={canPreview ? { kind: 'permanentLimit', limitKw } : undefined}
        nowMs={clock.nowMs()}
      />
    </SubmissionForm>
  );
}

// The profile stack as bars on the time axis of the chart above: a lane for each priority, the highest on top.

/** Hidden from screen readers, because the table next to it carries the same information. */
function ProfileLanes({
  profiles,
  span,
  markMs,
}: {
  readonly profiles: readonly StackedProfile[];
  readonly span: Span;
  readonly markMs: EpochMs;
}) {
  const { fromMs, toMs } = span;
  const percent = (atMs: EpochMs) => (100 * (atMs - fromMs)) / (toMs - fromMs);
  const mark = percent(markMs);
  return (
    <div class="profile-lanes" aria-hidden="true">
      {profiles.map(({ priority, limitKw, status, isDeciding, startsAtMs, endsAtMs }) => {
        const left = Math.max(0, percent(startsAtMs));
        const right = Math.min(100, percent(endsAtMs));
        return (
          <div key={priority} class="lane">
            <span class="priority">P{priority}</span>
            <span class="track">
              {right > left && (
                <span
                  class={`profile-bar ${status.toLowerCase()}${isDeciding ? ' deciding' : ''}`}
                  style={{ left: `${left}%`, width: `${right - left}%` }}
                  title={`Priority ${priority}: ${kwText(limitKw)}, ${status}`}
                >
                  <span>
                    {kwText(limitKw)} {isDeciding ? 'decides' : status.toLowerCase()}
                  </span>
                </span>
              )}
            </span>
          </div>
        );
      })}
      {mark >= 0 && mark <= 100 && (
        <div class="mark-track">
          <span class="mark" style={{ left: `${mark}%` }} />
        </div>
      )}
    </div>
  );
}

// Choice of the span of chart and bars: ranges around now, and buttons to move and zoom.
const STEP = 0.5;
const FACTOR = 2;

function TimeRange({
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

/** The text does not mention the limit in force, because other rules may keep it lower. */
const NO_PROFILES = 'No profiles: the effective limit is the permanent limit.';

interface Props {
  readonly locationId: string;
  /** Of now, or of the chosen past instant. */
  readonly limits: LocationLimits | undefined;
  readonly lines: ChartLines;
  /** The current limit in force, kW; undefined until it is read. */
  readonly inForceNowKw: number | undefined;
  readonly feeder: ShownFeeder;
  readonly view: TimeView;
  readonly span: Span;
  readonly onView: (view: TimeView) => void;
  readonly clock: ServerClock;
  readonly asOfMs: EpochMs | undefined;
  readonly onWritten: () => void;
}

export function LimitsSection(props: Props) {
  const { locationId, limits, lines, inForceNowKw, feeder, view, span, onView, clock, asOfMs, onWritten } =
    props;
  const nowMs = clock.nowMs();
  const state: LimitState = {
    stack: stackOf(limits?.profiles ?? []),
    fallbackKw: limits?.permanentLimitKw,
  };
  const profiles = limits === undefined ? undefined : stackedAt(limits.profiles, asOfMs ?? nowMs);
  return (
    <section class={`panel stack limits${asOfMs === undefined ? '' : ' past'}`} aria-label="Limits and power">
      <div class="row between">
        <h2>Limits and power</h2>
        <TimeRange view={view} span={span} onChange={onView} />
      </div>
      <PowerChart
        lines={lines}
        span={span}
        nowMs={nowMs}
        inForceNowKw={inForceNowKw}
        asOfMs={asOfMs}
        onSelect={(selected) => onView(showing(selected))}
      />
      <PhaseChart
        feeder={feeder}
        phasesA={lines.phasesA}
        phasesOf={lines.phasesOf}
        span={span}
        nowMs={nowMs}
        asOfMs={asOfMs}
        onSelect={(selected) => onView(showing(selected))}
      />
      {profiles !== undefined && (
        <>
          <ProfileLanes profiles={profiles} span={span} markMs={asOfMs ?? nowMs} />
          {asOfMs === undefined ? (
            <CancellableProfiles
              label="Profiles"
              profiles={profiles}
              empty={NO_PROFILES}
              address={path`/locations/${locationId}/schedules`}
              preview={(change) => (
                <LocationPreview locationId={locationId} state={state} change={change} nowMs={nowMs} />
              )}
              onCancelled={onWritten}
            />
          ) : (
            <ProfileTable label="Profiles as they were" profiles={profiles} empty={NO_PROFILES} />
          )}
        </>
      )}
      {limits !== undefined && asOfMs === undefined && <Changes {...props} limits={limits} />}
    </section>
  );
}

function Changes({ locationId, limits, clock, onWritten }: Props & { readonly limits: LocationLimits }) {
  const [open, setOpen] = useState<'schedule' | 'permanentLimit'>();
  const state: LimitState = { stack: stackOf(limits.profiles), fallbackKw: limits.permanentLimitKw };
  const close = () => setOpen(undefined);
  return (
    <div class="row">
      <Button kind="primary" onClick={() => setOpen('schedule')}>
        Set a schedule…
      </Button>
      <Button onClick={() => setOpen('permanentLimit')}>Change the permanent limit…</Button>
      {open === 'schedule' && (
        <Dialog title="Set a schedule" onClose={close}>
          <ScheduleForm
            address={path`/locations/${locationId}/schedules`}
            state={state}
            preview={(change) => (
              <LocationPreview locationId={locationId} state={state} change={change} nowMs={clock.nowMs()} />
            )}
            submitText="Set the schedule"
            clock={clock}
            onWritten={onWritten}
            onDone={close}
          />
        </Dialog>
      )}
      {open === 'permanentLimit' && (
        <Dialog title="Change the permanent limit" onClose={close}>
          <PermanentLimitForm
            locationId={locationId}
            state={state}
            clock={clock}
            onWritten={onWritten}
            onDone={close}
          />
        </Dialog>
      )}
    </div>
  );
}
