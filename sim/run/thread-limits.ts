// Memory limits of a thread that simulates.
import type { ResourceLimits } from 'node:worker_threads';

/**
 * A simulation creates many short-lived objects. With the default size of the young generation, garbage collection took
 * a fifth of the time of a thread.
 */
export const THREAD_LIMITS: ResourceLimits = { maxYoungGenerationSizeMb: 96 };
