// Waiting for a condition instead of for a time: as short as it can be, and long enough for a busy machine.
import { vi } from 'vitest';

const DEADLINE_MS = 10_000;
const LOOK_EVERY_MS = 20;

/** Resolves when `check` no longer throws; rejects with what it last threw. */
export function eventually(check: () => unknown): Promise<unknown> {
  return vi.waitFor(check, { timeout: DEADLINE_MS, interval: LOOK_EVERY_MS });
}
