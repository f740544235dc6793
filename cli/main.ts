// Entry point of the command.
import { commandsFor, completeCommandFor } from './commands.js';
import { runCommand } from './run-command.js';

const words = process.argv.slice(2);
const complete = await completeCommandFor(words);
await runCommand(complete === undefined ? await commandsFor(words) : [complete]);
