// A row of the page: its name on the left, the time axis in the middle, a figure on the right.
import { element } from './element.js';

export interface Lane {
  readonly row: HTMLElement;
  readonly left: HTMLElement;
  readonly time: HTMLElement;
  readonly right: HTMLElement;
}

export function createLane(label: string, title = label): Lane {
  const left = element('div', { class: 'left', title }, label);
  const time = element('div', { class: 'time' });
  const right = element('div', { class: 'right' });
  return { row: element('div', { class: 'row lane' }, left, time, right), left, time, right };
}
