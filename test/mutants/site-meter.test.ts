// What would change if a part of machines/limits/site-meter.machine.ts were missing.
import { METER_STORY } from './meter-story.js';
import { describeMutants } from './survival.js';

describeMutants('siteMeter', [METER_STORY]);
