// Visibility of the page. A hidden page closes its stream, because a browser has six connections to a service for all
// its tabs. A seventh tab would wait until one of the first six closes.

/** A page that is hidden for less than this keeps its stream. */
const UNSEEN_AT_MOST_MS = 5_000;

/** Resolves after the page becomes visible, or after `until` aborts. */
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

/** Calls `act` after the page was hidden for a while. Returns a function that stops this. */
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
