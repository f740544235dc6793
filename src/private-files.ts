// Creates files and directories with secrets for their owner alone, and reports ones that others can read.
import { existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

const OWNER_ALONE = 0o700;
const GROUP_AND_OTHERS = 0o077;

/** Creates a directory and its missing parents for the owner alone; an existing one stays as it is. */
export function makePrivateDirectory(path: string): void {
  makeDirectory(path, OWNER_ALONE);
}

/**
 * Creates a directory and its missing parents one by one. In a place like /proc, where none can be
 * created, Node's own recursive way would try for ever.
 */
export function makeDirectory(path: string, mode = 0o777): void {
  const missing: string[] = [];
  for (let at = resolve(path); !existsSync(at); at = dirname(at)) missing.unshift(at);
  for (const each of missing) makeOne(each, mode);
  // If something other than a directory has that name, the system's own error is reported.
  if (missing.length === 0 && statSync(path).isDirectory() === false) mkdirSync(path);
}

function makeOne(path: string, mode: number): void {
  try {
    mkdirSync(path, { mode });
  } catch (error) {
    // Another process may have created it meanwhile.
    if (!existsSync(path)) throw error;
  }
}

/**
 * A line about other users' access to a file or directory, with the
 * remedy; undefined without such access or such a file.
 */
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
