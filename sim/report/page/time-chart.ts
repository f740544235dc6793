// A chart on the shared time axis: its axes, and its updates after a change of the viewpoint.
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { colour } from './element.js';
import type { View, Viewpoint } from './viewpoint.js';

const AXIS_PX = 28;
const NARROWEST_AXIS_PX = 48;

export interface Drawing {
  readonly heightPx: number;
  /** Unit of the values, as text after each label. */
  readonly unit: string;
  readonly range: uPlot.Range.MinMax;
  /** The first column holds the instants. Each value applies until the next instant. */
  readonly columns: uPlot.AlignedData;
  readonly lines: readonly uPlot.Series[];
}

/**
 * Keeps a chart of `drawingOf` in `plot`, for the location and the span in view; removes the chart if there is no
 * drawing.
 * @param ruler spans the time axis that all rows share; the value axis of the chart is to the right of it.
 */
export function keepTimeChart(
  { plot, ruler }: { readonly plot: HTMLElement; readonly ruler: HTMLElement },
  viewpoint: Viewpoint,
  drawingOf: (view: View) => Drawing | undefined,
): void {
  let chart: uPlot | undefined;

  function rebuild(view: View): void {
    chart?.destroy();
    const drawing = drawingOf(view);
    chart = drawing && new uPlot(optionsOf(drawing, plot, ruler), drawing.columns, plot);
    chart?.setScale('x', { min: view.fromMs, max: view.toMs });
  }

  viewpoint.onChange((view, before) => {
    if (before?.site !== view.site) rebuild(view);
    else if (before.fromMs !== view.fromMs || before.toMs !== view.toMs)
      chart?.setScale('x', { min: view.fromMs, max: view.toMs });
  });
  new ResizeObserver(() => rebuild(viewpoint.view)).observe(plot);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => rebuild(viewpoint.view));
}

function optionsOf(
  { heightPx, unit, range, lines }: Drawing,
  plot: HTMLElement,
  ruler: HTMLElement,
): uPlot.Options {
  const grid = { stroke: colour('line'), width: 1 };
  const axis = { stroke: colour('muted'), font: '12px system-ui, sans-serif', grid, ticks: grid };
  const stepped = uPlot.paths.stepped?.({ align: 1 });
  const steps = { points: { show: false }, ...(stepped === undefined ? {} : { paths: stepped }) };
  return {
    width: plot.clientWidth,
    height: heightPx,
    ms: 1,
    padding: [8, 0, 0, 0],
    cursor: { show: false },
    legend: { show: false },
    tzDate: (ms) => uPlot.tzDate(new Date(ms), 'Etc/UTC'),
    scales: { y: { range } },
    axes: [
      {
        ...axis,
        size: AXIS_PX,
        // A label at the edge would be cut in half.
        values: (shown, instants) =>
          instants.map((instant) => (instant === shown.scales.x?.min ? '' : axisLabel(instant, instants))),
      },
      {
        ...axis,
        side: 1,
        size: Math.max(plot.clientWidth - ruler.clientWidth, NARROWEST_AXIS_PX),
        values: (_, values) => values.map((value) => `${value} ${unit}`),
      },
    ],
    series: [{}, ...lines.map((line) => ({ ...steps, ...line }))],
  };
}

/** Times of day; at midnight, the date. */
function axisLabel(instant: number, all: readonly number[]): string {
  const [date = '', time = ''] = new Date(instant).toISOString().split('T');
  if (time.startsWith('00:00:00')) return date.slice(5);
  const isFine = (all[1] ?? 0) - (all[0] ?? 0) < 60_000;
  return time.slice(0, isFine ? 8 : 5);
}
