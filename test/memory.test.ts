// A killed run must not keep the next one from testing.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { removeAbandoned } from './memory.js';

/** No process has this pid: it is above the maximum of Linux. */
const ENDED_PID = 2 ** 22 + 1;
let directory: string;
let abandoned: string;
let mounted: string[] = [];

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'headroom-abandoned-'));
  abandoned = join(directory, `headroom-tests-${ENDED_PID}-a1b2c3`);
});
afterEach(() => {
  vi.restoreAllMocks();
  for (const place of mounted) execFileSync('umount', ['-l', place]);
  mounted = [];
  rmSync(directory, { recursive: true, force: true });
});

/** Plain users may not mount. */
function canMount(place: string): boolean {
  mkdirSync(place, { recursive: true });
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'headroom-test', place], { stdio: 'pipe' });
    return true;
  } catch {
    return false;
  }
}

describe('The directory of a killed test run', () => {
  it('is removed, and directories of others stay', () => {
    mkdirSync(join(abandoned, 'data'), { recursive: true });
    const kept = [`headroom-tests-${process.pid}-d4e5f6`, 'headroom-tests-', 'headroom-world-1-x'];
    for (const name of kept) mkdirSync(join(directory, name));
    removeAbandoned(directory);
    expect(readdirSync(directory).sort()).toEqual(kept.sort());
  });

  it('is removed with the small disk that a test had mounted in it', ({ skip }) => {
    const disk = join(abandoned, 'full-disk');
    skip(!canMount(disk), 'a small disk cannot be mounted here');
    writeFileSync(join(disk, 'filler'), 'x');
    removeAbandoned(directory);
    expect(readdirSync(directory)).toEqual([]);
  });

  it('stays and is named if it cannot be removed, and the run goes on', ({ skip }) => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {});
    skip(!canMount(directory), 'a small disk cannot be mounted here');
    mounted = [directory];
    mkdirSync(abandoned);
    execFileSync('mount', ['-o', 'remount,ro', directory]);
    removeAbandoned(directory);
    expect(warn.mock.calls[0]?.[0]).toContain(abandoned);
  });
});
