// A campaign that was interrupted, as it is run: what came of each seed is kept, and nothing of it is run again.
import { execFile } from 'node:child_process';
import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';

type Campaign = typeof import('../../../sim/checks/campaign.js');

const MAIN = new URL('../../../dist/sim/checks/campaign-main.js', import.meta.url);

function campaign(
  ...words: readonly string[]
): Promise<{ readonly code: unknown; readonly stdout: string; readonly stderr: string }> {
  const args = [fileURLToPath(MAIN), '--hours', '0.05', '--chargers', '1', ...words];
  return new Promise((resolve) =>
    execFile(process.execPath, args, (error, stdout, stderr) =>
      resolve({ code: error?.code ?? 0, stdout, stderr }),
    ),
  );
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

it('keeps what came of each seed, and goes on after those it has', async () => {
  const path = file();
  expect((await campaign('--seeds', '3..4', '--keep', path)).code).toBe(0);
  expect(seedsIn(path).sort()).toEqual([3, 4]);
  // Killed within a line, and once run at another length.
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

it('begins no more seeds once its time is over', async () => {
  const path = file();
  const { code, stdout } = await campaign('--seeds', '1', '--for', '1ms', '--keep', path);
  expect({ code, kept: existsSync(path) }).toEqual({ code: 0, kept: false });
  expect(stdout).toContain('\n0 seeds of 0.05 h');
  const { runCampaign } = (await import(new URL('campaign.js', MAIN).href)) as Campaign;
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

function* endless(): Generator<number> {
  for (let seed = 1; ; seed++) yield seed;
}

it('counts a violation that was kept, and says what is no outcome', async () => {
  const path = file();
  await campaign('--seeds', '1', '--keep', path);
  const line = JSON.parse(readFileSync(path, 'utf8'));
  const violation = { atMs: 0, invariant: 'P1', target: 'yard', detail: 'made up' };
  writeFileSync(path, `${JSON.stringify({ ...line, violation, violations: 1 })}\n`);
  const kept = await campaign('--seeds', '1', '--keep', path);
  expect(kept.code).toBe(1);
  expect(kept.stdout).toContain('Run it again: npm run sim:campaign -- --seeds 1 --hours 0.05 --chargers 1');
  writeFileSync(path, 'something else\n');
  const { code, stderr } = await campaign('--seeds', '1', '--keep', path);
  expect(code).not.toBe(0);
  expect(stderr).toContain('night.jsonl:1: is no outcome of a seed');
});
