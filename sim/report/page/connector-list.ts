// Lists every connector: state and reason at the chosen instant, a strip of the whole time, energy and throttling.

import { counted } from '../../../machines/values/counted.js';
import { compareNaturally } from '../../../machines/values/natural-order.js';
import { element, say } from './element.js';
import { drawStrip, forgetColours } from './strip.js';
import { type ConnectorHistory, momentAt } from './unpack.js';
import type { View, Viewpoint } from './viewpoint.js';
import { amperes, duration, GROUP_OF_REASON, kw, kwh, REASON_GROUPS, REASON_WORDS } from './words.js';

interface Entry {
  readonly connector: ConnectorHistory;
  readonly row: HTMLElement;
  readonly canvas: HTMLCanvasElement;
  readonly status: HTMLElement;
  readonly power: HTMLElement;
  readonly limit: HTMLElement;
  readonly link: HTMLElement;
  readonly reason: HTMLElement;
  isVisible: boolean;
}

const ORDERS = {
  name: 'name',
  power: 'power at the instant',
  throttled: 'time throttled',
  energy: 'least energy of requested',
} as const;
type Order = keyof typeof ORDERS;

export class ConnectorList {
  readonly element: HTMLElement;
  readonly #viewpoint: Viewpoint;
  readonly #search = element('input', {
    type: 'search',
    placeholder: 'Filter connectors',
    'aria-label': 'Filter connectors',
  });
  readonly #order = element('select', { 'aria-label': 'Sort connectors by' });
  readonly #rows = element('div', {
    class: 'connectors',
    role: 'table',
    'aria-label': 'Connectors at the instant',
  });
  readonly #entryOfRow = new WeakMap<Element, Entry>();
  readonly #visibility = new IntersectionObserver((changes) => this.#noteVisibility(changes), {
    rootMargin: '200px',
  });
  #entries: readonly Entry[] = [];

  constructor(viewpoint: Viewpoint) {
    this.#viewpoint = viewpoint;
    this.#order.append(
      ...Object.entries(ORDERS).map(([value, text]) => element('option', { value }, `by ${text}`)),
    );
    this.#search.addEventListener('input', () => this.#arrange());
    this.#order.addEventListener('change', () => this.#arrange());
    viewpoint.onChange((view, before) => {
      if (before?.site !== view.site) this.#rebuild(view);
      const isMoved = before?.fromMs !== view.fromMs || before?.toMs !== view.toMs;
      for (const entry of this.#entries) if (entry.isVisible) show(entry, view, isMoved);
    });
    new ResizeObserver(() => this.#redrawStrips()).observe(this.#rows);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.#redrawStrips());
    const title = element('h2', {}, 'Connectors');
    const tools = element('div', { class: 'tools' }, title, this.#search, this.#order);
    this.element = element('section', { 'aria-label': 'Connectors' }, tools, createLegend(), this.#rows);
  }

  #noteVisibility(changes: readonly IntersectionObserverEntry[]): void {
    for (const { target, isIntersecting } of changes) {
      const entry = this.#entryOfRow.get(target);
      if (entry === undefined) continue;
      entry.isVisible = isIntersecting;
      if (isIntersecting) show(entry, this.#viewpoint.view, true);
    }
  }

  #rebuild(view: View): void {
    this.#visibility.disconnect();
    const shared = sharedStart(view.site.connectors.map(({ name }) => name));
    this.#entries = view.site.connectors.map((connector) => entryOf(connector, shared.length));
    for (const entry of this.#entries) {
      this.#entryOfRow.set(entry.row, entry);
      this.#visibility.observe(entry.row);
    }
    this.#arrange();
  }

  #arrange(): void {
    const wanted = this.#search.value.trim().toLowerCase();
    const key = keyOf(
      this.#order.value in ORDERS ? (this.#order.value as Order) : 'name',
      this.#viewpoint.view.instant,
    );
    const shown = this.#entries
      .filter(({ connector }) => connector.name.toLowerCase().includes(wanted))
      .map((entry) => ({ entry, key: key(entry.connector) }))
      .sort((a, b) => a.key - b.key || compareNaturally(a.entry.connector.name, b.entry.connector.name));
    this.#rows.replaceChildren(headings(), ...shown.map(({ entry }) => entry.row));
  }

  #redrawStrips(): void {
    forgetColours();
    for (const entry of this.#entries) if (entry.isVisible) show(entry, this.#viewpoint.view, true);
  }
}

function keyOf(order: Order, instant: number): (connector: ConnectorHistory) => number {
  if (order === 'power') return (connector) => -(momentAt(connector, instant)?.powerW ?? 0);
  if (order === 'throttled') return ({ summary }) => -(summary?.throttledS ?? 0);
  if (order === 'energy') {
    return ({ summary }) =>
      summary === undefined ? 1 : summary.deliveredWh / Math.max(summary.requestedWh, 1);
  }
  return () => 0;
}

const STRIP_NOTE = 'Height: power. Line on top: red offline, grey no lease.';

function createLegend(): HTMLElement {
  const groups = Object.entries(REASON_GROUPS).map(([group, words]) =>
    element('li', {}, element('i', { class: `dot ${group}` }), words),
  );
  return element(
    'ul',
    { class: 'legend', 'aria-label': 'Colours' },
    ...groups,
    element('li', {}, STRIP_NOTE),
  );
}

function headings(): HTMLElement {
  const heading = (text: string) => element('span', { role: 'columnheader' }, text);
  return element(
    'div',
    { class: 'row lane headings', role: 'row' },
    element(
      'div',
      { class: 'left cells' },
      ...['Connector', 'Status', 'Power', 'Limit', 'Link', 'Reason'].map(heading),
    ),
    element('div', { class: 'time' }),
    element('div', { class: 'right cells' }, heading('Energy'), heading('Throttled')),
  );
}

/** The common start of all names, up to its last `-`. The page omits this part, because all names share it. */
function sharedStart(names: readonly string[]): string {
  let shared = names[0] ?? '';
  for (const name of names) {
    while (!name.startsWith(shared)) shared = shared.slice(0, -1);
  }
  return names.length > 1 ? shared.slice(0, shared.lastIndexOf('-') + 1) : '';
}

const LONGEST_NAME = 16;

/** If a name does not fit, its end is shown, which distinguishes better than its start. */
function shortened(name: string): string {
  return name.length > LONGEST_NAME ? `…${name.slice(-LONGEST_NAME)}` : name;
}

function entryOf(connector: ConnectorHistory, sharedLength: number): Entry {
  const cell = (text = '') => element('span', { role: 'cell' }, text);
  const [status, power, limit, link, reason] = [cell(), cell(), cell(), cell(), cell()];
  const canvas = element('canvas', { role: 'img', 'aria-label': `${connector.name} over time` });
  const { summary } = connector;
  const energy = cell(summary === undefined ? '' : kwh(summary.deliveredWh));
  if (summary !== undefined)
    energy.title = energyTitle(summary.deliveredWh, summary.requestedWh, summary.sessions);
  const throttled = cell(summary === undefined ? '' : duration(summary.throttledS));
  if (summary !== undefined) {
    throttled.title = `paused ${duration(summary.pausedS)}, ${counted(summary.limitChanges, 'change', 'changes')} of limit`;
  }
  const name = element(
    'span',
    { role: 'rowheader', title: connector.name },
    shortened(connector.name.slice(sharedLength)),
  );
  const row = element(
    'div',
    { class: 'row lane connector', role: 'row' },
    element('div', { class: 'left cells' }, name, status, power, limit, link, reason),
    element('div', { class: 'time' }, canvas),
    element('div', { class: 'right cells' }, energy, throttled),
  );
  return { connector, row, canvas, status, power, limit, link, reason, isVisible: false };
}

function energyTitle(deliveredWh: number, requestedWh: number, sessions: number): string {
  return `${kwh(deliveredWh)} of ${kwh(requestedWh)} requested in ${counted(sessions, 'session')}`;
}

function show(entry: Entry, view: View, withStrip: boolean): void {
  const moment = momentAt(entry.connector, view.instant);
  if (moment === undefined) {
    for (const cell of [entry.status, entry.power, entry.limit, entry.link, entry.reason]) say(cell, '');
  } else {
    const { status, reason, isLeased, isOnline } = moment.mode;
    const group = GROUP_OF_REASON[reason];
    say(entry.status, status);
    say(entry.power, kw(moment.powerW));
    say(entry.limit, amperes(moment.limitTenthsA));
    say(entry.link, isOnline ? (isLeased ? 'lease' : 'no lease') : 'offline');
    entry.link.title = `${isOnline ? 'online' : 'offline'}, ${isLeased ? 'holds a lease' : 'holds no lease'}`;
    entry.link.className = isOnline ? '' : 'alert';
    say(entry.reason, REASON_WORDS[reason]);
    entry.reason.className = `reason ${group}`;
  }
  if (withStrip) drawStrip(entry.canvas, entry.connector, view);
}
