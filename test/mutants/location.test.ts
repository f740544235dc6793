// What would change if a part of machines/power/location.machine.ts were missing.
import { describeMutants } from './survival.js';

describeMutants('location');
