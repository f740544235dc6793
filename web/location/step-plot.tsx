// Draws step lines over time with uPlot: a line for now, a drag to zoom, and events for the values under the pointer.
import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import type { EpochMs } from '../../machines/values/time.js';
import { colourOf, onColours } from '../ui/colour.js';
import { instantText, zonedDate } from '../ui/time.js';
import { columnsOf, type StepLine } from './step-line.js';
import type { Span } from './time-view.js';

/** Width of the axis on the left; lanes on the same time axis use the same width. */
const AXIS_PX = 64;
/** Margin on the right, so that no label is cut; lanes use the same margin. */
const EDGE_PX = 30;
/** A shorter drag is a click. */
const DRAG_PX = 6;

export interface PlotLine {
  readonly label: string;
  readonly line: StepLine;
  /** Name of a colour in the style sheet. */
  readonly colour: string;
  readonly isFilled?: boolean;
  /** The line is not drawn, but bounds a band. */
  readonly isHidden?: boolean;
  readonly dash?: readonly number[];
}

interface Props {
  readonly lines: readonly PlotLine[];
  /** Shaded areas between two lines, given by the labels of the upper and the lower one. */
  readonly bands?: readonly (readonly [upper: string, lower: string])[];
  readonly span: Span;
  readonly heightPx: number;
  /** Unit of the values, such as `kW`. */
  readonly unit: string;
  /** Position of the line that marks an instant. */
  readonly markMs: EpochMs | undefined;
  readonly onSelect?: (span: Span) => void;
  /** Called with the instant of a click. */
  readonly onChoose?: ((atMs: EpochMs) => void) | undefined;
  /** Lowest and highest value of the axis; by default from 0 to the highest value. */
  readonly range?: readonly [lowest: number, highest: number] | undefined;
  /** The instant under the pointer; undefined after the pointer has left. */
  readonly onPoint?: (atMs: EpochMs | undefined) => void;
}

/** Draws only an image: describe its content as text next to it. */
export function StepPlot(props: Props) {
  const holder = useRef<HTMLDivElement>(null);
  const newest = useRef(props);
  newest.current = props;
  const chart = useRef<uPlot | undefined>(undefined);

  useEffect(() => {
    const element = holder.current;
    if (element === null) return;
    const colours = new Map<string, string>();
    const colour = (name: string) => {
      const known = colours.get(name) ?? colourOf(name);
      colours.set(name, known);
      return known;
    };
    const made = new uPlot(optionsOf(element, newest, colour), dataOf(newest.current), element);
    made.setScale('x', { min: newest.current.span.fromMs, max: newest.current.span.toMs });
    chart.current = made;
    const offColours = onColours(() => {
      colours.clear();
      made.redraw(false, true);
    });
    const resized = new ResizeObserver(() =>
      made.setSize({ width: element.clientWidth, height: newest.current.heightPx }),
    );
    resized.observe(element);
    return () => {
      resized.disconnect();
      offColours();
      made.destroy();
    };
  }, []);

  const drawn = useRef<readonly unknown[]>([]);
  useEffect(() => {
    const { fromMs, toMs } = props.span;
    const inputs = [fromMs, toMs, ...props.lines.map(({ line }) => line)];
    const isSame = inputs.every((input, i) => input === drawn.current[i]);
    drawn.current = inputs;
    // The columns of a whole run take longer than a frame; only its mark moves with the chosen instant.
    if (isSame) chart.current?.redraw(false);
    else
      chart.current?.batch((shown: uPlot) => {
        shown.setData(dataOf(props), false);
        shown.setScale('x', { min: fromMs, max: toMs });
      });
  });

  return <div class="step-plot" ref={holder} aria-hidden="true" />;
}

function dataOf({ lines, span }: Props): uPlot.AlignedData {
  return columnsOf(
    lines.map(({ line }) => line),
    span.fromMs,
    span.toMs,
  ) as uPlot.AlignedData;
}

type Colour = (name: string) => string;
type Newest = { readonly current: Props };

/** The options are created once; their callbacks read the current properties from `newest`. */
function optionsOf(element: HTMLElement, newest: Newest, colour: Colour): uPlot.Options {
  return {
    width: element.clientWidth,
    height: newest.current.heightPx,
    ms: 1,
    tzDate: (ms) => zonedDate(ms, uPlot.tzDate),
    padding: [8, EDGE_PX, 0, 0],
    legend: { show: false },
    select: { show: true, left: 0, top: 0, width: 0, height: 0 },
    cursor: {
      y: false,
      points: { show: false },
      drag: { x: newest.current.onSelect !== undefined, y: false, setScale: false, dist: DRAG_PX },
      bind: { dblclick: () => null },
    },
    scales: {
      x: { time: true },
      y: {
        range: (_, __, highest) => {
          const [low, high] = newest.current.range ?? [0, Math.max(1, (highest ?? 0) * 1.08)];
          return [low, high];
        },
      },
    },
    axes: axesOf(colour, newest.current.unit),
    bands: bandsOf(newest.current, colour),
    series: [{}, ...newest.current.lines.map((line) => seriesOf(line, colour))],
    hooks: hooksOf(newest, colour),
  };
}

function axesOf(colour: Colour, unit: string): uPlot.Axis[] {
  const font = '12px system-ui, sans-serif';
  const grid = { stroke: () => colour('line'), width: 1 };
  const axis = { stroke: () => colour('muted'), font, grid, ticks: grid };
  return [
    {
      ...axis,
      size: 30,
      space: 90,
      values: (_, instants) => instants.map((instant) => axisLabel(instant, instants)),
    },
    { ...axis, size: AXIS_PX, values: (_, values) => values.map((value) => `${value} ${unit}`) },
  ];
}

function seriesOf({ label, colour: name, isFilled, isHidden, dash }: PlotLine, colour: Colour): uPlot.Series {
  const paths = uPlot.paths.stepped?.({ align: 1 });
  return {
    ...(paths === undefined ? {} : { paths }),
    label,
    stroke: () => colour(name),
    ...(isFilled ? { fill: () => faint(colour(name)) } : {}),
    ...(dash === undefined ? {} : { dash: [...dash] }),
    width: isHidden ? 0 : 2,
    points: { show: false },
  };
}

function hooksOf(newest: Newest, colour: Colour): uPlot.Hooks.Arrays {
  return {
    init: [
      (shown) => {
        const { over } = shown;
        let pressedX = 0;
        over.addEventListener('pointerdown', ({ clientX }) => {
          pressedX = clientX;
        });
        over.addEventListener('click', ({ clientX, offsetX }) => {
          if (Math.abs(clientX - pressedX) < DRAG_PX) newest.current.onChoose?.(shown.posToVal(offsetX, 'x'));
        });
      },
    ],
    draw: [(shown) => drawMark(shown, newest.current.markMs, colour('text'))],
    setSelect: [
      (shown) => {
        const { left, width } = shown.select;
        if (width === 0) return;
        shown.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
        newest.current.onSelect?.({
          fromMs: shown.posToVal(left, 'x'),
          toMs: shown.posToVal(left + width, 'x'),
        });
      },
    ],
    setCursor: [
      (shown) => {
        const { left } = shown.cursor;
        const isInside = left !== undefined && left !== null && left >= 0;
        newest.current.onPoint?.(isInside ? shown.posToVal(left, 'x') : undefined);
      },
    ],
  };
}

function bandsOf({ lines, bands = [] }: Props, colour: Colour): uPlot.Band[] {
  const place = (label: string) => 1 + lines.findIndex((line) => line.label === label);
  return bands.map(([upper, lower]) => ({
    series: [place(upper), place(lower)],
    fill: () => faint(colour('limit')),
  }));
}

/** A translucent variant of a colour in the format of `colourOf`. */
function faint(colour: string): string {
  return colour.replace(/^rgb\((.*)\)$/, 'rgba($1, 0.15)');
}

function drawMark(shown: uPlot, atMs: EpochMs | undefined, colour: string): void {
  if (atMs === undefined) return;
  const { top, height, left, width } = shown.bbox;
  const x = Math.round(shown.valToPos(atMs, 'x', true));
  if (x < left || x > left + width) return;
  const { ctx } = shown;
  ctx.save();
  ctx.strokeStyle = colour;
  ctx.lineWidth = window.devicePixelRatio;
  ctx.setLineDash([4, 4]);
  ctx.beginPath();
  ctx.moveTo(x, top);
  ctx.lineTo(x, top + height);
  ctx.stroke();
  ctx.restore();
}

/** Times of day in the shown time zone; at midnight, the date. */
function axisLabel(instant: number, all: readonly number[]): string {
  const date = zonedDate(instant, uPlot.tzDate);
  if (date.getHours() === 0 && date.getMinutes() === 0 && date.getSeconds() === 0)
    return instantText('day', instant);
  const isFine = (all[1] ?? instant) - (all[0] ?? instant) < 60_000;
  return instantText(isFine ? 'time' : 'clock', instant);
}
