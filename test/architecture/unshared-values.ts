// Finds exported values that no other file imports. An unneeded export makes a reader look for users far away.
import { posix } from 'node:path';
import { type Source, withoutComments } from './sources.js';

const EXPORTED = /^export (?:async )?(?:const|let|function\*?|class) (\w+)/gm;
const TAKEN = /^(?:import|export)\s([^'";]*?)\sfrom\s*['"](\.[^'"]+)['"]/gm;
/** This includes `typeof import('…')` in the comment of a script. */
const TAKEN_WHOLE = /\bimport\(\s*(?:\/\*[^*]*\*\/\s*)?['"](\.[^'"]+)['"]/g;

/**
 * Lists the functions, classes and constants of `sources` that no other file of `all` imports, as `file name`. Ignores
 * types.
 */
export function unsharedValues(sources: readonly Source[], all: readonly Source[]): readonly string[] {
  const taken = new Set(all.flatMap(takenBy));
  return sources.flatMap((source) =>
    [...source.text.matchAll(EXPORTED)]
      .map(([, name]) => `${source.path} ${name}`)
      .filter((each) => !taken.has(each) && !taken.has(`${source.path} *`)),
  );
}

/** As `file name`, or `file *` if the importer takes the whole file. */
function takenBy(source: Source): readonly string[] {
  const folder = posix.dirname(source.path);
  const named = [...withoutComments(source).matchAll(TAKEN)].flatMap(([, names = '', target = '']) =>
    namesIn(names).flatMap((name) => writtenAs(posix.join(folder, target)).map((path) => `${path} ${name}`)),
  );
  const whole = [...source.text.matchAll(TAKEN_WHOLE)].flatMap(([, target = '']) =>
    writtenAs(posix.join(folder, target)).map((path) => `${path} *`),
  );
  return [...named, ...whole];
}

/** The original names in `{ a, type B, c as d }`, or `*` for a whole import. */
function namesIn(names: string): readonly string[] {
  if (names.includes('*')) return ['*'];
  return names
    .replace(/[{}]/g, ' ')
    .split(',')
    .map((each) => each.trim().replace(/^type\s+/, ''))
    .map((each) => each.replace(/\s+as\s+\w+$/, ''));
}

/** Importers name the compiled file. */
function writtenAs(path: string): readonly string[] {
  return [path, path.replace(/\.js$/, '.ts'), path.replace(/\.js$/, '.tsx')];
}
