// Builds the parts for users: the command, the dashboard and the page of reports. One process takes half the processor
// time of three.
import { fileURLToPath } from 'node:url';
import { build } from 'vite';

const configFile = fileURLToPath(new URL('../vite.config.ts', import.meta.url));
// The command is last: its build writes the stamp (`tools/prepare.js`).
for (const mode of ['report', 'web', 'command']) await build({ configFile, mode });
