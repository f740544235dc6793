// Builds everything once before the tests: the command, because tests run it as users do; compiled files, for benches
// and planted bugs.
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const root = fileURLToPath(new URL('..', import.meta.url));
const run = promisify(execFile);

/** The steps of `npm run build:all`, side by side. */
export async function setup(): Promise<void> {
  await Promise.all([
    build('tools/build.js'),
    build('node_modules/typescript/bin/tsc', '-p', 'tools/tsconfig.build.json'),
  ]);
}

/** `npm run check` reports type errors; the compiler writes its output despite them. */
async function build(...command: readonly string[]): Promise<void> {
  try {
    await run(process.execPath, command, { cwd: root });
  } catch (error) {
    process.stderr.write(`The build before the tests had errors: ${error}\n`);
  }
}
