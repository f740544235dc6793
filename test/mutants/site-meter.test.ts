// What would change if a part of machines/limits/site-meter.machine.ts were missing.
import { describeMutants } from './survival.js';

describeMutants('siteMeter');
