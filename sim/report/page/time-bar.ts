// Chooses the instant by slider, text, click or key, and lists the events at this instant.
import type { Mark, ReportData } from '../report-data.js';
import { element, say } from './element.js';
import { type Site, siteAt } from './unpack.js';
import type { View, Viewpoint } from './viewpoint.js';
import { iso, siteTime } from './words.js';

const ZOOM_STEP = 2;
const SHORTEST_STEP_MS = 1_000;

export function createTimeBar(data: ReportData, viewpoint: Viewpoint): HTMLElement {
  const place = element('select', { 'aria-label': 'Location' });
  place.append(...data.locations.map(({ locationId }, i) => element('option', { value: i }, locationId)));
  const instant = element('input', {
    type: 'text',
    'aria-label': 'Instant, UTC',
    spellcheck: 'false',
    class: 'instant',
  });
  const local = element('span', { class: 'local', title: 'By the clock of the site' });
  const slider = element('input', { type: 'range', step: 1, 'aria-label': 'Instant' });
  const said = element('p', { class: 'said', role: 'status' });
  const buttons = [
    button('◀', 'Previous mark, key [', () => jump(viewpoint, -1)),
    button('▶', 'Next mark, key ]', () => jump(viewpoint, 1)),
    button('+', 'Zoom in, key +', () => viewpoint.zoom(1 / ZOOM_STEP)),
    button('−', 'Zoom out, key -', () => viewpoint.zoom(ZOOM_STEP)),
    button('All', 'Show the whole run, key 0', () => viewpoint.showAll()),
  ];

  place.addEventListener('change', () => {
    const site = siteAt(data, Number(place.value));
    if (site !== undefined) viewpoint.visit(site);
  });
  slider.addEventListener('input', () => viewpoint.choose(Number(slider.value)));
  instant.addEventListener('change', () => {
    const asked = Date.parse(instant.value);
    if (Number.isNaN(asked)) instant.value = iso(viewpoint.view.instant);
    else viewpoint.choose(asked);
  });
  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
    if (pressed(event.key, event.shiftKey, viewpoint)) event.preventDefault();
  });
  viewpoint.onChange((view) => {
    slider.min = String(view.fromMs);
    slider.max = String(view.toMs);
    slider.value = String(view.instant);
    slider.setAttribute('aria-valuetext', iso(view.instant));
    if (document.activeElement !== instant) instant.value = iso(view.instant);
    say(local, siteTime(view.instant, data.utcOffsetMs));
    say(said, whatHappened(view));
  });
  return element(
    'div',
    { class: 'row time-bar' },
    element('div', { class: 'left' }, place, instant, local),
    element('div', { class: 'time' }, slider, said),
    element('div', { class: 'right' }, ...buttons),
  );
}

function button(text: string, title: string, press: () => void): HTMLButtonElement {
  const made = element('button', { type: 'button', title, 'aria-label': title }, text);
  made.addEventListener('click', press);
  return made;
}

function isTyping(target: EventTarget | null): boolean {
  if (target instanceof HTMLInputElement) return target.type !== 'range';
  return target instanceof HTMLSelectElement;
}

/** @returns true if the key has a function here. */
function pressed(key: string, isShifted: boolean, viewpoint: Viewpoint): boolean {
  const { fromMs, toMs, instant } = viewpoint.view;
  const step = Math.max(SHORTEST_STEP_MS, Math.round((toMs - fromMs) / (isShifted ? 50 : 1_000)));
  const keys: Readonly<Record<string, () => void>> = {
    ArrowLeft: () => viewpoint.choose(instant - step),
    ArrowRight: () => viewpoint.choose(instant + step),
    Home: () => viewpoint.choose(fromMs),
    End: () => viewpoint.choose(toMs),
    '[': () => jump(viewpoint, -1),
    ']': () => jump(viewpoint, 1),
    '+': () => viewpoint.zoom(1 / ZOOM_STEP),
    '-': () => viewpoint.zoom(ZOOM_STEP),
    '0': () => viewpoint.showAll(),
  };
  const act = keys[key];
  act?.();
  return act !== undefined;
}

/** Moves to the nearest instant before or after at which a mark begins or ends. */
function jump(viewpoint: Viewpoint, direction: 1 | -1): void {
  const { site, instant } = viewpoint.view;
  let nearest: number | undefined;
  for (const edge of edgesOf(site)) {
    const isAhead = direction * (edge - instant) > 0;
    if (isAhead && (nearest === undefined || direction * (nearest - edge) > 0)) nearest = edge;
  }
  if (nearest !== undefined) viewpoint.choose(nearest);
}

function* edgesOf({ marks, profiles }: Site): Generator<number> {
  for (const { startsAtMs, endsAtMs } of [...marks, ...profiles]) {
    yield startsAtMs;
    yield endsAtMs;
  }
}

const MOST_SAID = 3;

function whatHappened({ site, instant }: View): string {
  const begun = site.marks.filter(({ startsAtMs }) => startsAtMs === instant).map((mark) => wordsOf(mark));
  const ended = site.marks
    .filter(({ startsAtMs, endsAtMs }) => endsAtMs === instant && endsAtMs > startsAtMs)
    .map((mark) => `${wordsOf(mark)} over`);
  const happened = [...begun, ...ended];
  const more = happened.length - MOST_SAID;
  return happened.slice(0, MOST_SAID).join(' · ') + (more > 0 ? ` · and ${more} more` : '');
}

function wordsOf({ kind, what, target, detail }: Mark): string {
  return [kind, what, target, detail].filter((word) => word !== '').join(' ');
}
