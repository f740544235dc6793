// Processes whose stdout and stderr cannot be written: they still answer, count lost lines, and end in time.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  constants,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { eventually } from '../eventually.js';
import { freePort } from '../free-port.js';
import { startNats } from '../nats.js';
import { missingFile, missingPrograms, needing } from '../needs.js';
import { missingPostgres, startPostgresServer } from '../outbound/knex/postgres-server.js';
import { run, temporaryDirectory, writeFile } from './headroom.js';
import { API_KEY, siteYaml } from './site.js';

const COMMAND = fileURLToPath(new URL('../../cli/headroom.js', import.meta.url));
const DROPPED = 'headroom_log_lines_dropped_total';

/** Target of a process's stdout or stderr. */
interface Output {
  readonly descriptor: number;
  /** Makes the target unwritable in a running process. */
  spoil?(): void;
  /** The written text, as far as it can be read. */
  read?(): string;
}

function pipe(): { readonly read: number; readonly write: number } {
  const path = join(temporaryDirectory(), 'pipe');
  execFileSync('mkfifo', [path]);
  const read = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  return { read, write: openSync(path, 'w') };
}

function readAll(descriptor: number): string {
  const part = Buffer.alloc(65_536);
  let text = '';
  try {
    for (let length = -1; length !== 0; text += part.toString('utf8', 0, length))
      length = readSync(descriptor, part);
  } catch {
    // No more data for now.
  }
  return text;
}

/** A small disk that is almost full, and a file on it; undefined if none can be mounted. */
function smallDisk(): { readonly file: string; fill(): void; free(): void } | undefined {
  const directory = join(temporaryDirectory(), 'disk');
  mkdirSync(directory);
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'headroom-test', directory], { stdio: 'pipe' });
  } catch {
    return undefined;
  }
  onTestFinished(() => void execFileSync('umount', ['-l', directory]));
  const filler = join(directory, 'filler');
  return {
    file: join(directory, 'log'),
    fill: () => expect(() => writeFileSync(filler, Buffer.alloc(100_000))).toThrow('ENOSPC'),
    free: () => rmSync(filler),
  };
}

const OUTPUTS = {
  full: (): Output => ({ descriptor: openSync('/dev/full', 'w') }),
  closed: (): Output => {
    const { read, write } = pipe();
    return { descriptor: write, spoil: () => closeSync(read) };
  },
  blocked: (): Output => {
    const { read, write } = pipe();
    return { descriptor: write, read: () => readAll(read) };
  },
} as const;

interface Spoiled {
  readonly process: ChildProcess;
  /** Resolves with the exit code. */
  readonly ended: Promise<number | null>;
  /** Resolves with the exit code. */
  stop(): Promise<number | null>;
}

/** Runs the command with such outputs. */
function runInto(
  outputs: { readonly stdout: Output; readonly stderr: Output },
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
): Spoiled {
  const { stdout, stderr } = outputs;
  const child = spawn(process.execPath, [COMMAND, ...args], {
    env: environment,
    stdio: ['ignore', stdout.descriptor, stderr.descriptor],
  });
  closeSync(stdout.descriptor);
  closeSync(stderr.descriptor);
  const ended = once(child, 'exit').then(([code]): number | null => code);
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  return {
    process: child,
    ended,
    async stop() {
      child.kill('SIGTERM');
      return ended;
    },
  };
}

async function becomesHealthy(httpUrl: string): Promise<void> {
  await eventually(async () => expect((await fetch(`${httpUrl}/health`)).status).toBe(200));
}

async function droppedLines(metricsUrl: string): Promise<number> {
  const text = await (await fetch(metricsUrl)).text();
  return Number(new RegExp(`^${DROPPED} (\\d+)$`, 'm').exec(text)?.[1]);
}

/** A service with a tenant, at a known address. */
async function serviceInto(
  outputs: { readonly stdout: Output; readonly stderr: Output },
  environment: Readonly<Record<string, string>> = {},
) {
  const directory = temporaryDirectory();
  const dataDir = join(directory, 'data');
  const provisioned = await run(['provision', writeFile(directory, 'site.yaml', siteYaml())], {
    HEADROOM_DATA_DIR: dataDir,
  });
  expect(provisioned.code).toBe(0);
  const port = await freePort();
  const service = runInto(outputs, ['serve'], {
    HEADROOM_DATA_DIR: dataDir,
    HEADROOM_HTTP_PORT: String(port),
    HEADROOM_MQTT_PORT: '0',
    ...environment,
  });
  const httpUrl = `http://127.0.0.1:${port}`;
  await becomesHealthy(httpUrl);
  return { ...service, httpUrl };
}

/** Each request writes a line of some 450 bytes to the log. */
async function ask(httpUrl: string, count: number): Promise<void> {
  const path = `/v1/locations/${'x'.repeat(200)}/limits`;
  for (let asked = 0; asked < count; asked += 20)
    await Promise.all(
      Array.from({ length: 20 }, async () => {
        const answer = await fetch(httpUrl + path, { headers: { 'x-api-key': API_KEY } });
        expect([400, 404]).toContain(answer.status);
        await answer.text();
      }),
    );
}

const ON_LINUX = needing(process.platform === 'linux' ? undefined : 'Linux', missingPrograms('mkfifo'));

describe.each(Object.entries(OUTPUTS))('Output that is %s', ON_LINUX, (_, output) => {
  it('does not stop a service from answering and from ending with 0 at SIGTERM', async () => {
    const outputs = { stdout: output(), stderr: output() };
    const service = await serviceInto(outputs);
    for (const each of Object.values(outputs)) each.spoil?.();
    // Each request is a line; together they are more than a pipe holds.
    await ask(service.httpUrl, 400);
    expect((await fetch(`${service.httpUrl}/health`)).status).toBe(200);
    expect(await service.stop()).toBe(0);
  });

  it('does not stop a gateway from answering and from ending with 0 at SIGTERM', async () => {
    const directory = temporaryDirectory();
    const file = writeFile(directory, 'site.yaml', siteYaml());
    const [port, metricsPort] = [await freePort(), await freePort()];
    const outputs = { stdout: output(), stderr: output() };
    const ports = ['--port', `${port}`, '--metrics-port', `${metricsPort}`, '--data-dir', directory];
    // The password in the file is too short for OCPP, and nobody answers at the broker's address: two lines.
    const mqtt = ['--mqtt-url', 'mqtt://127.0.0.1:9'];
    const gateway = runInto(outputs, ['gateway', 'ocpp', file, ...ports, ...mqtt], {});
    const metricsUrl = `http://127.0.0.1:${metricsPort}/metrics`;
    await eventually(async () => expect(await droppedLines(metricsUrl)).toBeGreaterThanOrEqual(0));
    for (const each of Object.values(outputs)) each.spoil?.();
    const refused = () => fetch(`http://127.0.0.1:${port}/ocpp/nobody`);
    expect((await refused()).status).toBeGreaterThanOrEqual(400);
    if (output === OUTPUTS.full)
      await eventually(async () => {
        await refused();
        expect(await droppedLines(metricsUrl)).toBeGreaterThan(0);
      });
    expect((await refused()).status).toBeGreaterThanOrEqual(400);
    expect(await gateway.stop()).toBe(0);
  });
});

describe('A command whose output cannot be written', ON_LINUX, () => {
  it('ends with 1 and the reason', async () => {
    const file = join(temporaryDirectory(), 'errors');
    const outputs = { stdout: OUTPUTS.full(), stderr: { descriptor: openSync(file, 'a') } };
    expect(await runInto(outputs, ['completion', 'bash'], {}).ended).toBe(1);
    expect(readFileSync(file, 'utf8')).toBe(
      'headroom: the output cannot be written: ENOSPC: no space left on device, write\n',
    );
  });
});

describe('A service that crashes', ON_LINUX, () => {
  const text = `planted ${API_KEY}`;
  const defect = `process.on('SIGUSR2', () => { throw new Error(${JSON.stringify(text)}) })`;
  const environment = { NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(defect)}` };

  it('reports the reason without the secret in it, and ends with 1', async () => {
    const file = join(temporaryDirectory(), 'log');
    const open = () => ({ descriptor: openSync(file, 'a') });
    const service = await serviceInto({ stdout: open(), stderr: open() }, environment);
    service.process.kill('SIGUSR2');
    expect(await service.ended).toBe(1);
    expect(readFileSync(file, 'utf8')).toMatch(
      /^headroom: this is a defect: Error: planted hr_clitest1_\[redacted\]$/m,
    );
  });

  it.each(Object.entries(OUTPUTS))('also ends with 1 if its output is %s', async (_, output) => {
    const outputs = { stdout: output(), stderr: output() };
    const service = await serviceInto(outputs, environment);
    for (const each of Object.values(outputs)) each.spoil?.();
    await ask(service.httpUrl, 200);
    service.process.kill('SIGUSR2');
    expect(await service.ended).toBe(1);
  });
});

describe('Log lines that cannot be written', ON_LINUX, () => {
  it('are dropped and counted while the pipe is full, and the log later reports their number', async () => {
    const stderr = OUTPUTS.blocked();
    const service = await serviceInto({ stdout: OUTPUTS.full(), stderr });
    const metricsUrl = `${service.httpUrl}/metrics`;
    await eventually(async () => {
      await ask(service.httpUrl, 1_000);
      expect(await droppedLines(metricsUrl)).toBeGreaterThan(0);
    }, 60_000);
    let text = '';
    await eventually(() => {
      text += stderr.read?.() ?? '';
      expect(text).toContain('lines that could not be written were dropped');
    });
    const dropped = await droppedLines(metricsUrl);
    const lines = text
      .trimEnd()
      .split('\n')
      .map((line): Record<string, unknown> => JSON.parse(line));
    expect(lines.filter((line) => 'dropped' in line)).toEqual([
      expect.objectContaining({ level: 'warn', dropped }),
    ]);
    expect(await service.stop()).toBe(0);
  });

  it('are dropped and counted on a full disk, and whole lines follow after space is freed', async ({
    skip,
  }) => {
    const disk = smallDisk();
    skip(disk === undefined, 'a small disk cannot be mounted here');
    if (disk === undefined) return;
    const open = () => ({ descriptor: openSync(disk.file, 'a') });
    const service = await serviceInto({ stdout: open(), stderr: open() });
    disk.fill();
    const metricsUrl = `${service.httpUrl}/metrics`;
    await eventually(async () => {
      await ask(service.httpUrl, 20);
      expect(await droppedLines(metricsUrl)).toBeGreaterThan(0);
    });
    disk.free();
    await eventually(async () => {
      await ask(service.httpUrl, 20);
      expect(readFileSync(disk.file, 'utf8')).toContain('lines that could not be written were dropped');
    });
    const lines = readFileSync(disk.file, 'utf8').trimEnd().split('\n');
    const isWhole = (line: string) => line.startsWith('{') && line.endsWith('}');
    // At most the last line before the disk was full.
    expect(lines.filter((line) => !isWhole(line)).length).toBeLessThanOrEqual(1);
    disk.fill();
    await ask(service.httpUrl, 20);
    expect(await service.stop()).toBe(0);
  });
});

describe(
  'A front whose output is full',
  needing(missingFile('/dev/full'), missingPrograms('nats-server'), missingPostgres()),
  () => {
    it('answers health requests, and ends with 0 at SIGTERM', async () => {
      const database = await startPostgresServer();
      onTestFinished(() => database.stop());
      const nats = await startNats();
      onTestFinished(() => nats.stop());
      const databaseUrl = await database.createDatabase();
      expect((await run(['migrate'], { HEADROOM_DATABASE_URL: databaseUrl })).code).toBe(0);
      const port = await freePort();
      const front = runInto({ stdout: OUTPUTS.full(), stderr: OUTPUTS.full() }, ['serve', '--front'], {
        HEADROOM_DATABASE_URL: databaseUrl,
        HEADROOM_BUS_URL: nats.url,
        HEADROOM_DATA_DIR: temporaryDirectory(),
        HEADROOM_HTTP_PORT: String(port),
        HEADROOM_MQTT_PORT: '0',
      });
      const httpUrl = `http://127.0.0.1:${port}`;
      await becomesHealthy(httpUrl);
      await eventually(async () => {
        await (await fetch(`${httpUrl}/nothing`)).text();
        expect(await droppedLines(`${httpUrl}/metrics`)).toBeGreaterThan(0);
      });
      await becomesHealthy(httpUrl);
      expect(await front.stop()).toBe(0);
    });
  },
);
