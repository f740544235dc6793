// Limits and power of a location on one time axis, its profile stack, and forms to change it.
import { useState } from 'preact/hooks';
import type { EpochMs } from '../../machines/values/time.js';
import type { LocationLimits } from '../../src/wire/rest.js';
import { path } from '../api/client.js';
import { Button } from '../ui/button.js';
import { Dialog } from '../ui/dialog.js';
import { CancellableProfiles } from './cancellable-profiles.js';
import { LocationPreview } from './location-preview.js';
import { PermanentLimitForm } from './permanent-limit-form.js';
import { PhaseChart, type ShownFeeder } from './phase-chart.js';
import { PowerChart } from './power-chart.js';
import { type LimitState, stackOf } from './preview.js';
import { ProfileLanes } from './profile-lanes.js';
import { ProfileTable } from './profile-table.js';
import { ScheduleForm } from './schedule-form.js';
import type { ServerClock } from './server-clock.js';
import { stackedAt } from './stacked-profiles.js';
import { TimeRange } from './time-range.js';
import { type Span, showing, type TimeView } from './time-view.js';
import type { ChartLines } from './use-chart-lines.js';

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
