// The command's entry: which sub-commands there are, and how a mistake is told.
import { Command } from 'commander';
import { backupCommand } from './cli/backup.js';
import { chargerCommand } from './cli/charger.js';
import { clientCommand } from './cli/client.js';
import { demoCommand } from './cli/demo.js';
import { featureCommand } from './cli/feature.js';
import { keyCommand } from './cli/key.js';
import { migrateCommand } from './cli/migrate.js';
import { explain } from './cli/operator-error.js';
import { printNote } from './cli/print.js';
import { provisionCommand } from './cli/provision.js';
import { restoreCommand } from './cli/restore.js';
import { serveCommand } from './cli/serve.js';
import { simCommand } from './cli/sim.js';
import { tenantCommand } from './cli/tenant.js';
import { tokenKeyCommand } from './cli/token-key.js';
import { VERSION } from './version.js';

const program = new Command('headroom')
  .description('Headroom keeps charging inside the headroom a site has.')
  .version(VERSION);

for (const command of [
  serveCommand(),
  demoCommand(),
  provisionCommand(),
  tenantCommand(),
  featureCommand(),
  keyCommand(),
  clientCommand(),
  tokenKeyCommand(),
  chargerCommand(),
  simCommand(),
  migrateCommand(),
  backupCommand(),
  restoreCommand(),
]) {
  program.addCommand(command);
}

// Whoever reads the output may leave first, as `| head` does; that is no failure of the command.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0);
  throw error;
});

try {
  await program.parseAsync();
} catch (error) {
  printNote(explain(error));
  process.exit(1);
}
