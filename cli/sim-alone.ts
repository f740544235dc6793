// The command with nothing but `headroom sim`, for the bundle that is kept compiled: no simulation waits for what only a service needs.
import { runCommand } from './run-command.js';
import { simCommand } from './sim.js';

// A file of CommonJS cannot wait; what goes wrong ends the process with its message.
void runCommand([simCommand()]);
