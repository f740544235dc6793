// Head of the page: the scenario, the outcome of its expectations and invariants, and the figures of the location.
import { type ComparedFigure, comparedLocations } from '../compared-figures.js';
import type { ReportData } from '../report-data.js';
import { element } from './element.js';
import type { Site } from './unpack.js';
import type { Viewpoint } from './viewpoint.js';
import { decimal, duration, iso, kw, kwh, percent } from './words.js';

const SHOWN_UNMET = 10;

export function createOverview(data: ReportData, viewpoint: Viewpoint): HTMLElement {
  const figures = element('dl', { class: 'figures' });
  viewpoint.onChange((view, before) => {
    if (before?.site !== view.site) figures.replaceChildren(...figuresOf(view.site));
  });
  const { summary } = data;
  const run = [
    `${iso(data.startsAtMs)} to ${iso(data.endsAtMs)}`,
    `seed ${data.seed}`,
    `commit ${data.commit.slice(0, 12)}`,
    `trace ${data.hash === '' ? 'unfinished' : data.hash.slice(0, 12)}`,
    `${summary.events.toLocaleString('en')} events`,
  ];
  return element(
    'header',
    {},
    element('h1', {}, data.title),
    verdictOf(data),
    ...data.unmet
      .slice(0, SHOWN_UNMET)
      .map((words) => element('p', { class: 'verdict broken' }, `Not as expected: ${words}.`)),
    ...moreUnmet(data),
    element('p', { class: 'run', title: `trace ${data.hash}` }, run.join(' · ')),
    figures,
    ...comparisonOf(data, viewpoint),
  );
}

/** Table of both runs for the shown location; empty if there is only one run. */
function comparisonOf({ compared, summary, title }: ReportData, viewpoint: Viewpoint): HTMLElement[] {
  if (compared === undefined) return [];
  const locations = comparedLocations(summary, compared.summary);
  const rows = element('tbody');
  viewpoint.onChange((view, before) => {
    if (before?.site === view.site) return;
    const shown = locations.find(({ locationId }) => locationId === view.site.locationId);
    rows.replaceChildren(...(shown?.figures ?? []).map(rowOf));
  });
  const { differsAtMs } = compared;
  const words = differsAtMs === undefined ? 'all is the same' : `they differ from ${iso(differsAtMs)} on`;
  const { violations, firstViolation } = compared.summary;
  const first =
    firstViolation &&
    `: the first ${firstViolation.invariant} ${firstViolation.target}, ${iso(firstViolation.atMs)}`;
  const broken = `“${compared.title}” has ${violations.toLocaleString('en')} violation${violations === 1 ? '' : 's'}${first ?? ''}.`;
  const head = ['', title, compared.title].map((name) => element('th', { scope: 'col' }, name));
  return [
    ...(violations === 0 ? [] : [element('p', { class: 'verdict broken' }, broken)]),
    element('p', { class: 'run' }, `Beside “${compared.title}”: ${words}. Its power and limit are dashed.`),
    element('table', { class: 'compared' }, element('thead', {}, element('tr', {}, ...head)), rows),
  ];
}

function rowOf({ name, first, second }: ComparedFigure): HTMLElement {
  const cells = [first, second].map((text) => element('td', {}, text));
  const attributes = first === second ? {} : { class: 'differs' };
  return element('tr', attributes, element('th', { scope: 'row' }, name), ...cells);
}

function moreUnmet({ unmet }: ReportData): HTMLElement[] {
  const more = unmet.length - SHOWN_UNMET;
  return more > 0 ? [element('p', { class: 'verdict broken' }, `And ${more} more.`)] : [];
}

function verdictOf({ summary, marksLeftOut }: ReportData): HTMLElement {
  const { violations, firstViolation } = summary;
  const leftOut = marksLeftOut === 0 ? '' : ` ${marksLeftOut.toLocaleString('en')} marks are left out.`;
  if (violations === 0) return element('p', { class: 'verdict held' }, `Every invariant held.${leftOut}`);
  const first =
    firstViolation === undefined
      ? ''
      : ` The first: ${firstViolation.invariant} ${firstViolation.target}, ${iso(firstViolation.atMs)}: ${firstViolation.detail}.`;
  const words = `${violations.toLocaleString('en')} violation${violations === 1 ? '' : 's'}.${first}${leftOut}`;
  return element('p', { class: 'verdict broken' }, words);
}

function figuresOf({ summary }: Site): HTMLElement[] {
  if (summary === undefined) return [];
  const { limitAtPeakW, highestShare } = summary;
  const limit = limitAtPeakW === undefined ? '' : ` of ${kw(limitAtPeakW)}`;
  const delivered = percent(
    summary.requestedWh === 0 ? undefined : summary.deliveredWh / summary.requestedWh,
  );
  return [
    figure(
      'Peak',
      kw(summary.peakW),
      `${limit}, at most ${percent(highestShare)} of the limit`.replace(/^, /, ''),
    ),
    figure('Energy delivered', kwh(summary.deliveredWh), `${delivered} of ${kwh(summary.requestedWh)}`),
    figure('Utilisation', percent(summary.utilisation), 'of what the limit allowed'),
    figure('Overshoot', `${decimal(summary.overshootKws, 1)} kWs`, 'power above the limit, times how long'),
    figure(
      'Sessions',
      String(summary.sessions),
      `${decimal(summary.startsPerSession)} starts, ${decimal(summary.stopsPerSession)} stops each`,
    ),
    figure('Fairness', decimal(summary.fairness, 3), 'Jain’s index over shares of requests'),
    figure('Limit changes', summary.limitChanges.toLocaleString('en'), 'while a car was there'),
    figure('Locks throttled', duration(summary.lockedThrottledS), 'as a last resort'),
    figure('Violations', summary.violations.toLocaleString('en'), 'at this location'),
  ];
}

function figure(name: string, value: string, note: string): HTMLElement {
  return element(
    'div',
    {},
    element('dt', {}, name),
    element('dd', {}, value),
    element('dd', { class: 'note' }, note),
  );
}
