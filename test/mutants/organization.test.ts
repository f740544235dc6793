// What would change if a part of machines/limits/organization.machine.ts were missing.
import { describeMutants } from './survival.js';

describeMutants('organization');
