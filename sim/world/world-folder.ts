// Where a world keeps its files while it lasts: in memory where the host offers that.
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const MEMORY = '/dev/shm';
/** Named after the process, whichever of its threads a world runs in. */
const PREFIX = `headroom-world-${process.pid}-`;

/** A new folder, for its maker to remove. A world's commits need not outlast the host. */
export function makeWorldFolder(): string {
  return mkdtempSync(join(worldsFolder(), PREFIX));
}

/** Removes what worlds of this process left behind that never came to their end. */
export function removeWorldFolders(): void {
  const folder = worldsFolder();
  for (const name of readdirSync(folder))
    if (name.startsWith(PREFIX)) rmSync(join(folder, name), { recursive: true, force: true });
}

/** Where temporary files lie in memory already, there: who has put them there removes them. */
function worldsFolder(): string {
  const temporary = tmpdir();
  return temporary.startsWith(`${MEMORY}/`) || !existsSync(MEMORY) ? temporary : MEMORY;
}
