// Every version of the schema, named in code: the list is the same from sources, from a build and in tests.
import type { Knex } from 'knex';
import * as initial from './migrations/0001-initial.js';
import * as owner from './migrations/0002-owner.js';
import * as enforcement from './migrations/0003-enforcement.js';
import * as powerEstimates from './migrations/0004-power-estimates.js';
import * as commitCount from './migrations/0005-commit-count.js';
import * as alarmReasons from './migrations/0006-alarm-reasons.js';
import * as operatorLimits from './migrations/0008-operator-limits.js';
import * as fuses from './migrations/0009-fuses.js';
import * as passwordSeals from './migrations/0010-password-seals.js';
import * as leaseTimes from './migrations/0011-lease-times.js';
import * as directCurrent from './migrations/0012-direct-current.js';
import * as ownerNode from './migrations/0013-owner-node.js';
import * as siteMeters from './migrations/0014-site-meters.js';
import * as neverPause from './migrations/0015-never-pause.js';
import * as lentPhases from './migrations/0016-lent-phases.js';
import * as peakShaving from './migrations/0017-peak-shaving.js';
import * as operatorMayPause from './migrations/0018-operator-may-pause.js';
import * as shards from './migrations/0019-shards.js';
import * as phaseCurrents from './migrations/0020-phase-currents.js';
import * as buildingPower from './migrations/0021-building-power.js';
import * as declinedShards from './migrations/0022-declined-shards.js';
import * as feederCurrents from './migrations/0023-feeder-currents.js';
import * as credentialHistory from './migrations/0024-credential-history.js';

interface NamedMigration extends Knex.Migration {
  readonly name: string;
}

// In order. A name is stored in databases and never changes.
const ALL: readonly NamedMigration[] = [
  { name: '0001-initial', ...initial },
  { name: '0002-owner', ...owner },
  { name: '0003-enforcement', ...enforcement },
  { name: '0004-power-estimates', ...powerEstimates },
  { name: '0005-commit-count', ...commitCount },
  { name: '0006-alarm-reasons', ...alarmReasons },
  { name: '0008-operator-limits', ...operatorLimits },
  { name: '0009-fuses', ...fuses },
  { name: '0010-password-seals', ...passwordSeals },
  { name: '0011-lease-times', ...leaseTimes },
  { name: '0012-direct-current', ...directCurrent },
  { name: '0013-owner-node', ...ownerNode },
  { name: '0014-site-meters', ...siteMeters },
  { name: '0015-never-pause', ...neverPause },
  { name: '0016-lent-phases', ...lentPhases },
  { name: '0017-peak-shaving', ...peakShaving },
  { name: '0018-operator-may-pause', ...operatorMayPause },
  { name: '0019-shards', ...shards },
  { name: '0020-phase-currents', ...phaseCurrents },
  { name: '0021-building-power', ...buildingPower },
  { name: '0022-declined-shards', ...declinedShards },
  { name: '0023-feeder-currents', ...feederCurrents },
  { name: '0024-credential-history', ...credentialHistory },
];

export const MIGRATIONS: Knex.MigrationSource<NamedMigration> = {
  getMigrations: async () => [...ALL],
  getMigrationName: (migration) => migration.name,
  getMigration: async (migration) => migration,
};
