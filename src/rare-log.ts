// Logs effects of a hostile or broken peer once a minute per source: enough to find it, too little to fill a disk.
import { LRUCache } from 'lru-cache';
import type { Clock } from './ports/clock.js';

const EVERY_MS = 60_000;
const SOURCES = 1_000;

/** Calls `write` unless it did so for the same `source` within the last minute. */
export type RareLog = (source: string, write: () => void) => void;

export function createRareLog(clock: Clock): RareLog {
  const seen = new LRUCache<string, true>({
    max: SOURCES,
    ttl: EVERY_MS,
    ttlResolution: 0,
    // For the cache an entry of instant 0 never expires, and a clock may begin at 0.
    perf: { now: () => clock.monotonicMs() + 1 },
  });
  return (source, write) => {
    if (seen.has(source)) return;
    seen.set(source, true);
    write();
  };
}
