// What would change if a part of machines/limits/operator.machine.ts were missing.
import { describeMutants } from './survival.js';

describeMutants('operator');
