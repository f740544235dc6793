// Compiles the command once before the tests, because the tests of the command line run it as people do.
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));

const BUILDS = [
  ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json'],
  ['node_modules/vite/bin/vite.js', 'build', '-c', 'vite.report.config.ts'],
  ['node_modules/vite/bin/vite.js', 'build', '-c', 'vite.web.config.ts'],
  ['node_modules/vite/bin/vite.js', 'build', '-c', 'vite.command.config.ts'],
];

/** Type errors are the business of `npm run check`: the compiler writes its output all the same. */
export function setup(): void {
  for (const command of BUILDS) {
    try {
      execFileSync(process.execPath, command, { cwd: root, stdio: 'pipe' });
    } catch (error) {
      process.stderr.write(`The build before the tests had errors: ${error}\n`);
    }
  }
}
