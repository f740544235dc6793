// Chart of power and limit over time, and both values at the chosen instant.
import { counted } from '../../../machines/values/counted.js';
import { colour, element, say } from './element.js';
import { type Drawing, keepTimeChart } from './time-chart.js';
import { type History, momentAt, type Site, valueAt } from './unpack.js';
import type { View, Viewpoint } from './viewpoint.js';
import { GROUP_OF_REASON, kw, percent } from './words.js';

const HEIGHT_PX = 220;
const UNLIMITED_W = Number.MAX_SAFE_INTEGER;

/** @param ruler spans the time axis that all rows share; the power axis of the chart is to the right of it. */
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
  viewpoint.onChange((view) => {
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
  keepTimeChart({ plot, ruler }, viewpoint, drawingOf);
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
  const connectors = counted(site.connectors.length, 'connector');
  return `${connectors}${words.length === 0 ? '' : `: ${words.join(', ')}`}`;
}

function drawingOf(view: View): Drawing {
  const [power, limit] = [colour('power'), colour('limit')];
  const ofOther = { width: 1, dash: [5, 3] };
  return {
    heightPx: HEIGHT_PX,
    unit: 'kW',
    range: [0, topOf(view.site) / 1000],
    columns: columnsOf(view),
    lines: [
      { stroke: power, fill: colour('power-fill'), width: 1.5 },
      { stroke: colour('violation'), fill: colour('violation-fill'), width: 2 },
      { stroke: limit, width: 2 },
      // Power and limit of the compared run.
      { ...ofOther, stroke: colour('muted') },
      { ...ofOther, stroke: limit },
    ],
  };
}

/**
 * Top of the axis: fits the peak and limits near it. A limit far above the peak would flatten the rest of the chart.
 */
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

/** At each change: power, its part above the limit, the limit, and power and limit of the compared run. */
function columnsOf({ site, toMs }: View): Drawing['columns'] {
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

/** Null leaves a gap in the chart. */
function inKw(watts: number | undefined): number | null {
  return watts === undefined || watts >= UNLIMITED_W ? null : watts / 1000;
}
