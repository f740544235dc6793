// Compiles the command once before the tests, because the tests of the command line run it as people do.
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const root = fileURLToPath(new URL('..', import.meta.url));
const run = promisify(execFile);

/** Of `npm run build`, side by side what needs nothing of one another: pages are bundled from their sources. */
export async function setup(): Promise<void> {
  await Promise.all([compileAndBundle(), bundle('report'), bundle('web')]);
}

/** The command is bundled from what was compiled. */
async function compileAndBundle(): Promise<void> {
  await build('node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json');
  await bundle('command');
}

function bundle(what: 'report' | 'web' | 'command'): Promise<void> {
  return build('node_modules/vite/bin/vite.js', 'build', '-c', `vite.${what}.config.ts`);
}

/** Type errors are the business of `npm run check`: the compiler writes its output all the same. */
async function build(...command: readonly string[]): Promise<void> {
  try {
    await run(process.execPath, command, { cwd: root });
  } catch (error) {
    process.stderr.write(`The build before the tests had errors: ${error}\n`);
  }
}
