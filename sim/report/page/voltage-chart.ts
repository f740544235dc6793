// Chart of the voltage of the lines that feed a location, and the voltage at the chosen instant.
import { colour, element } from './element.js';
import { type Drawing, keepTimeChart } from './time-chart.js';
import { type GridLine, type History, valueAt } from './unpack.js';
import type { View, Viewpoint } from './viewpoint.js';

const HEIGHT_PX = 110;
/** Margin above and below the curves. */
const MARGIN_V = 2;
/** A dash pattern for each line distinguishes several lines. */
const DASHES = [[], [6, 3], [2, 2]];

/** The row is visible only if the scenario has a grid. */
export function createVoltageChart(viewpoint: Viewpoint, ruler: HTMLElement): HTMLElement {
  const readout = element('div', { class: 'left readout voltages' });
  const plot = element('div', {
    class: 'plot',
    role: 'img',
    'aria-label': 'Highest and lowest voltage of the phases over time',
  });
  const row = element('section', { class: 'row voltage', 'aria-label': 'Voltage' }, readout, plot);
  viewpoint.onChange((view) => {
    const { lines } = view.site;
    row.hidden = lines.length === 0;
    readout.replaceChildren(...lines.map((line) => lineAt(line, view.instant)));
  });
  keepTimeChart({ plot, ruler }, viewpoint, drawingOf);
  return row;
}

function lineAt({ name, highestTenthsV, lowestTenthsV }: GridLine, instant: number): HTMLElement {
  return element(
    'p',
    {},
    `${name}: `,
    element('span', { class: 'lowest' }, inVolts(valueAt(lowestTenthsV, instant))),
    ' lowest, ',
    element('span', { class: 'highest' }, inVolts(valueAt(highestTenthsV, instant))),
    ' highest phase',
  );
}

function inVolts(tenthsV: number | undefined): string {
  return tenthsV === undefined ? '–' : `${(tenthsV / 10).toFixed(1)} V`;
}

function drawingOf({ site: { lines }, toMs }: View): Drawing | undefined {
  if (lines.length === 0) return undefined;
  const histories = lines.flatMap(({ highestTenthsV, lowestTenthsV }) => [highestTenthsV, lowestTenthsV]);
  const instants = [...new Set(histories.flatMap(({ atMs }) => [...atMs]))].sort((a, b) => a - b);
  instants.push(Math.max(toMs, instants.at(-1) ?? 0));
  const column = (history: History) => instants.map((instant) => voltsOrNull(valueAt(history, instant)));
  return {
    heightPx: HEIGHT_PX,
    unit: 'V',
    range: rangeOf(histories),
    columns: [instants, ...histories.map(column)],
    lines: lines.flatMap((_, i) => {
      const dash = DASHES[i % DASHES.length] ?? [];
      return [
        { stroke: colour('power'), width: 1.5, dash },
        { stroke: colour('alarm'), width: 1.5, dash },
      ];
    }),
  };
}

/** Null leaves a gap in the chart. */
function voltsOrNull(tenthsV: number | undefined): number | null {
  return tenthsV === undefined ? null : tenthsV / 10;
}

function rangeOf(histories: readonly History[]): [number, number] {
  let [lowest, highest] = [Number.POSITIVE_INFINITY, 0];
  for (const { values } of histories)
    for (const value of values) {
      lowest = Math.min(lowest, value);
      highest = Math.max(highest, value);
    }
  return [Math.max(0, lowest / 10 - MARGIN_V), highest / 10 + MARGIN_V];
}
