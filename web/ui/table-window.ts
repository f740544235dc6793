// Visible rows of a long table: the document holds only these rows and some around them.
import type { RefObject } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';

/** Tables up to this length are in the document completely. */
const WHOLE_AT_MOST = 80;
const ROWS_AROUND = 12;
/** The window moves by this many rows at a time, so that most frames of scrolling change nothing. */
const STEP = 8;
/** Used until a row has been measured, px. */
const GUESSED_HEIGHT = 44;

interface Window {
  readonly body: RefObject<HTMLTableSectionElement>;
  /** Rows from `first` to `end`, `end` excluded. */
  readonly first: number;
  readonly end: number;
  /** Height of the omitted rows, px. */
  readonly above: number;
  readonly below: number;
}

/** The visible rows of a table with `count` rows. All rows count as high as the first visible one. */
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
    // Captures the scrolling of any element: a dialog scrolls on its own, and scroll events do not bubble.
    const scrolling = { passive: true, capture: true };
    window.addEventListener('scroll', look, scrolling);
    window.addEventListener('resize', look);
    // The content of a dialog has no size until the dialog is shown.
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
