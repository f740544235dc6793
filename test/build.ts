// Compiles the command once before the tests, because the tests of the command line run it as people do.
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));

/** Type errors are the business of `npm run check`: the compiler writes its output all the same. */
export function setup(): void {
  try {
    execFileSync(process.execPath, ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json'], {
      cwd: root,
      stdio: 'pipe',
    });
  } catch (error) {
    process.stderr.write(`The build before the tests had errors: ${error}\n`);
  }
}
