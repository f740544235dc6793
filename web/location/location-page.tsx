// Page of one location: live, over time, by connector, and at any past instant.
import type { LocationLive } from '../../src/wire/operator-locations.js';
import './location.css';
import { useState } from 'preact/hooks';
import type { EpochMs } from '../../machines/values/time.js';
import type { Resource } from '../api/resource.js';
import { hrefOf } from '../route.js';
import { useTitle } from '../shell/title.js';
import { Badge } from '../ui/badge.js';
import { ErrorNotice } from '../ui/notice.js';
import { AsOfBar, PastHead } from './as-of.js';
import { BuildingSection } from './building-section.js';
import { ConnectorList } from './connector-list.js';
import { FusesSection } from './fuses-section.js';
import { LimitsSection } from './limits-section.js';
import { LiveHead } from './live-head.js';
import { PastFuses } from './past-fuses.js';
import { PeakShavingSection } from './peak-shaving-section.js';
import { useEverySecond, useServerClock } from './server-clock.js';
import { following, RANGES, spanOf, type TimeView } from './time-view.js';
import { type ChartLines, useChartLines, usePast, useTimeline } from './use-chart-lines.js';
import { useLiveLines } from './use-live-lines.js';
import { useLocation } from './use-location.js';
import { type PastState, usePastState } from './use-past-state.js';

const SOON_MS = 400;

export function LocationPage({ locationId }: { readonly locationId: string }) {
  useEverySecond();
  const [view, setView] = useState<TimeView>(following(RANGES['1 h']));
  const [asOfMs, setAsOf] = useState<EpochMs>();
  const [serverAt, setServerAt] = useState<string>();
  const [feeder, setFeeder] = useState<string>();
  const clock = useServerClock(serverAt);
  const nowMs = clock.nowMs();
  const timeline = useTimeline(locationId, view, nowMs);
  const { live, limits, reread } = useLocation(locationId, () => timeline.reread(SOON_MS));
  const past = usePast(locationId, view, nowMs, live.value?.operatorLimit != null, feeder);
  const pastState = usePastState(locationId, asOfMs);
  const lines = useChartLines(past.value, useLiveLines(live.value), timeline.value);
  if (live.value !== undefined && live.value.at !== serverAt) setServerAt(live.value.at);

  const span = spanOf(view, nowMs);
  const error = live.error ?? limits.error ?? timeline.error ?? past.error;
  const name = live.value?.name ?? locationId;
  useTitle(name);
  const isUnknown = live.error?.code === 'LOCATION_NOT_FOUND';
  return (
    <div class="stack location">
      <div class="row between">
        <Title locationId={locationId} name={name} isInactive={live.value?.status === 'INACTIVE'} />
        {!isUnknown && (
          <AsOfBar
            atMs={asOfMs}
            span={span}
            nowMs={nowMs}
            knownFromMs={past.value?.knownFromMs ?? span.fromMs}
            onChange={setAsOf}
          />
        )}
      </div>
      {error !== undefined && <ErrorNotice error={error} />}
      {asOfMs === undefined && live.value !== undefined && <LiveSections live={live.value} />}
      {asOfMs !== undefined && (
        <PastSections
          atMs={asOfMs}
          past={pastState}
          lines={lines}
          locationId={locationId}
          live={live.value}
        />
      )}
      {!isUnknown && (
        <LimitsSection
          locationId={locationId}
          limits={asOfMs === undefined ? limits.value : pastState.value?.limits}
          lines={lines}
          inForceNowKw={live.value?.gridLimitKw}
          feeder={{ names: feedersOf(live.value), name: feeder, onChoose: setFeeder }}
          view={view}
          span={span}
          onView={setView}
          clock={clock}
          asOfMs={asOfMs}
          onWritten={reread}
        />
      )}
      {asOfMs === undefined && live.value !== undefined && (
        <ConnectorList live={live.value} clock={clock} onWritten={reread} />
      )}
      {asOfMs !== undefined && <p class="quiet">Connectors are shown only as they are now.</p>}
    </div>
  );
}

function feedersOf(live: LocationLive | undefined): readonly string[] {
  return live?.fuses.flatMap(({ feeder }) => feeder ?? []) ?? [];
}

function LiveSections({ live }: { readonly live: LocationLive }) {
  return (
    <>
      <LiveHead live={live} />
      <PeakShavingSection peakShaving={live.peakShaving} />
      <BuildingSection siteMeter={live.siteMeter} actualKw={live.actualKw} />
      <FusesSection fuses={live.fuses} />
    </>
  );
}

function PastSections({
  atMs,
  past,
  lines,
  locationId,
  live,
}: {
  readonly atMs: EpochMs;
  readonly past: Resource<PastState | undefined>;
  readonly lines: ChartLines;
  readonly locationId: string;
  readonly live: LocationLive | undefined;
}) {
  const { value, error } = past;
  return (
    <>
      <PastHead atMs={atMs} past={past} lines={lines} />
      {value !== undefined && error === undefined && (
        <PastFuses locationId={locationId} fuses={live?.fuses ?? []} past={value} />
      )}
    </>
  );
}

function Title({
  locationId,
  name,
  isInactive,
}: {
  readonly locationId: string;
  readonly name: string;
  readonly isInactive: boolean;
}) {
  return (
    <div>
      <a class="small" href={hrefOf('locations')}>
        All locations
      </a>
      <h1>
        {name} {isInactive && <Badge>INACTIVE</Badge>}
      </h1>
      {name !== locationId && <p class="quiet small">{locationId}</p>}
    </div>
  );
}
