// The folder for a world's files: in memory if the host offers that. The command line removes folders, and loads no world.
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const MEMORY = '/dev/shm';
/** Contains the process id, the same for the worlds of all threads. */
const PREFIX = `headroom-world-${process.pid}-`;

/** Creates a folder, which the caller removes. A world's commits need not outlast the host. */
export function makeWorldFolder(): string {
  return mkdtempSync(join(worldsFolder(), PREFIX));
}

/** Removes the folders that unfinished worlds of this process left behind. */
export function removeWorldFolders(): void {
  const folder = worldsFolder();
  for (const name of readdirSync(folder))
    if (name.startsWith(PREFIX)) rmSync(join(folder, name), { recursive: true, force: true });
}

/** If temporary files are in memory already, worlds use that folder: its creator removes it. */
function worldsFolder(): string {
  const temporary = tmpdir();
  return temporary.startsWith(`${MEMORY}/`) || !existsSync(MEMORY) ? temporary : MEMORY;
}
