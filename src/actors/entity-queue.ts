// One command at a time per entity, so that what a command checked is still true when its write is on disk.

export interface EntityQueue {
  /** Runs `work` when everything queued before under `key` has ended, well or badly; passes on what it gives. */
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
