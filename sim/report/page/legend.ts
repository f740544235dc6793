// The words of the figures above, for a reader who sees them for the first time.
import { LEGEND } from '../legend.js';
import { element } from './element.js';

export function createLegend(): HTMLElement {
  const words = LEGEND.flatMap(([name, meaning]) => [element('dt', {}, name), element('dd', {}, meaning)]);
  return element(
    'details',
    { class: 'words' },
    element('summary', {}, 'What the figures mean'),
    element('dl', {}, ...words),
  );
}
