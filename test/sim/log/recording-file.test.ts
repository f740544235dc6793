// Lines on their way to a recording: no caller waits for them, and no line is missing between two others.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { LogFile, partsOf, RecordingFile } from '../../../sim/log/log-file.js';
import { systemClock } from '../../../src/clock.js';
import { eventually } from '../../eventually.js';

function pathOf(name: string): string {
  const directory = mkdtempSync(join(tmpdir(), 'headroom-lines-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return join(directory, name);
}

function fileOf(path: string, onLost: (error: Error) => void = () => {}) {
  return new RecordingFile({ path, clock: systemClock, onLost });
}

/** All lines of the recording; `cut` stands for the missing rest of a section. */
function linesIn(path: string): readonly string[] {
  const file = LogFile.open(path, 'recording');
  try {
    return [...partsOf(file)].flatMap(({ kind, content }) =>
      kind === 'cut' ? ['cut'] : content.toString().split('\n').slice(0, -1),
    );
  } finally {
    file.close();
  }
}

describe('The file of a recording', () => {
  it('is written within a second, and completely when it is closed', async () => {
    const path = pathOf('lines');
    const file = fileOf(path);
    file.begin({ life: 1 });
    file.add({ n: 1 });
    await eventually(() => expect(linesIn(path)).toEqual(['{"life":1}', '{"n":1}']));
    file.add({ n: 2 });
    await file.close();
    expect(linesIn(path)).toEqual(['{"life":1}', '{"n":1}', '{"n":2}']);
    expect(file.lost).toBe(0);
  });

  it('continues after a section that is cut off at any point', async () => {
    const path = pathOf('lines');
    const first = fileOf(path);
    first.begin({ life: 1 });
    first.add({ n: 1 });
    await first.close();
    const whole = readFileSync(path);
    for (let cut = 22; cut < whole.length; cut += 7) {
      writeFileSync(path, whole.subarray(0, cut));
      const next = fileOf(path);
      next.begin({ life: 2 });
      next.add({ n: 2 });
      await next.close();
      expect(linesIn(path).slice(-3)).toEqual(['cut', '{"life":2}', '{"n":2}']);
    }
  });

  it('stays unchanged if it has other content or another version', () => {
    const path = pathOf('letters');
    for (const [content, words] of [
      ['Dear all', 'is there already, and holds something else'],
      ['{"kind":"life","format":1,', 'is a recording of release 0.2 or older: replay it with that release'],
      ['headroom recording 3\n', 'has format 3, and this release reads format 2'],
    ] as const) {
      writeFileSync(path, content);
      expect(() => fileOf(path)).toThrow(words);
      expect(readFileSync(path, 'utf8')).toBe(content);
    }
  });

  it('ends when another process begins to write to it, and leaves the file to that process', async () => {
    const errors: Error[] = [];
    const path = pathOf('lines');
    const file = fileOf(path, (error) => errors.push(error));
    file.begin({ life: 1 });
    await eventually(() => expect(linesIn(path)).toEqual(['{"life":1}']));
    const later = fileOf(path, (error) => errors.push(error));
    later.begin({ life: 2 });
    await eventually(() => expect(linesIn(path)).toEqual(['{"life":1}', '{"life":2}']));
    file.add({ n: 1 });
    await eventually(() => expect(errors).toHaveLength(1));
    expect(errors[0]?.message).toContain(`another process writes to ${path} now`);
    later.add({ n: 2 });
    await Promise.all([file.close(), later.close()]);
    expect([file.lost, later.lost]).toEqual([1, 0]);
    expect(linesIn(path)).toEqual(['{"life":1}', '{"life":2}', '{"n":2}']);
  });

  it('counts the lines that a full disk refuses, reports one error, and accepts no later line', async () => {
    const errors: Error[] = [];
    // Every write to this device fails as on a full disk.
    const file = fileOf('/dev/full', (error) => errors.push(error));
    file.begin({});
    await eventually(() => expect(errors).toHaveLength(1));
    expect(errors[0]?.message).toContain('ENOSPC');
    for (let n = 2; n <= 11; n++) file.add({ n });
    await file.close();
    expect(file.lost).toBe(11);
    expect(errors).toHaveLength(1);
  });

  it('buffers at most 32 MiB if the disk is too slow', async () => {
    const errors: Error[] = [];
    const path = pathOf('lines');
    const file = fileOf(path, (error) => errors.push(error));
    file.begin({});
    const line = { n: 0, text: 'x'.repeat(1 << 20) };
    // Without a turn of the event loop in between, nothing is written.
    for (let n = 0; n < 100; n++) file.add(line);
    expect(errors).toHaveLength(1);
    expect(file.lost).toBeGreaterThan(60);
    await file.close();
    expect(linesIn(path)).toHaveLength(100 - file.lost + 1);
  });
});
