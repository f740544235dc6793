// Entry point with only `headroom sim`, for the bundle with cached compilation: a simulation need not load the
// service's own dependencies.
import { runCommand } from './run-command.js';
import { simCommand } from './sim.js';

// CommonJS has no top-level await; an error ends the process with its message.
void runCommand([simCommand()]);
