// Shows violations, alarms, faults and actions on the time axis, with a lane for each kind that occurred.

import { counted } from '../../../machines/values/counted.js';
import { compareNaturally } from '../../../machines/values/natural-order.js';
import type { Mark } from '../report-data.js';
import { clearedContext, colour, element, say } from './element.js';
import { createLane, type Lane } from './lane.js';
import type { Site } from './unpack.js';
import type { View, Viewpoint } from './viewpoint.js';

const ORDER: readonly Mark['kind'][] = ['violation', 'alarm', 'fault', 'action'];
const NARROWEST_PX = 2;

interface MarkLane extends Lane {
  readonly kind: Mark['kind'];
  readonly marks: readonly Mark[];
  readonly canvas: HTMLCanvasElement;
}

export function createMarkLanes(viewpoint: Viewpoint): HTMLElement {
  const list = element('div');
  const section = element('section', { 'aria-label': 'Violations, alarms, faults and actions' });
  section.append(element('h2', {}, 'Violations, alarms, faults, actions'), list);
  let lanes: readonly MarkLane[] = [];

  const redraw = () => {
    for (const lane of lanes) draw(lane, viewpoint.view);
  };
  viewpoint.onChange((view, before) => {
    const isOther = before?.site !== view.site;
    if (isOther) {
      lanes = lanesOf(view.site);
      list.replaceChildren(...lanes.map(({ row }) => row));
      section.hidden = lanes.length === 0;
    }
    if (isOther || before.fromMs !== view.fromMs || before.toMs !== view.toMs) redraw();
    for (const { marks, right, row } of lanes) {
      const now = marks.filter(({ startsAtMs, endsAtMs }) => isNow(view.instant, startsAtMs, endsAtMs));
      row.classList.toggle('deciding', now.length > 0);
      say(right, now.length > 0 ? `${now.length} now` : '');
      right.title = now.map(({ target, detail }) => `${target} ${detail}`.trim()).join('\n');
    }
  });
  new ResizeObserver(redraw).observe(list);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw);
  return section;
}

function isNow(instant: number, startsAtMs: number, endsAtMs: number): boolean {
  return instant === startsAtMs || (instant > startsAtMs && instant < endsAtMs);
}

function lanesOf({ marks }: Site): MarkLane[] {
  const byWhat = new Map<string, Mark[]>();
  for (const mark of marks) {
    const what = `${mark.kind} ${mark.what}`;
    const held = byWhat.get(what);
    if (held === undefined) byWhat.set(what, [mark]);
    else held.push(mark);
  }
  return [...byWhat]
    .flatMap(([what, held]) => {
      const kind = held[0]?.kind;
      return kind === undefined ? [] : [{ what, kind, held }];
    })
    .sort((a, b) => ORDER.indexOf(a.kind) - ORDER.indexOf(b.kind) || compareNaturally(a.what, b.what))
    .map(({ what, kind, held }) => {
      const lane = createLane(`${what} (${held.length})`);
      const canvas = element('canvas', {
        role: 'img',
        'aria-label': `${counted(held.length, 'time')} ${what}`,
      });
      lane.time.append(canvas);
      return { ...lane, kind, marks: held, canvas };
    });
}

function draw({ canvas, marks, kind }: MarkLane, { fromMs, toMs }: View): void {
  const cleared = clearedContext(canvas);
  if (cleared === undefined) return;
  const { context, width, height } = cleared;
  const pxPerMs = width / (toMs - fromMs);
  context.fillStyle = colour(kind);
  context.globalAlpha = kind === 'violation' ? 1 : 0.75;
  for (const { startsAtMs, endsAtMs } of marks) {
    if (endsAtMs < fromMs || startsAtMs > toMs) continue;
    const left = Math.max(startsAtMs - fromMs, 0) * pxPerMs;
    const right = Math.min(endsAtMs - fromMs, toMs - fromMs) * pxPerMs;
    context.fillRect(left, 3, Math.max(right - left, NARROWEST_PX), height - 6);
  }
}
