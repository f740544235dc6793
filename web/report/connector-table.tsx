// The connectors at the chosen instant, with a strip of the whole visible time for each.
import { useMemo, useState } from 'preact/hooks';
import { counted } from '../../machines/values/counted.js';
import { LIMIT_A, LOCK, NAME, NarrowState, nameOf, POWER, STATE } from '../location/connector-columns.js';
import type { Span } from '../location/time-view.js';
import { Field } from '../ui/field.js';
import { type Column, Table } from '../ui/table.js';
import { Canvas, type Surface } from './canvas.js';
import { durationText } from './instant-text.js';
import { GROUP_OF_REASON, REASON_GROUPS, type ReasonGroup, reasonWords } from './reasons.js';
import {
  type ConnectorAt,
  connectorsAt,
  placeAt,
  type RecordedConnector,
  type RecordedLocation,
  ruleAt,
} from './recorded-location.js';
import type { Viewpoint } from './viewpoint.js';

/** A shorter list needs no search field. */
const FILTERED_FROM = 12;

/** A connector at the instant, with all that its row shows. */
interface Row extends ConnectorAt {
  readonly why: string;
  readonly span: Span;
}

const LEASE: Column<Row> = {
  key: 'lease',
  header: 'Lease',
  class: 'lease',
  isWideOnly: true,
  cell: ({ link, isLeased }) => (link === 'offline' ? '–' : isLeased ? 'held' : 'none'),
};

const WHY: Column<Row> = {
  key: 'reason',
  header: 'Why',
  class: 'why',
  cell: (row) => (
    <>
      <NarrowState connector={row} />
      <span class={`reason ${GROUP_OF_REASON[row.reason]}`}>{row.why}</span>
      <span class="narrow-only strip">
        <Strip connector={row.recorded} span={row.span} />
      </span>
    </>
  ),
  sortValue: ({ why }) => why,
};

const OVER_TIME: Column<Row> = {
  key: 'overTime',
  header: 'Over time',
  class: 'strip',
  isWideOnly: true,
  cell: ({ recorded, span }) => <Strip connector={recorded} span={span} />,
};

const ENERGY: Column<Row> = {
  key: 'energy',
  header: 'Energy kWh',
  align: 'end',
  class: 'figure',
  isWideOnly: true,
  cell: ({ recorded: { summary } }) =>
    summary && (
      <span
        title={`of ${(summary.requestedWh / 1000).toFixed(1)} kWh requested in ${counted(summary.sessions, 'session')}`}
      >
        {(summary.deliveredWh / 1000).toFixed(1)}
      </span>
    ),
  sortValue: ({ recorded: { summary } }) => summary?.deliveredWh ?? 0,
};

const THROTTLED: Column<Row> = {
  key: 'throttled',
  header: 'Throttled',
  align: 'end',
  class: 'figure',
  isWideOnly: true,
  cell: ({ recorded: { summary } }) =>
    summary && (
      <span
        title={`paused ${durationText(summary.pausedS)}, ${counted(summary.limitChanges, 'change')} of limit`}
      >
        {durationText(summary.throttledS)}
      </span>
    ),
  sortValue: ({ recorded: { summary } }) => summary?.throttledS ?? 0,
};

const COLUMNS: readonly Column<Row>[] = [
  NAME,
  STATE,
  POWER,
  { ...LIMIT_A, isWideOnly: false },
  LEASE,
  LOCK,
  WHY,
  OVER_TIME,
  ENERGY,
  THROTTLED,
];

export function ConnectorTable({
  location,
  viewpoint: { instant, span },
}: {
  readonly location: RecordedLocation;
  readonly viewpoint: Viewpoint;
}) {
  const [wanted, setWanted] = useState('');
  const rows = useMemo(() => {
    const rule = ruleAt(location, instant);
    return connectorsAt(location, instant).map(
      (connector): Row => ({ ...connector, why: reasonWords(connector.reason, rule), span }),
    );
  }, [location, instant, span]);
  const shown = rows.filter((row) => nameOf(row).toLowerCase().includes(wanted.trim().toLowerCase()));
  return (
    <section class="stack connectors" aria-label="Connectors">
      <div class="row between">
        <h2>Connectors: {countsOf(rows)}</h2>
        {rows.length >= FILTERED_FROM && (
          <Field label="Filter connectors" type="search" value={wanted} onInput={setWanted} />
        )}
      </div>
      <ul class="reasons small quiet" aria-label="Colours">
        {Object.entries(REASON_GROUPS).map(([group, words]) => (
          <li key={group} class={`reason ${group}`}>
            {words}
          </li>
        ))}
        <li>Height: power. Line on top: red offline, grey no lease.</li>
      </ul>
      <Table
        label="Connectors"
        columns={COLUMNS}
        rows={shown}
        rowKey={nameOf}
        firstOrder={{ key: 'name', direction: 'ascending' }}
        empty="No connector has this name."
      />
    </section>
  );
}

function countsOf(rows: readonly Row[]): string {
  const counts = new Map<string, number>();
  const count = (what: string) => counts.set(what, (counts.get(what) ?? 0) + 1);
  for (const { actualKw, reason, link } of rows) {
    const group = GROUP_OF_REASON[reason];
    if (actualKw > 0) count('charging');
    if (group === 'shared' || group === 'waiting') count('sharing');
    if (group === 'paused') count('paused');
    if (group === 'lock' || group === 'last-resort') count('locked');
    if (group === 'failsafe') count('on fail-safe');
    if (link === 'offline') count('offline');
  }
  return [String(rows.length), ...[...counts].map(([what, number]) => `${number} ${what}`)].join(', ');
}

function Strip({ connector, span }: { readonly connector: RecordedConnector; readonly span: Span }) {
  return (
    <Canvas
      label={`${connector.name} over time`}
      inputs={[connector, span.fromMs, span.toMs]}
      draw={(surface) => drawStrip(surface, connector, span)}
    />
  );
}

const LINK_PX = 2;

/** The reason of the limit as colour, power as height, failed links as a line on top. */
function drawStrip(
  { context, width, height, colour }: Surface,
  connector: RecordedConnector,
  span: Span,
): void {
  const msPerPx = (span.toMs - span.fromMs) / width;
  for (let x = 0; x < width; x++) {
    const fromMs = span.fromMs + x * msPerPx;
    const slice = sliceOf(connector, fromMs, fromMs + msPerPx);
    if (slice === undefined) continue;
    context.fillStyle = colour(slice.group);
    const barPx = Math.round((height * slice.powerW) / connector.peakW);
    if (slice.group !== 'idle') {
      context.globalAlpha = 0.25;
      context.fillRect(x, 0, 1, height - barPx);
    }
    context.globalAlpha = 1;
    context.fillRect(x, height - barPx, 1, barPx);
    if (slice.isOnline && (slice.isLeased || slice.group === 'idle')) continue;
    context.fillStyle = colour(slice.isOnline ? 'muted' : 'bad');
    context.fillRect(x, 0, 1, LINK_PX);
  }
}

/** Content of one column of pixels: the mode that lasted longest, and the mean power. */
interface Slice {
  readonly group: ReasonGroup;
  readonly isOnline: boolean;
  readonly isLeased: boolean;
  readonly powerW: number;
}

function sliceOf(connector: RecordedConnector, fromMs: number, toMs: number): Slice | undefined {
  const { atMs, powerW, modes } = connector;
  let longestMs = 0;
  let longest = -1;
  let energy = 0;
  for (let i = Math.max(placeAt(atMs, fromMs), 0); i < atMs.length; i++) {
    const startsAtMs = Math.max(atMs[i] ?? 0, fromMs);
    if (startsAtMs >= toMs) break;
    const ms = Math.min(atMs[i + 1] ?? toMs, toMs) - startsAtMs;
    energy += ms * (powerW[i] ?? 0);
    if (ms <= longestMs) continue;
    longestMs = ms;
    longest = i;
  }
  const mode = modes[longest];
  if (mode === undefined) return undefined;
  const { reason, isOnline, isLeased } = mode;
  return { group: GROUP_OF_REASON[reason], isOnline, isLeased, powerW: energy / (toMs - fromMs) };
}
