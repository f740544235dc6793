// What would change if a part of machines/power/connector.machine.ts were missing.
import { describeMutants } from './survival.js';

describeMutants('connector');
