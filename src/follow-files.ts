// Checks files that may be replaced while a process runs, and applies their changes without a restart.
import type { Cancel, Clock } from './ports/clock.js';
import type { Log } from './ports/log.js';
import { createRareLog } from './rare-log.js';

const EVERY_MS = 1_000;

/** Every second from now on, until the returned function is called. The log calls the files `what`. */
export function followFiles(
  what: string,
  files: { refresh(): void },
  { clock, log }: { readonly clock: Clock; readonly log: Log },
): () => Promise<void> {
  const rareLog = createRareLog(clock);
  let cancel: Cancel;
  const look = () => {
    try {
      files.refresh();
    } catch (error) {
      rareLog(what, () =>
        log.error({ err: error }, `new ${what} cannot be used; the earlier ones stay in force`),
      );
    }
    cancel = clock.after(EVERY_MS, look);
  };
  look();
  return async () => cancel();
}
