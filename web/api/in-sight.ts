// Whether the page is visible. A hidden page closes its stream: a browser has six connections to a
// service for all its tabs together, and a seventh tab would wait for as long as the first six are open.

/** A page that is hidden for less than this keeps its stream. */
const UNSEEN_AT_MOST_MS = 5_000;

/** Resolves when the page is visible, or with `until`. */
export function inSight(until: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    function look(): void {
      if (isHidden() && !until.aborted) return;
      document.removeEventListener('visibilitychange', look);
      until.removeEventListener('abort', look);
      resolve();
    }
    document.addEventListener('visibilitychange', look);
    until.addEventListener('abort', look);
    look();
  });
}

/** Calls `act` when the page was hidden for a while. Returns the function that ends it. */
export function onOutOfSight(act: () => void): () => void {
  let timer: number | undefined;
  function look(): void {
    window.clearTimeout(timer);
    if (isHidden()) timer = window.setTimeout(act, UNSEEN_AT_MOST_MS);
  }
  document.addEventListener('visibilitychange', look);
  look();
  return () => {
    window.clearTimeout(timer);
    document.removeEventListener('visibilitychange', look);
  };
}

function isHidden(): boolean {
  return document.visibilityState === 'hidden';
}
