// Things that are done one after another, each whether or not those before it failed.
export class Queue {
  #last: Promise<unknown> = Promise.resolve();

  /** @returns what comes of `task`, which begins when all that was added before has ended. */
  add<T>(task: () => Promise<T>): Promise<T> {
    const done = this.#last.then(task);
    this.#last = done.catch(() => {});
    return done;
  }
}
