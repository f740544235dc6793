// Power against the limit over time, and both at the chosen instant.
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { colour, element, say } from './element.js';
import { type History, momentAt, type Site, valueAt } from './unpack.js';
import type { View, Viewpoint } from './viewpoint.js';
import { GROUP_OF_REASON, kw, percent } from './words.js';

const HEIGHT_PX = 220;
const AXIS_PX = 28;
const UNLIMITED_W = Number.MAX_SAFE_INTEGER;

/** @param ruler spans the time axis that all rows share; the chart's axis of power stands to the right of it. */
export function createPowerChart(viewpoint: Viewpoint, ruler: HTMLElement): HTMLElement {
  const power = element('strong');
  const limit = element('span');
  const filled = element('i');
  const meter = element('div', { class: 'meter' }, filled);
  const counts = element('p', { class: 'counts' });
  const plot = element('div', { class: 'plot', role: 'img', 'aria-label': 'Power against limit over time' });
  const row = element(
    'section',
    { class: 'row power', 'aria-label': 'Power' },
    element('div', { class: 'left readout' }, element('p', {}, power, ' of ', limit), meter, counts),
    plot,
  );
  let chart: uPlot | undefined;

  function rebuild(view: View): void {
    chart?.destroy();
    chart = new uPlot(optionsOf(view.site, plot, ruler), columnsOf(view), plot);
    chart.setScale('x', { min: view.fromMs, max: view.toMs });
  }

  viewpoint.onChange((view, before) => {
    if (chart === undefined || before?.site !== view.site) rebuild(view);
    else if (before.fromMs !== view.fromMs || before.toMs !== view.toMs) {
      chart.setScale('x', { min: view.fromMs, max: view.toMs });
    }
    const powerW = valueAt(view.site.powerW, view.instant) ?? 0;
    const limitW = valueAt(view.site.limitW, view.instant) ?? UNLIMITED_W;
    say(power, kw(powerW));
    say(limit, kw(limitW));
    row.classList.toggle('over', powerW > limitW);
    const share = powerW / Math.max(limitW, 1);
    filled.style.width = `${Math.min(100 * share, 100)}%`;
    meter.title = `${percent(share)} of the limit`;
    say(counts, countsAt(view));
  });
  new ResizeObserver(() => rebuild(viewpoint.view)).observe(plot);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => rebuild(viewpoint.view));
  return row;
}

function countsAt({ site, instant }: View): string {
  const counts = new Map<string, number>();
  const count = (what: string) => counts.set(what, (counts.get(what) ?? 0) + 1);
  for (const connector of site.connectors) {
    const moment = momentAt(connector, instant);
    if (moment === undefined) continue;
    const group = GROUP_OF_REASON[moment.mode.reason];
    if (moment.powerW > 0) count('charging');
    if (group === 'shared' || group === 'waiting') count('sharing');
    if (group === 'paused') count('paused');
    if (group === 'lock' || group === 'lastResort') count('locked');
    if (group === 'failsafe') count('on fail-safe');
    if (!moment.mode.isOnline) count('offline');
  }
  const words = [...counts].map(([what, number]) => `${number} ${what}`);
  const connectors = `${site.connectors.length} connector${site.connectors.length === 1 ? '' : 's'}`;
  return `${connectors}${words.length === 0 ? '' : `: ${words.join(', ')}`}`;
}

function optionsOf(site: Site, plot: HTMLElement, ruler: HTMLElement): uPlot.Options {
  const text = colour('muted');
  const grid = { stroke: colour('line'), width: 1 };
  const font = '12px system-ui, sans-serif';
  const stepped = uPlot.paths.stepped?.({ align: 1 });
  const steps = stepped === undefined ? {} : { paths: stepped };
  const topW = topOf(site);
  return {
    width: plot.clientWidth,
    height: HEIGHT_PX,
    ms: 1,
    padding: [8, 0, 0, 0],
    cursor: { show: false },
    legend: { show: false },
    tzDate: (ms) => uPlot.tzDate(new Date(ms), 'Etc/UTC'),
    scales: { y: { range: [0, topW / 1000] } },
    axes: [
      {
        stroke: text,
        font,
        grid,
        ticks: grid,
        size: AXIS_PX,
        // A label at the very edge would be cut in half.
        values: (shown, instants) =>
          instants.map((instant) => (instant === shown.scales.x?.min ? '' : axisLabel(instant, instants))),
      },
      {
        side: 1,
        stroke: text,
        font,
        grid,
        ticks: grid,
        size: Math.max(plot.clientWidth - ruler.clientWidth, 48),
        values: (_, values) => values.map((value) => `${value} kW`),
      },
    ],
    series: [
      {},
      { ...steps, stroke: colour('power'), fill: colour('power-fill'), width: 1.5, points: { show: false } },
      {
        ...steps,
        stroke: colour('violation'),
        fill: colour('violation-fill'),
        width: 2,
        points: { show: false },
      },
      { ...steps, stroke: colour('limit'), width: 2, points: { show: false } },
      // Of the run it is compared with, where there is one.
      { ...steps, stroke: text, width: 1, dash: [5, 3], points: { show: false } },
      { ...steps, stroke: colour('limit'), width: 1, dash: [5, 3], points: { show: false } },
    ],
  };
}

/** Times of day; the date where a day begins. */
function axisLabel(instant: number, all: readonly number[]): string {
  const [date = '', time = ''] = new Date(instant).toISOString().split('T');
  if (time.startsWith('00:00:00')) return date.slice(5);
  const isFine = (all[1] ?? 0) - (all[0] ?? 0) < 60_000;
  return time.slice(0, isFine ? 8 : 5);
}

/** Room for the peak and for limits near it: one far above would press the rest into a line. */
function topOf({ powerW, limitW, compared }: Site): number {
  const peakW = Math.max(
    highestOf(powerW, Number.POSITIVE_INFINITY),
    compared === undefined ? 0 : highestOf(compared.powerW, Number.POSITIVE_INFINITY),
  );
  const nearW = peakW === 0 ? UNLIMITED_W - 1 : 3 * peakW;
  return 1.08 * Math.max(peakW, highestOf(limitW, nearW), 1_000);
}

function highestOf({ values }: History, belowW: number): number {
  return values.reduce((highest, value) => (value <= belowW ? Math.max(highest, value) : highest), 0);
}

/** Power, the part of it above the limit, the limit, and power and limit of the run beside it, whenever any of them changes. */
function columnsOf({ site, toMs }: View): uPlot.AlignedData {
  const { powerW, limitW, compared } = site;
  const histories = [powerW, limitW, ...(compared === undefined ? [] : [compared.powerW, compared.limitW])];
  const instants = [...new Set(histories.flatMap(({ atMs }) => [...atMs]))].sort((a, b) => a - b);
  instants.push(Math.max(toMs, instants.at(-1) ?? 0));
  const power = instants.map((instant) => valueAt(powerW, instant));
  const limit = instants.map((instant) => valueAt(limitW, instant));
  const isOver = power.map((value, i) => (value ?? 0) > (limit[i] ?? UNLIMITED_W));
  return [
    instants,
    power.map((value) => (value === undefined ? null : value / 1000)),
    power.map((value, i) => (value !== undefined && (isOver[i] || isOver[i - 1]) ? value / 1000 : null)),
    limit.map(inKw),
    instants.map((instant) => inKw(compared && valueAt(compared.powerW, instant))),
    instants.map((instant) => inKw(compared && valueAt(compared.limitW, instant))),
  ];
}

/** Null where there is nothing to draw. */
function inKw(watts: number | undefined): number | null {
  return watts === undefined || watts >= UNLIMITED_W ? null : watts / 1000;
}
