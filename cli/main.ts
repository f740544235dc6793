// Entry point of the command.
import { commandsFor } from './commands.js';
import { runCommand } from './run-command.js';

await runCommand(await commandsFor(process.argv.slice(2)));
