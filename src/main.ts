// The command's entry: which sub-commands there are, and how a mistake is told.
import { Command } from 'commander';
import { explain } from './cli/operator-error.js';
import { printNote } from './cli/print.js';
import { VERSION } from './version.js';

const program = new Command('headroom')
  .description('Headroom keeps charging inside the headroom a site has.')
  .version(VERSION);

/** A command is loaded when it is typed: most need nothing of the service, and start in half the time without it. */
const COMMANDS = new Map<string, () => Promise<Command>>([
  ['serve', async () => (await import('./cli/serve.js')).serveCommand()],
  ['demo', async () => (await import('./cli/demo.js')).demoCommand()],
  ['provision', async () => (await import('./cli/provision.js')).provisionCommand()],
  ['tenant', async () => (await import('./cli/tenant.js')).tenantCommand()],
  ['feature', async () => (await import('./cli/feature.js')).featureCommand()],
  ['key', async () => (await import('./cli/key.js')).keyCommand()],
  ['client', async () => (await import('./cli/client.js')).clientCommand()],
  ['token-key', async () => (await import('./cli/token-key.js')).tokenKeyCommand()],
  ['charger', async () => (await import('./cli/charger.js')).chargerCommand()],
  ['sim', async () => (await import('./cli/sim.js')).simCommand()],
  ['migrate', async () => (await import('./cli/migrate.js')).migrateCommand()],
  ['backup', async () => (await import('./cli/backup.js')).backupCommand()],
  ['restore', async () => (await import('./cli/restore.js')).restoreCommand()],
]);

const typed = COMMANDS.get(process.argv[2] ?? '');
for (const load of typed === undefined ? COMMANDS.values() : [typed]) program.addCommand(await load());

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
