// The command's entry.
import { commandsFor } from './commands.js';
import { runCommand } from './run-command.js';

await runCommand(await commandsFor(process.argv.slice(2)));
