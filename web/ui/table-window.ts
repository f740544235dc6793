// Which rows of a long table are in view: the document holds those and some around them.
import type { RefObject } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';

/** Shorter tables are in the document whole. */
const WHOLE_AT_MOST = 80;
const ROWS_AROUND = 12;
/** The window moves by so many rows at once, so that most frames of scrolling change nothing. */
const STEP = 8;
/** Until a row was measured, px. */
const GUESSED_HEIGHT = 44;

interface Window {
  readonly body: RefObject<HTMLTableSectionElement>;
  /** Rows from `first` until before `end`. */
  readonly first: number;
  readonly end: number;
  /** Height of what is left out, px. */
  readonly above: number;
  readonly below: number;
}

/** The rows in view of a table of `count` rows; their height is that of the first shown. */
export function useWindow(count: number): Window {
  const body = useRef<HTMLTableSectionElement>(null);
  const [view, setView] = useState({ first: 0, end: WHOLE_AT_MOST, height: GUESSED_HEIGHT });
  const isLong = count > WHOLE_AT_MOST;

  useLayoutEffect(() => {
    if (!isLong) return;
    const look = () => {
      const table = body.current;
      if (table === null) return;
      const height = table.querySelector('tr:not(.gap)')?.getBoundingClientRect().height || GUESSED_HEIGHT;
      const top = -table.getBoundingClientRect().top;
      const from = Math.min(count - 1, Math.floor(top / height)) - ROWS_AROUND;
      const to = Math.ceil((top + window.innerHeight) / height) + ROWS_AROUND;
      const first = Math.max(0, STEP * Math.floor(from / STEP));
      const end = Math.min(count, STEP * Math.ceil(to / STEP));
      setView((before) =>
        before.first === first && before.end === end && before.height === height
          ? before
          : { first, end: Math.max(end, first + 1), height },
      );
    };
    look();
    // Of anything that scrolls: a dialog does so on its own, and such events do not bubble.
    const scrolling = { passive: true, capture: true };
    window.addEventListener('scroll', look, scrolling);
    window.addEventListener('resize', look);
    // What a dialog holds has its size only once that is shown.
    const sizes = new ResizeObserver(look);
    if (body.current !== null) sizes.observe(body.current);
    return () => {
      window.removeEventListener('scroll', look, scrolling);
      window.removeEventListener('resize', look);
      sizes.disconnect();
    };
  }, [count, isLong]);

  if (!isLong) return { body, first: 0, end: count, above: 0, below: 0 };
  const first = Math.min(view.first, count - 1);
  const end = Math.min(view.end, count);
  return { body, first, end, above: first * view.height, below: (count - end) * view.height };
}
