// Limits and power of a location on one time axis, its profile stack, and forms to change it.
import { useState } from 'preact/hooks';
import { kwText } from '../../machines/values/figures.js';
import type { EpochMs } from '../../machines/values/time.js';
import type { LocationLimits } from '../../src/features/profiles/contract.js';
import { path } from '../api/client.js';
import { announce } from '../ui/announce.js';
import { Button } from '../ui/button.js';
import { Dialog } from '../ui/dialog.js';
import { Field } from '../ui/field.js';
import { CancellableProfiles } from './cancellable-profiles.js';
import { LocationPreview } from './location-preview.js';
import { PhaseChart, type ShownFeeder } from './phase-chart.js';
import { PowerChart } from './power-chart.js';
import { type LimitState, stackOf } from './preview.js';
import { kwOf, limitOf, messagesByField } from './profile-draft.js';
import { ProfileTable } from './profile-table.js';
import { ScheduleForm } from './schedule-form.js';
import type { ServerClock } from './server-clock.js';
import { type StackedProfile, stackedAt } from './stacked-profiles.js';
import { SubmissionForm } from './submission-form.js';
import { following, moved, RANGES, type Span, showing, type TimeView, zoomed } from './time-view.js';
import type { ChartLines } from './use-chart-lines.js';
import { useSubmission } from './use-submission.js';

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
