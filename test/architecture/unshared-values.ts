// Finds what a file offers to others and none of them takes: it reads as if somebody far away hung on it.
import { posix } from 'node:path';
import { type Source, withoutComments } from './sources.js';

const EXPORTED = /^export (?:async )?(?:const|let|function\*?|class) (\w+)/gm;
const TAKEN = /^(?:import|export)\s([^'";]*?)\sfrom\s*['"](\.[^'"]+)['"]/gm;
/** `typeof import('…')` in the comment of a script included. */
const TAKEN_WHOLE = /\bimport\(\s*(?:\/\*[^*]*\*\/\s*)?['"](\.[^'"]+)['"]/g;

/** The functions, classes and constants of `sources` that no other of `all` imports, as `file name`. Types are not looked at. */
export function unsharedValues(sources: readonly Source[], all: readonly Source[]): readonly string[] {
  const taken = new Set(all.flatMap(takenBy));
  return sources.flatMap((source) =>
    [...source.text.matchAll(EXPORTED)]
      .map(([, name]) => `${source.path} ${name}`)
      .filter((each) => !taken.has(each) && !taken.has(`${source.path} *`)),
  );
}

/** As `file name`; `*` where all of a file is taken. */
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

/** Of `{ a, type B, c as d }` what the other file calls them; `*` for all of it. */
function namesIn(names: string): readonly string[] {
  if (names.includes('*')) return ['*'];
  return names
    .replace(/[{}]/g, ' ')
    .split(',')
    .map((each) => each.trim().replace(/^type\s+/, ''))
    .map((each) => each.replace(/\s+as\s+\w+$/, ''));
}

/** Importers name the file as it is compiled. */
function writtenAs(path: string): readonly string[] {
  return [path, path.replace(/\.js$/, '.ts'), path.replace(/\.js$/, '.tsx')];
}
