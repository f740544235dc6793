// How a check reports a violation: the receiver adds the time.
import type { Violation } from '../world/power-watch.js';

export type Report = (violation: Omit<Violation, 'atMs'>) => void;
