// Reads the TypeScript files of the tree and their imports as text. A test can add files of its own.
import { readdirSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { fileURLToPath } from 'node:url';

export interface Source {
  /** Relative to the root of the tree, with `/`. */
  readonly path: string;
  readonly text: string;
}

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const IMPORT =
  /(?:^|[\n;])\s*(?:import|export)\b[^'";]*?\bfrom\s*['"]([^'"]+)['"]|(?:^|[\n;])\s*import\s*['"]([^'"]+)['"]|\bimport\(\s*['"]([^'"]+)['"]\s*\)/g;
const COMMENT = /\/\*[\s\S]*?\*\/|(?<![:\\'"`\w])\/\/.*$/gm;

/** All files below `folders` whose name matches `ending`. */
export function readSources(folders: readonly string[], ending = /\.ts$/): readonly Source[] {
  return folders.flatMap((folder) =>
    readdirSync(`${ROOT}/${folder}`, { recursive: true, encoding: 'utf8' })
      .filter((name) => ending.test(name))
      .map((name) => posix.join(folder, name.replaceAll('\\', '/')))
      .sort()
      .map((path) => ({ path, text: readFileSync(`${ROOT}/${path}`, 'utf8') })),
  );
}

export function withoutComments({ text }: Source): string {
  return text.replace(COMMENT, '');
}

/** The targets of the imports: paths relative to the root of the tree, or package names as written. */
export function importsOf(source: Source): readonly string[] {
  return [...withoutComments(source).matchAll(IMPORT)].map((match) => {
    const target = match[1] ?? match[2] ?? match[3] ?? '';
    if (!target.startsWith('.')) return target;
    return posix.join(posix.dirname(source.path), target).replace(/\.js$/, '.ts');
  });
}
