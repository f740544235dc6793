// What would change if a part of machines/limits/operator.machine.ts were missing.
import { OPERATOR_STORY } from './operator-story.js';
import { describeMutants } from './survival.js';

describeMutants('operator', [OPERATOR_STORY]);
