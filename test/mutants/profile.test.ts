// What would change if a part of machines/limits/profile.machine.ts were missing.
import { describeMutants } from './survival.js';

describeMutants('profile');
