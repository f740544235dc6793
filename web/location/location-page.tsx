// Page of one location: live, over time, by connector, and at any past instant.
import type { FuseLive } from '../../src/features/live/contract.js';
import type { LocationLive } from '../../src/features/live-contract.js';
import './location.css';
import { useState } from 'preact/hooks';
import { kwText } from '../../machines/values/figures.js';
import type { EpochMs } from '../../machines/values/time.js';
import type { PeakShavingView } from '../../src/features/peak-shaving/contract.js';
import type { SiteMeterView } from '../../src/features/site-meter/contract.js';
import type { Resource } from '../api/resource.js';
import { hrefOf } from '../route.js';
import { useTitle } from '../shell/title.js';
import { Badge } from '../ui/badge.js';
import { ErrorNotice } from '../ui/notice.js';
import { localText } from '../ui/time.js';
import { AsOfBar, PastHead } from './as-of.js';
import { ConnectorList } from './connector-list.js';
import { DeparturesSection } from './departures-section.js';
import { Figure, FigureRow } from './figure-row.js';
import { FuseGrid } from './fuse-grid.js';
import { FuseTable } from './fuse-table.js';
import { LimitsSection } from './limits-section.js';
import { LiveHead } from './live-head.js';
import { PastFuses } from './past-fuses.js';
import { Sentence } from './sentence.js';
import { useEverySecond, useServerClock } from './server-clock.js';
import { following, RANGES, spanOf, type TimeView } from './time-view.js';
import { UsageSection } from './usage-section.js';
import { type ChartLines, useChartLines, usePast, useTimeline } from './use-chart-lines.js';
import { useLiveLines } from './use-live-lines.js';
import { useLocation } from './use-location.js';
import { type PastState, usePastState } from './use-past-state.js';

// The building behind the same connection: its load and the remaining capacity as a bar, as figures and as a sentence.
const STATE_WORDS: Readonly<Record<string, string>> = {
  FADING: 'reading late',
  STALE: 'meter silent',
  DISTRUSTED: 'meter implausible',
};

function BuildingSection({
  siteMeter,
  actualKw,
}: {
  readonly siteMeter: SiteMeterView | null;
  readonly actualKw: number;
}) {
  if (siteMeter === null) return null;
  const { state, buildingKw, reserveKw, leavesKw, connectionKw, powerKw, explanation } = siteMeter;
  const words = STATE_WORDS[state];
  return (
    <section class="panel stack" aria-label="Building">
      <h2>Building {words !== undefined && <Badge tone="warning">{words}</Badge>}</h2>
      <StackedBar
        parts={[
          { kw: Math.max(0, buildingKw), of: 'building' },
          { kw: reserveKw, of: 'reserve' },
          { kw: actualKw, of: 'chargers' },
        ]}
        wholeKw={connectionKw}
      />
      <FigureRow>
        <Figure name="Building" note="its highest power in the last minute">
          {kwText(buildingKw)}
        </Figure>
        <Figure name="Reserve" note="kept free for it to rise">
          {kwText(reserveKw)}
        </Figure>
        <Figure name="Chargers draw" note={`of ${kwText(leavesKw)} left for them`}>
          {kwText(actualKw)}
        </Figure>
        <Figure name="Meter" note={`of the ${kwText(connectionKw)} of the connection`}>
          {powerKw === null ? '–' : kwText(powerKw)}
        </Figure>
      </FigureRow>
      <p class="cause">{explanation}</p>
    </section>
  );
}

interface Part {
  readonly kw: number;
  readonly of: 'building' | 'reserve' | 'chargers';
}

/** Hidden from screen readers, because the figures below carry the same information. */
function StackedBar({ parts, wholeKw }: { readonly parts: readonly Part[]; readonly wholeKw: number }) {
  return (
    <span class="stacked" aria-hidden="true">
      {parts.map(({ kw, of }) => (
        <span
          key={of}
          class={of}
          style={{ flexBasis: `${Math.min(100, (100 * kw) / Math.max(wholeKw, 1e-9))}%` }}
        />
      ))}
    </span>
  );
}

// The connection and the feeders of a location: the current and the reserved current of each phase, and full phases.
function FusesSection({ fuses }: { readonly fuses: readonly FuseLive[] }) {
  if (fuses.length === 0) return null;
  const ordered = [...fuses].sort((a, b) => urgencyOf(b) - urgencyOf(a));
  return (
    <section class="panel stack" aria-label="Fuses">
      <h2>Fuses</h2>
      <FuseGrid fuses={ordered} fuse={(fuse) => <Fuse key={fuse.feeder ?? ''} fuse={fuse} />} />
    </section>
  );
}

type PhaseLive = FuseLive['phases'][number];

/** A difference below a tenth of an ampere comes from rounding. */
function isOverbooked({ reservedA, ratedA }: PhaseLive): boolean {
  return reservedA > ratedA + 0.05;
}

/** Overbooked fuses come first, then fuses that keep a connector from a higher limit. */
function urgencyOf({ phases }: FuseLive): number {
  if (phases.some(isOverbooked)) return 2;
  return phases.some(({ isFull }) => isFull) ? 1 : 0;
}

function PhaseBadge({ phase }: { readonly phase: PhaseLive }) {
  if (isOverbooked(phase)) return <Badge tone="bad">overbooked</Badge>;
  return phase.isFull ? <Badge tone="warning">full</Badge> : null;
}

function Fuse({ fuse: { feeder, parent, phases } }: { readonly fuse: FuseLive }) {
  return (
    <FuseTable
      caption={feeder ?? 'Connection'}
      parent={parent}
      columns={['Draws A', 'Reserved A']}
      rows={phases.map((each) => ({
        phase: each.phase,
        badge: <PhaseBadge phase={each} />,
        usedA: each.measuredA,
        ratedA: each.ratedA,
        isOver: isOverbooked(each),
        figures: [each.measuredA, each.reservedA],
      }))}
    />
  );
}

// Peak shaving: the used energy of the billed window as a bar, as figures and as a sentence.
function PeakShavingSection({ peakShaving }: { readonly peakShaving: PeakShavingView | null }) {
  if (peakShaving === null) return null;
  const { limitKw, usedKwh, allowedKwh, leavesKw, windowEndsAt, explanation } = peakShaving;
  const share = Math.min(1, usedKwh / Math.max(allowedKwh, 1e-9));
  return (
    <section class="panel stack" aria-label="Peak shaving">
      <h2>Peak shaving</h2>
      {/* Hidden from screen readers, because the figures below carry the same information. */}
      <span class="stacked" aria-hidden="true">
        <span class="chargers" style={{ flexBasis: `${100 * share}%` }} />
      </span>
      <FigureRow>
        <Figure name="Used" note={`of ${allowedKwh} kWh until ${localText(windowEndsAt)}`}>
          {`${usedKwh} kWh`}
        </Figure>
        <Figure name="Average" note="highest allowed import">
          {kwText(limitKw)}
        </Figure>
        <Figure name="Left for chargers" note="for the rest of the window">
          {kwText(leavesKw)}
        </Figure>
      </FigureRow>
      <p class="cause">
        <Sentence text={explanation} />
      </p>
    </section>
  );
}

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
        <DeparturesSection locationId={locationId} departures={live.value.departures} nowMs={nowMs} />
      )}
      {asOfMs === undefined && live.value !== undefined && (
        <ConnectorList live={live.value} clock={clock} onWritten={reread} />
      )}
      {asOfMs === undefined && live.value !== undefined && (
        <UsageSection locationId={locationId} connectors={live.value.connectors} nowMs={nowMs} />
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
