// Settings for knex's own command line, the same the service uses; built into dist/ with it.
import { databaseUrlOf, loadConfig } from './src/config.js';
import { knexSettings } from './src/outbound/knex/connection.js';

export default knexSettings(databaseUrlOf(loadConfig()));
