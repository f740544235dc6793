// Spare worlds of a cell that wait on the way it went: who does something behind runs the past from the nearest one again.
import type { EpochMs } from '../../machines/values/time.js';
import type { CellHost } from './cell-hosts.js';
import type { Cell } from './cells.js';
import { Queue } from './queue.js';
import { type DoneByHand, RecordedRun } from './recorded-run.js';

/** A spare world goes so far at a time: whoever needs its thread waits no longer. A run stands still at each minute anyway. */
const STEP_MS = 10 * 60_000;
const MINUTE_MS = 60_000;

export class Spares {
  readonly #cell: Cell;
  readonly #open: CellHost['open'];
  /** Where one waits, in the order of time. */
  readonly #posts: readonly EpochMs[];
  readonly #waiting = new Map<EpochMs, RecordedRun>();
  /** They are brought to their posts one after another. */
  readonly #queue = new Queue();
  #done: readonly DoneByHand[] = [];
  #untilMs: EpochMs;
  #isOver = false;

  /** @param count how many, evenly spread over the time of `cell`; the first waits where it begins. */
  constructor(cell: Cell, open: CellHost['open'], count: number) {
    const { startsAtMs, endsAtMs } = cell.scenario;
    const everyMs = Math.max(MINUTE_MS, Math.round((endsAtMs - startsAtMs) / count / MINUTE_MS) * MINUTE_MS);
    this.#cell = cell;
    this.#open = open;
    this.#posts = Array.from({ length: count }, (_, nth) => startsAtMs + nth * everyMs);
    this.#untilMs = startsAtMs;
  }

  /** From now on they wait up to `instant`, with what of `done` was before each. Of what ran in another cell they know nothing. */
  follow(cell: Cell, done: readonly DoneByHand[], instant: EpochMs): void {
    if (cell !== this.#cell) return;
    this.#done = done;
    this.#untilMs = instant;
    void this.#queue.add(() => this.#fill());
  }

  /** The nearest that is no further than `instant` and did what was `done` until there; it is somebody else's now. */
  take(cell: Cell, done: readonly DoneByHand[], instant: EpochMs): RecordedRun | undefined {
    if (cell !== this.#cell) return undefined;
    const post = this.#posts.findLast((each) => each <= instant && this.#isThere(each, done));
    if (post === undefined) return undefined;
    const spare = this.#waiting.get(post);
    this.#waiting.delete(post);
    return spare;
  }

  /** Until all wait where they are to. */
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
        // Who goes back runs it all again, and is told what is wrong.
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

  /** In the place of one that has lived through something else. */
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

  /** To `post`, unless it is not wanted there any more. */
  async #bring(spare: RecordedRun, post: EpochMs): Promise<void> {
    while (spare.end.atMs < post && !this.#isOver && hasLived(spare, this.#done)) {
      const until = Math.min(post, spare.end.atMs + STEP_MS);
      const before = this.#done.filter(({ at }) => at.atMs < until);
      await spare.goOn(before, until);
    }
  }
}

/** Whether it did what was `done` before it came where it is, and nothing else. */
function hasLived(spare: RecordedRun, done: readonly DoneByHand[]): boolean {
  const own = spare.done;
  return (
    own.every(({ deed }, i) => deed === done[i]?.deed) &&
    done.slice(own.length).every(({ at }) => at.atMs >= spare.end.atMs)
  );
}
