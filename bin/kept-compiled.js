// `headroom sim` as one file, with what V8 made of it at the build: neither parsed nor compiled again, it begins in half the time.
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { constants, Script } from 'node:vm';

export const KEPT = fileURLToPath(new URL('../dist/command/sim-alone.cjs', import.meta.url));
/** Of no use to another version or processor. V8 looks once more, and compiles what it cannot use. */
const COMPILED = `${KEPT}.${process.version}-${process.arch}`;

/** Runs the command. */
export function loadKept(onScript = () => {}) {
  const script = new Script(
    `(function (exports, require, module, __filename, __dirname) {${readFileSync(KEPT)}\n})`,
    {
      filename: KEPT,
      cachedData: existsSync(COMPILED) ? readFileSync(COMPILED) : undefined,
      importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
    },
  );
  onScript(script, COMPILED);
  const module = { exports: {} };
  script.runInThisContext()(module.exports, createRequire(KEPT), module, KEPT, dirname(KEPT));
}
