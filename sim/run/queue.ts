// Runs tasks one after another; a failed task does not stop the next one.
export class Queue {
  #last: Promise<unknown> = Promise.resolve();

  /** @returns the result of `task`, which begins after all earlier tasks have ended. */
  add<T>(task: () => Promise<T>): Promise<T> {
    const done = this.#last.then(task);
    this.#last = done.catch(() => {});
    return done;
  }
}
