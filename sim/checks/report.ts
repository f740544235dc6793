// How a check tells of a violation: whoever is told knows the time.
import type { Violation } from '../world/power-watch.js';

export type Report = (violation: Omit<Violation, 'atMs'>) => void;
