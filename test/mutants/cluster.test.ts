// What would change if a part of machines/limits/cluster.machine.ts were missing.
import { describeMutants } from './survival.js';

describeMutants('cluster');
