// The real process on lost, restored or damaged database files. It reports the reason and does not start.
import {
  closeSync,
  copyFileSync,
  cpSync,
  mkdtempSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { loadConfig } from '../../src/config.js';
import { run, serve, serveForFile, temporaryDirectory } from '../cli/headroom.js';
import { eventually } from '../eventually.js';
import { testCases } from '../seeds.js';
import { profile } from '../service/profiles.js';
import { apiKeyOf, HARBOUR, provision, site, tenantWith } from '../service/running-service.js';

const WAYS_OUT = /Put the right files back, .*"headroom restore FILE".*"headroom restore --as-is"\n$/;
const PAGE_BYTES = 4096;

let dataDir: string;
let file: string;
beforeEach(async () => {
  dataDir = temporaryDirectory();
  file = join(dataDir, 'headroom.sqlite');
  await provisionIn(dataDir);
});

/** The files of a service after 40 writes, by the signal that ended it. Made once and copied for each test. */
const leftBehind = new Map<NodeJS.Signals, string>();
beforeAll(async () => {
  for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
    const directory = mkdtempSync(join(tmpdir(), 'headroom-left-'));
    leftBehind.set(signal, directory);
    await provisionIn(directory);
    const service = await serveForFile(directory);
    await write(service.httpUrl, 40);
    expect((await service.stop(signal)).code).toBe(signal === 'SIGTERM' ? 0 : null);
  }
});
afterAll(() => {
  for (const directory of leftBehind.values()) rmSync(directory, { recursive: true, force: true });
});

function provisionIn(directory: string): Promise<void> {
  return provision(loadConfig({ dataDir: directory }, {}), tenantWith(HARBOUR, [site('quay-1')]));
}

/** Copies the files of a service that ended by `signal` into the test's data directory. */
function goOnAfter(signal: NodeJS.Signals): void {
  cpSync(leftBehind.get(signal) ?? '', dataDir, { recursive: true });
}

async function write(httpUrl: string, count: number): Promise<void> {
  for (let i = 0; i < count; i++) {
    const answer = await fetch(`${httpUrl}/v1/locations/quay-1/schedules`, {
      method: 'POST',
      headers: { 'x-api-key': apiKeyOf(HARBOUR), 'content-type': 'application/json' },
      body: JSON.stringify(profile({ limitKw: i + 1, priority: i % 10 })),
    });
    expect(answer.status).toBe(200);
  }
}

/** Runs a service for `count` writes and kills it. */
async function killedAfter(count: number): Promise<void> {
  const service = await serve(dataDir);
  await write(service.httpUrl, count);
  await service.stop('SIGKILL');
}

async function stoppedAfter(count: number): Promise<void> {
  const service = await serve(dataDir);
  await write(service.httpUrl, count);
  expect((await service.stop()).code).toBe(0);
}

async function expectStart(): Promise<void> {
  const service = await serve(dataDir);
  expect((await service.stop()).code).toBe(0);
}

/** Expects a failed start and one line apart from the log, with the reason and the remedy. */
async function expectRefusal(reason: RegExp): Promise<void> {
  const environment = { HEADROOM_DATA_DIR: dataDir, HEADROOM_HTTP_PORT: '0', HEADROOM_MQTT_PORT: '0' };
  const { code, stdout, stderr } = await run(['serve'], environment);
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(reason);
  expect(stderr).toMatch(WAYS_OUT);
  const words = stderr
    .trimEnd()
    .split('\n')
    .filter((line) => !line.startsWith('{'));
  expect(words).toHaveLength(1);
}

describe('a start after kill -9', () => {
  it('recovers all acknowledged writes from the -wal file', async () => {
    goOnAfter('SIGKILL');
    await expectStart();
  });

  it('is refused if the -wal file is gone', async () => {
    goOnAfter('SIGKILL');
    rmSync(`${file}-wal`);
    rmSync(`${file}-shm`, { force: true });
    await expectRefusal(
      /lacks acknowledged writes: it ends with commit \d+, and commit \d+ was acknowledged/,
    );
  });

  it('is refused if the -wal file was cut or damaged in its middle', async () => {
    goOnAfter('SIGKILL');
    const wal = readFileSync(`${file}-wal`);
    writeFileSync(`${file}-wal`, wal.subarray(0, wal.length / 2));
    await expectRefusal(/lacks acknowledged writes/);
    wal.fill(0x55, wal.length / 2, wal.length / 2 + 100);
    writeFileSync(`${file}-wal`, wal);
    await expectRefusal(/lacks acknowledged writes/);
  });

  it('succeeds if another program opened the database meanwhile and merged the -wal file', async () => {
    goOnAfter('SIGKILL');
    const { code } = await run(['tenant', 'list'], { HEADROOM_DATA_DIR: dataDir });
    expect(code).toBe(0);
    expect(statSync(`${file}-wal`, { throwIfNoEntry: false })).toBeUndefined();
    await expectStart();
  });

  it('succeeds if the mark is older than the database, as after a loss of power, damaged, or gone', async () => {
    const mark = join(dataDir, 'last-commit-headroom.sqlite.json');
    const older = readFileSync(mark);
    await killedAfter(5);
    writeFileSync(mark, older);
    await expectStart();
    writeFileSync(mark, 'no');
    await expectStart();
    rmSync(mark);
    await expectStart();
  });
});

describe('a start after a clean stop', () => {
  it('is refused if the database is gone, also after a last write by the command line', async () => {
    goOnAfter('SIGTERM');
    rmSync(file);
    await expectRefusal(/headroom\.sqlite is gone/);
  });

  it('is refused on an older copy, and on another database', async () => {
    goOnAfter('SIGTERM');
    copyFileSync(file, join(dataDir, 'older'));
    await stoppedAfter(1);
    copyFileSync(join(dataDir, 'older'), file);
    await expectRefusal(/lacks acknowledged writes.*older copy/);
    const other = temporaryDirectory();
    await provisionIn(other);
    copyFileSync(join(other, 'headroom.sqlite'), file);
    await expectRefusal(/not the database that was here before/);
  });

  const places = {
    always: [{ what: 'a page of rows', at: PAGE_BYTES }],
    more: [
      { what: 'the header', at: 0 },
      { what: 'the schema', at: 100 },
      { what: 'an index', at: 20 * PAGE_BYTES },
    ],
  };
  testCases(places, 'is refused where $what is overwritten', async ({ at }) => {
    goOnAfter('SIGTERM');
    const descriptor = openSync(file, 'r+');
    writeSync(descriptor, Buffer.alloc(PAGE_BYTES - (at % PAGE_BYTES), 0xa5), 0, undefined, at);
    closeSync(descriptor);
    await expectRefusal(/is damaged: /);
  });

  it('is refused if only commands changed the database since, and their writes are lost', async () => {
    copyFileSync(file, join(dataDir, 'before'));
    const issued = await run(['key', 'issue', HARBOUR], { HEADROOM_DATA_DIR: dataDir });
    expect(issued.code).toBe(0);
    copyFileSync(join(dataDir, 'before'), file);
    await expectRefusal(/lacks acknowledged writes/);
  });
});

describe('a running service whose files are lost', () => {
  const health = async (httpUrl: string) => {
    const answer = await fetch(`${httpUrl}/health`);
    const { checks } = z.object({ checks: z.object({ database: z.string() }) }).parse(await answer.json());
    return [answer.status, checks.database];
  };
  const submit = (httpUrl: string) =>
    fetch(`${httpUrl}/v1/locations/quay-1/schedules`, {
      method: 'POST',
      headers: { 'x-api-key': apiKeyOf(HARBOUR), 'content-type': 'application/json' },
      body: JSON.stringify(profile({ limitKw: 33, priority: 1 })),
    });
  const replace = (path: string) => {
    copyFileSync(path, join(dataDir, 'copy'));
    renameSync(join(dataDir, 'copy'), path);
  };

  it.each([
    ['database is deleted', '', rmSync],
    ['-wal file is deleted', '-wal', rmSync],
    ['-shm file is deleted', '-shm', rmSync],
    ['database is replaced by a copy', '', replace],
    ['-wal file is replaced by a copy', '-wal', replace],
  ])('refuses writes and is unhealthy once its %s', async (_, end, lose) => {
    const service = await serve(dataDir);
    await write(service.httpUrl, 1);
    expect(await health(service.httpUrl)).toEqual([200, 'ok']);
    lose(`${file}${end}`);
    const answer = await submit(service.httpUrl);
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '1']);
    await eventually(async () => expect(await health(service.httpUrl)).toEqual([503, 'failing']));
    const { code, stderr } = await service.stop();
    expect(code).toBe(0);
    expect(stderr).toContain(
      `"file":"${file}${end}","msg":"the database was deleted or replaced: nothing is stored"`,
    );
  });

  it('accepts writes again once the same file is back in its place', async () => {
    const service = await serve(dataDir);
    renameSync(file, join(dataDir, 'elsewhere'));
    expect((await submit(service.httpUrl)).status).toBe(503);
    renameSync(join(dataDir, 'elsewhere'), file);
    expect((await submit(service.httpUrl)).status).toBe(200);
    await eventually(async () => expect(await health(service.httpUrl)).toEqual([200, 'ok']));
  });

  it('writes all acknowledged changes into the database at its stop if only the -wal file was deleted', async () => {
    const service = await serve(dataDir);
    await write(service.httpUrl, 5);
    rmSync(`${file}-wal`);
    expect((await service.stop()).code).toBe(0);
    await expectStart();
  });
});

describe('A second service on the same database', () => {
  it('starts while the first one still writes, which then ends', async () => {
    const first = await serve(dataDir);
    await write(first.httpUrl, 3);
    const second = await serve(dataDir);
    expect((await first.finished).code).toBe(1);
    await write(second.httpUrl, 3);
    await second.stop('SIGKILL');
    await expectStart();
  });
});
