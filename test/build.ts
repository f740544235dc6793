// Compiles the command once before the tests, because the tests of the command line run it as users do.
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const root = fileURLToPath(new URL('..', import.meta.url));
const run = promisify(execFile);

/** The steps of `npm run build`, with independent ones side by side: pages are bundled from their sources. */
export async function setup(): Promise<void> {
  await Promise.all([compileAndBundle(), bundle('report'), bundle('web')]);
  // The stamp of a whole build is newer than all pages (`tools/prepare.js`).
  writeFileSync(`${root}/dist/built`, '');
}

/** The command is bundled from compiled files. */
async function compileAndBundle(): Promise<void> {
  await build('node_modules/typescript/bin/tsc', '-p', 'tools/tsconfig.build.json');
  await bundle('command');
}

function bundle(what: 'report' | 'web' | 'command'): Promise<void> {
  return build('node_modules/vite/bin/vite.js', 'build', '--mode', what);
}

/** `npm run check` reports type errors; the compiler writes its output despite them. */
async function build(...command: readonly string[]): Promise<void> {
  try {
    await run(process.execPath, command, { cwd: root });
  } catch (error) {
    process.stderr.write(`The build before the tests had errors: ${error}\n`);
  }
}
