// `headroom sim` as one file with cached compilation. V8 neither parses nor compiles this code again, which halves the
// time of a start.
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { constants, Script } from 'node:vm';

export const KEPT = fileURLToPath(new URL('../dist/command/sim-alone.cjs', import.meta.url));
/** Valid only for one version and processor architecture. V8 checks the cache and compiles any code that it rejects. */
const COMPILED = `${KEPT}.${process.version}-${process.arch}`;

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
