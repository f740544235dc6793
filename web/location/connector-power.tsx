// Power of one connector with its limit in a span of days, and both as CSV and as an image.
import { useRef } from 'preact/hooks';
import { kwText } from '../../machines/values/figures.js';
import type { EpochMs } from '../../machines/values/time.js';
import type { ConnectorPower } from '../../src/features/power-history/contract.js';
import { asApiError } from '../api/api-error.js';
import { path } from '../api/client.js';
import { useResource } from '../api/resource.js';
import { useSession } from '../session/session.js';
import { announce } from '../ui/announce.js';
import { Button } from '../ui/button.js';
import { colourOf } from '../ui/colour.js';
import { ErrorNotice } from '../ui/notice.js';
import { saveFile } from '../ui/save-file.js';
import { localText } from '../ui/time.js';
import { Chart } from './chart.js';
import { useEvery } from './server-clock.js';
import { type StepLine, valueAt } from './step-line.js';
import { type Span, stepSecondsOf } from './time-view.js';

const HEIGHT_PX = 200;
const READ_EVERY_MS = 60_000;
/** A file of a longer span has the steps of the chart instead of minutes. */
const MINUTES_AT_MOST_MS = 31 * 86_400_000;
/** Names of the legend and of the line in the style sheet. */
const LEGEND = [
  { colour: 'power', line: 'power', text: 'Power' },
  { colour: 'in-force', line: 'limit', text: 'Limit' },
];

interface Props {
  readonly connector: { readonly controllerUuid: string; readonly connectorId: string };
  readonly span: Span;
  readonly nowMs: EpochMs;
  /** Of the files, without an ending. */
  readonly fileName: string;
}

export function ConnectorPowerSection({ connector, span, nowMs, fileName }: Props) {
  const { controllerUuid, connectorId } = connector;
  const { client } = useSession();
  const shown = useRef<HTMLDivElement>(null);
  const address = `${path`/chargers/${controllerUuid}/connectors/${connectorId}/power`}?from=${iso(span.fromMs)}&to=${iso(span.toMs)}`;
  const step = stepSecondsOf(span);
  const power = useResource(
    (asked, signal) => asked.get<ConnectorPower>(`${address}&step=${step}`, signal),
    [address, step],
  );
  useEvery(READ_EVERY_MS, () => power.reread());
  if (power.error !== undefined) return <ErrorNotice error={power.error} />;
  if (power.value === undefined) return null;
  const { points, stepSeconds } = power.value;
  const title = `Power of ${controllerUuid}/${connectorId}`;
  const powerKw = lineOf(points, stepSeconds, ({ meanKw }) => meanKw);
  const limitKw = lineOf(points, stepSeconds, ({ limitKw: kw }) => kw);

  function saveTable(): void {
    const seconds = span.toMs - span.fromMs > MINUTES_AT_MOST_MS ? step : 60;
    client.table(`${address}&step=${seconds}`).then(
      (text) => saveFile(new Blob([text], { type: 'text/csv' }), `${fileName}.csv`),
      (error) => announce(`No file: ${asApiError(error).message}`, 'warning'),
    );
  }

  function saveImage(): void {
    const canvas = shown.current?.querySelector('canvas');
    if (canvas == null) return;
    imageOf(canvas, `${title}, ${localText(iso(span.fromMs))} to ${localText(iso(span.toMs))}`).toBlob(
      (image) => {
        if (image !== null) saveFile(image, `${fileName}.png`);
      },
      'image/png',
    );
  }

  return (
    <>
      <h3>{title}</h3>
      <div ref={shown}>
        <Chart
          label={title}
          legend={LEGEND}
          lines={[
            { label: 'Power', line: powerKw, colour: 'power', isFilled: true },
            { label: 'Limit', line: limitKw, colour: 'limit' },
          ]}
          unit="kW"
          heightPx={HEIGHT_PX}
          span={span}
          markMs={nowMs}
          readingsAt={(atMs) => [
            ...readingOf('power', valueAt(powerKw, atMs)),
            ...readingOf('limit', valueAt(limitKw, atMs)),
          ]}
        >
          {summaryOf(points, stepSeconds)}
        </Chart>
      </div>
      <div class="row">
        <Button onClick={saveTable}>Power as CSV</Button>
        <Button onClick={saveImage}>Power as PNG</Button>
      </div>
    </>
  );
}

type Point = ConnectorPower['points'][number];

/** A point ends where the next one begins; null after the last one before a silence. */
function lineOf(
  points: readonly Point[],
  stepSeconds: number,
  kwOf: (point: Point) => number | null,
): StepLine {
  return points.flatMap((point, nth) => {
    const atMs = Date.parse(point.at);
    const endsAtMs = atMs + 1_000 * stepSeconds;
    const next = points[nth + 1];
    const isLast = next === undefined || Date.parse(next.at) > endsAtMs;
    const step = { atMs, value: kwOf(point) };
    return isLast ? [step, { atMs: endsAtMs, value: null }] : [step];
  });
}

function readingOf(name: string, value: number | null): string[] {
  return value === null ? [] : [`${name} ${kwText(value)}`];
}

function summaryOf(points: readonly Point[], stepSeconds: number): string {
  if (points.length === 0) return 'No power of this connector is recorded for these days.';
  const most = Math.max(...points.map(({ maxKw }) => maxKw));
  const limits = points.flatMap(({ limitKw }) => limitKw ?? []);
  const means = `Each value is the mean of ${stepSeconds === 60 ? 'a minute' : `${stepSeconds / 60} minutes`}.`;
  const limited =
    limits.length === 0
      ? 'It was sent no limit.'
      : `Its limit was between ${kwText(Math.min(...limits))} and ${kwText(Math.max(...limits))}.`;
  return `The connector drew at most ${kwText(most)} in a minute. ${limited} ${means}`;
}

const MARGIN = 12;
const LINE = 22;

/** The drawn chart on the background of the page, below its title and legend. */
function imageOf(chart: HTMLCanvasElement, title: string): HTMLCanvasElement {
  const image = document.createElement('canvas');
  const scale = window.devicePixelRatio;
  const head = (MARGIN + 2 * LINE) * scale;
  image.width = chart.width;
  image.height = chart.height + head;
  const drawn = image.getContext('2d');
  if (drawn === null) return chart;
  drawn.fillStyle = colourOf('panel');
  drawn.fillRect(0, 0, image.width, image.height);
  drawn.drawImage(chart, 0, head);
  drawn.scale(scale, scale);
  drawn.font = '14px system-ui, sans-serif';
  drawn.textBaseline = 'top';
  drawn.fillStyle = colourOf('text');
  drawn.fillText(title, MARGIN, MARGIN, image.width / scale - 2 * MARGIN);
  let left = MARGIN;
  for (const { line, text } of LEGEND) {
    drawn.fillStyle = colourOf(line);
    drawn.fillRect(left, MARGIN + LINE + 5, 14, 4);
    drawn.fillStyle = colourOf('text');
    drawn.fillText(text, left + 20, MARGIN + LINE);
    left += 20 + drawn.measureText(text).width + 2 * MARGIN;
  }
  return image;
}

function iso(atMs: EpochMs): string {
  return new Date(atMs).toISOString();
}
