// Creates files and directories with secrets so that only their owner can read them, and tells where others can.
import { existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

const OWNER_ALONE = 0o700;
const GROUP_AND_OTHERS = 0o077;

/** Makes a directory, and those above it that are missing, for the owner alone; one that is there stays as it is. */
export function makePrivateDirectory(path: string): void {
  makeDirectory(path, OWNER_ALONE);
}

/**
 * Makes a directory, and those above it that are missing, one by one: where none can be made, as in /proc, Node's own way
 * of making several tries without end.
 */
export function makeDirectory(path: string, mode = 0o777): void {
  const missing: string[] = [];
  for (let at = resolve(path); !existsSync(at); at = dirname(at)) missing.unshift(at);
  for (const each of missing) makeOne(each, mode);
  // Where something other than a directory has that name, the system's own error is reported.
  if (missing.length === 0 && statSync(path).isDirectory() === false) mkdirSync(path);
}

function makeOne(path: string, mode: number): void {
  try {
    mkdirSync(path, { mode });
  } catch (error) {
    // Somebody else may have made it meanwhile.
    if (!existsSync(path)) throw error;
  }
}

/** A line that says who else gets at a file or directory, and the way out; undefined where nobody does or it is not there. */
export function exposureOf(path: string): string | undefined {
  const stat = statSync(path, { throwIfNoEntry: false });
  // Windows has no such bits.
  if (stat === undefined || process.platform === 'win32' || (stat.mode & GROUP_AND_OTHERS) === 0) {
    return undefined;
  }
  const mode = (stat.mode & 0o777).toString(8).padStart(4, '0');
  const wanted = stat.isDirectory() ? '700' : '600';
  return `${path} is open to others than its owner (mode ${mode}) and holds secrets: chmod ${wanted} ${path}`;
}
