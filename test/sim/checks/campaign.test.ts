// An interrupted campaign keeps the outcome of each seed, and does not run it again.
import { execFile } from 'node:child_process';
import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, expect, it, onTestFinished } from 'vitest';
import { eventually } from '../../eventually.js';

type Campaign = typeof import('../../../sim/checks/campaign.js');
type CampaignLogModule = typeof import('../../../sim/checks/campaign-log.js');

const COMPILED = new URL('../../../dist/sim/checks/', import.meta.url);
const MAIN = fileURLToPath(new URL('../../../dist/command/campaign-main.js', import.meta.url));
const ONLY_BUNDLED = fileURLToPath(new URL('../../only-bundled.js', import.meta.url));

interface Ended {
  readonly code: unknown;
  readonly stdout: string;
  readonly stderr: string;
}

function execute(args: readonly string[], NODE_OPTIONS = ''): Promise<Ended> {
  return new Promise((resolve) =>
    execFile(process.execPath, args, { env: { NODE_OPTIONS } }, (error, stdout, stderr) =>
      resolve({ code: error?.code ?? 0, stdout, stderr }),
    ),
  );
}

function campaign(...words: readonly string[]): Promise<Ended> {
  const args = [MAIN, '--hours', '0.05', '--chargers', '1', ...words];
  return execute(args, `--import ${ONLY_BUNDLED}`);
}

function file(): string {
  const folder = mkdtempSync(join(tmpdir(), 'headroom-campaign-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return join(folder, 'night.jsonl');
}

const seedsIn = (path: string) =>
  readFileSync(path, 'utf8')
    .split('\n')
    .slice(0, -1)
    .map((line): unknown => JSON.parse(line).seed);

/** The kept outcome of seed 1, computed once for all tests that begin with it. */
let keptLine = '';
beforeAll(async () => {
  const folder = mkdtempSync(join(tmpdir(), 'headroom-campaign-'));
  await campaign('--seeds', '1', '--keep', join(folder, 'kept.jsonl'));
  keptLine = readFileSync(join(folder, 'kept.jsonl'), 'utf8');
  rmSync(folder, { recursive: true });
});

it('keeps the outcome of each seed, and continues after the kept seeds', async () => {
  const path = file();
  expect((await campaign('--seeds', '3..4', '--keep', path)).code).toBe(0);
  expect(seedsIn(path).sort()).toEqual([3, 4]);
  // One line is cut off, as by a kill. Another has another length.
  const [first = ''] = readFileSync(path, 'utf8').split('\n');
  appendFileSync(
    path,
    `${JSON.stringify({ ...JSON.parse(first), seed: 5, hours: 1 })}\n${first.slice(0, 30)}`,
  );
  const { code, stdout } = await campaign('--seeds', '3..5', '--keep', path);
  expect(code).toBe(0);
  expect(stdout).toContain('2 seeds are in ');
  expect(stdout).toMatch(/\n3 seeds of 0\.05 h, \d+ messages,\n\d+ faults, 0 violations/);
  expect(seedsIn(path).sort()).toEqual([3, 4, 5, 5]);
});

it('starts no seed after its time is over', async () => {
  const path = file();
  const { code, stdout } = await campaign('--seeds', '1', '--for', '1ms', '--keep', path);
  expect({ code, kept: existsSync(path) }).toEqual({ code: 0, kept: false });
  expect(stdout).toContain('\n0 seeds of 0.05 h');
  const { runCampaign } = (await import(new URL('campaign.js', COMPILED).href)) as Campaign;
  let asked = 0;
  const { outcomes } = await runCampaign({
    seeds: endless(),
    chargers: 1,
    durationMs: 180_000,
    processes: 1,
    isTimeOver: () => ++asked > 3,
  });
  expect(outcomes.map(({ seed }) => seed)).toEqual([1, 2, 3]);
});

it('expects no branch that several nodes cannot reach, and lists these branches', async () => {
  const unreachable = "power of a site was checked against a grid operator's limit";
  const [one, several] = [
    await campaign('--seeds', '1', '--for', '1ms'),
    await campaign('--seeds', '1', '--for', '1ms', '--nodes', '3'),
  ];
  expect(one.stdout).toContain(`never reached: ${unreachable}`);
  expect(several.stdout).not.toContain(unreachable);
  expect(several.stdout).toContain('with one service only');
  expect(several.stdout).toContain('never reached: a heartbeat came after a newer one');
});

function* endless(): Generator<number> {
  for (let seed = 1; ; seed++) yield seed;
}

it('counts a kept violation, and refuses a line that is no outcome', async () => {
  const path = file();
  const line = JSON.parse(keptLine);
  const violation = { atMs: 0, invariant: 'P1', target: 'yard', detail: 'made up' };
  writeFileSync(path, `${JSON.stringify({ ...line, violation, violations: 1 })}\n`);
  const kept = await campaign('--seeds', '1', '--keep', path);
  expect(kept.code).toBe(1);
  expect(kept.stdout).toContain('Run it again: npm run sim:campaign -- --seeds 1 --hours 0.05 --chargers 1');
  for (const [text, where] of [
    ['something else\n', 1],
    ['{"name":"a file of somebody else, in one line"}', 1],
    [`${JSON.stringify(line)}\n${JSON.stringify({ ...line, reached: 5 })}\n`, 2],
  ] as const) {
    writeFileSync(path, text);
    const { code, stderr } = await campaign('--seeds', '1', '--keep', path);
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: `${path}:${where}: is no outcome of a seed; name the file of a campaign, or a new one\n`,
    });
    expect(readFileSync(path, 'utf8')).toBe(text);
  }
});

it('repeats a seed that other code ran, and counts a seed once if it is kept twice', async () => {
  const path = file();
  const line = JSON.parse(keptLine);
  const other = JSON.stringify({ ...line, code: 'other' });
  writeFileSync(path, `${other}\n`);
  const again = await campaign('--seeds', '1', '--keep', path);
  expect(again.stdout).not.toContain('already');
  expect(seedsIn(path)).toEqual([1, 1]);
  appendFileSync(path, `${JSON.stringify({ ...line, commit: 'later' })}\n`);
  const { stdout } = await campaign('--seeds', '1', '--keep', path);
  expect(stdout).toMatch(/^1 seed is in .* already\n/);
  expect(stdout).toContain('\n1 seed of 0.05 h');
});

it('searches for planted bugs in processes of compiled code', async () => {
  const { code, stdout } = await execute([MAIN, '--planted', 'no-fence', '--seeds', '1', '--hours', '0.6']);
  expect(stdout).toMatch(/^no-fence: seed 1: P7 /);
  expect(code).toBe(0);
});

it('ends if another campaign writes to its file, and leaves no process behind', async () => {
  const path = file();
  const { CampaignLog } = (await import(new URL('campaign-log.js', COMPILED).href)) as CampaignLogModule;
  const { runCampaign } = (await import(new URL('campaign.js', COMPILED).href)) as Campaign;
  const subject = { commit: 'a', code: 'b', hours: 0.05, chargers: 1 };
  const [ours, theirs] = [new CampaignLog(path, subject), new CampaignLog(path, subject)];
  const before = process.getActiveResourcesInfo().filter((name) => name === 'ProcessWrap').length;
  const campaign = runCampaign({
    seeds: endless(),
    chargers: 1,
    durationMs: 180_000,
    processes: 2,
    onOutcome(outcome) {
      theirs.add(outcome);
      ours.add(outcome);
    },
  });
  await expect(campaign).rejects.toThrow(`${path}: another campaign writes it, too`);
  expect(seedsIn(path)).toHaveLength(1);
  await eventually(() => {
    const left = process.getActiveResourcesInfo().filter((name) => name === 'ProcessWrap').length;
    expect(left).toBe(before);
  });
});
