// What would change if a part of machines/organization.machine.ts were missing.
import { describeMutants } from './survival.js';

describeMutants('organization');
