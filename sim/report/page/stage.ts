// Pointer input on the time axis: a line through all rows at the chosen instant, a click to choose, a drag to zoom.
import { element } from './element.js';
import type { Viewpoint } from './viewpoint.js';

/** A shorter drag counts as a click. */
const DRAG_PX = 6;

/** Handles pointer events of `stage`; `ruler` spans the time axis that all its rows share. */
export function pointAtTime(stage: HTMLElement, ruler: HTMLElement, viewpoint: Viewpoint): void {
  const line = element('div', { class: 'instant-line' });
  const selection = element('div', { class: 'selection', hidden: true });
  stage.append(line, selection);
  let pressedAt: number | undefined;

  const offset = () => ruler.getBoundingClientRect().left - stage.getBoundingClientRect().left;
  const within = (clientX: number) => {
    const { left, width } = ruler.getBoundingClientRect();
    return Math.min(Math.max(clientX - left, 0), width);
  };
  function timeAt(px: number): number {
    const { fromMs, toMs } = viewpoint.view;
    return fromMs + (px / ruler.clientWidth) * (toMs - fromMs);
  }
  function moveLine(): void {
    const { fromMs, toMs, instant } = viewpoint.view;
    const px = offset() + (ruler.clientWidth * (instant - fromMs)) / (toMs - fromMs);
    line.style.transform = `translateX(${px}px)`;
  }

  stage.addEventListener('pointerdown', (event) => {
    const isOnTime = event.target instanceof Element && event.target.closest('.time, .plot') !== null;
    const { left, right } = ruler.getBoundingClientRect();
    if (event.button !== 0 || !isOnTime || event.clientX < left || event.clientX > right) return;
    pressedAt = within(event.clientX);
    stage.setPointerCapture(event.pointerId);
  });
  stage.addEventListener('pointermove', (event) => {
    if (pressedAt === undefined) return;
    const px = within(event.clientX);
    selection.hidden = Math.abs(px - pressedAt) < DRAG_PX;
    selection.style.left = `${offset() + Math.min(px, pressedAt)}px`;
    selection.style.width = `${Math.abs(px - pressedAt)}px`;
  });
  stage.addEventListener('pointerup', (event) => {
    if (pressedAt === undefined) return;
    const px = within(event.clientX);
    if (Math.abs(px - pressedAt) < DRAG_PX) viewpoint.choose(timeAt(px));
    else viewpoint.show(timeAt(Math.min(px, pressedAt)), timeAt(Math.max(px, pressedAt)));
    pressedAt = undefined;
    selection.hidden = true;
  });
  stage.addEventListener('pointercancel', () => {
    pressedAt = undefined;
    selection.hidden = true;
  });
  viewpoint.onChange(moveLine);
  new ResizeObserver(moveLine).observe(stage);
}
