// One command at a time per entity, so that a command's checks still hold after its write has reached the disk.

export interface EntityQueue {
  /** Runs `work` after all earlier work under `key` has ended, well or badly. @returns the result of `work` */
  run<T>(key: string, work: () => Promise<T>): Promise<T>;
}

export function createEntityQueue(): EntityQueue {
  const tails = new Map<string, Promise<unknown>>();
  return {
    async run(key, work) {
      const before = tails.get(key) ?? Promise.resolve();
      const mine = before.then(work, work);
      tails.set(key, mine);
      try {
        return await mine;
      } finally {
        if (tails.get(key) === mine) tails.delete(key);
      }
    },
  };
}
