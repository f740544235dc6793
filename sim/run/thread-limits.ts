// What a thread that simulates may use.
import type { ResourceLimits } from 'node:worker_threads';

/**
 * A simulation makes much that is soon over. By itself a thread of Node gets so little memory for that, that collecting it took a fifth of
 * its time.
 */
export const THREAD_LIMITS: ResourceLimits = { maxYoungGenerationSizeMb: 96 };
