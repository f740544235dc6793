// Prewarmed worlds of a cell at instants of its past: a step after going back continues from the nearest one.
import type { EpochMs } from '../../machines/values/time.js';
import type { CellHost } from './cell-hosts.js';
import type { Cell } from './cells.js';
import { Queue } from './queue.js';
import { type DoneByHand, RecordedRun } from './recorded-run.js';

/**
 * A world advances by this much at a time, so that a request to its thread waits no longer. A run stops at each minute
 * anyway.
 */
const STEP_MS = 10 * 60_000;
const MINUTE_MS = 60_000;

export class PrewarmedWorlds {
  readonly #cell: Cell;
  readonly #open: CellHost['open'];
  /** Instants of the prewarmed worlds, in order of time. */
  readonly #posts: readonly EpochMs[];
  readonly #waiting = new Map<EpochMs, RecordedRun>();
  /** The worlds advance one after another. */
  readonly #queue = new Queue();
  #done: readonly DoneByHand[] = [];
  #untilMs: EpochMs;
  #isOver = false;

  /**
   * @param count number of worlds, at equal intervals over the time of `cell`; the first one stays at its beginning.
   */
  constructor(cell: Cell, open: CellHost['open'], count: number) {
    const { startsAtMs, endsAtMs } = cell.scenario;
    const everyMs = Math.max(MINUTE_MS, Math.round((endsAtMs - startsAtMs) / count / MINUTE_MS) * MINUTE_MS);
    this.#cell = cell;
    this.#open = open;
    this.#posts = Array.from({ length: count }, (_, nth) => startsAtMs + nth * everyMs);
    this.#untilMs = startsAtMs;
  }

  /**
   * Keeps worlds at all posts up to `instant`, each with the steps of `done` before it. A request about another cell,
   * such as one of joined cells, has no effect.
   */
  follow(cell: Cell, done: readonly DoneByHand[], instant: EpochMs): void {
    if (cell !== this.#cell) return;
    this.#done = done;
    this.#untilMs = instant;
    void this.#queue.add(() => this.#fill());
  }

  /** Takes the nearest world at or before `instant` that ran the same steps of `done`. The caller must close it. */
  take(cell: Cell, done: readonly DoneByHand[], instant: EpochMs): RecordedRun | undefined {
    if (cell !== this.#cell) return undefined;
    const post = this.#posts.findLast((each) => each <= instant && this.#isThere(each, done));
    if (post === undefined) return undefined;
    const spare = this.#waiting.get(post);
    this.#waiting.delete(post);
    return spare;
  }

  /** Resolves after all worlds have reached their posts. */
  ready(): Promise<void> {
    return this.#queue.add(async () => {});
  }

  async close(): Promise<void> {
    this.#isOver = true;
    await this.ready();
    await Promise.all([...this.#waiting.values()].map(({ world }) => world.close()));
    this.#waiting.clear();
  }

  async #fill(): Promise<void> {
    for (let post = this.#missing(); post !== undefined; post = this.#missing())
      try {
        await this.#man(post);
      } catch {
        // The next step after going back runs the whole past again and then reports the error.
        this.#isOver = true;
      }
  }

  #missing(): EpochMs | undefined {
    if (this.#isOver) return undefined;
    return this.#posts.find((post) => post <= this.#untilMs && !this.#isThere(post, this.#done));
  }

  #isThere(post: EpochMs, done: readonly DoneByHand[]): boolean {
    const spare = this.#waiting.get(post);
    return spare !== undefined && hasLived(spare, done);
  }

  /** Replaces a world with other steps by a new one. */
  async #man(post: EpochMs): Promise<void> {
    const other = this.#waiting.get(post);
    this.#waiting.delete(post);
    await other?.world.close();
    const spare = await RecordedRun.begin(this.#cell, this.#open);
    try {
      await this.#bring(spare, post);
    } finally {
      if (spare.end.atMs === post) this.#waiting.set(post, spare);
      else await spare.world.close();
    }
  }

  /** Advances to `post`, unless the steps of the cell changed meanwhile. */
  async #bring(spare: RecordedRun, post: EpochMs): Promise<void> {
    while (spare.end.atMs < post && !this.#isOver && hasLived(spare, this.#done)) {
      const until = Math.min(post, spare.end.atMs + STEP_MS);
      const before = this.#done.filter(({ at }) => at.atMs < until);
      await spare.goOn(before, until);
    }
  }
}

/** True if the world ran exactly the steps of `done` that precede its instant. */
function hasLived(spare: RecordedRun, done: readonly DoneByHand[]): boolean {
  const own = spare.done;
  return (
    own.every(({ deed }, i) => deed === done[i]?.deed) &&
    done.slice(own.length).every(({ at }) => at.atMs >= spare.end.atMs)
  );
}
