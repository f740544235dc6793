// Lines on their way to a file: no caller waits for them, and no line is missing between two others.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { LineWriter } from '../../../sim/recording/line-writer.js';
import { systemClock } from '../../../src/clock.js';
import { eventually } from '../../eventually.js';

function pathOf(name: string): string {
  const directory = mkdtempSync(join(tmpdir(), 'headroom-lines-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return join(directory, name);
}

function writerOf(path: string, onLost: (error: Error) => void = () => {}) {
  return new LineWriter({ path, clock: systemClock, isOwn: (text) => text.startsWith('{"n":'), onLost });
}

describe('a line writer', () => {
  it('writes by itself within a second, and the rest when it is closed', async () => {
    const path = pathOf('lines');
    const writer = writerOf(path);
    writer.write({ n: 1 });
    await eventually(() => expect(readFileSync(path, 'utf8')).toBe('{"n":1}\n'));
    writer.write({ n: 2 });
    await writer.close();
    expect(readFileSync(path, 'utf8')).toBe('{"n":1}\n{"n":2}\n');
    expect(writer.lost).toBe(0);
  });

  it('goes on with its own file, on a new line where the last one was cut off', async () => {
    const path = pathOf('lines');
    writeFileSync(path, '{"n":1}\n{"n":');
    const writer = writerOf(path);
    writer.write({ n: 3 });
    await writer.close();
    expect(readFileSync(path, 'utf8')).toBe('{"n":1}\n{"n":\n{"n":3}\n');
  });

  it('leaves a file alone that is somebody else’s', () => {
    const path = pathOf('letters');
    writeFileSync(path, 'Dear all');
    expect(() => writerOf(path)).toThrow('is there already, and holds something else');
    expect(readFileSync(path, 'utf8')).toBe('Dear all');
  });

  it('ends where another begins to write to its file, and leaves that one its place', async () => {
    const errors: Error[] = [];
    const path = pathOf('lines');
    const writer = writerOf(path, (error) => errors.push(error));
    writer.write({ n: 1 });
    await eventually(() => expect(readFileSync(path, 'utf8')).toBe('{"n":1}\n'));
    const later = writerOf(path, (error) => errors.push(error));
    later.write({ n: 2 });
    await eventually(() => expect(readFileSync(path, 'utf8')).toBe('{"n":1}\n{"n":2}\n'));
    writer.write({ n: 3 });
    await eventually(() => expect(errors).toHaveLength(1));
    expect(errors[0]?.message).toContain(`another process writes to ${path} now`);
    later.write({ n: 4 });
    await Promise.all([writer.close(), later.close()]);
    expect([writer.lost, later.lost]).toEqual([1, 0]);
    expect(readFileSync(path, 'utf8')).toBe('{"n":1}\n{"n":2}\n{"n":4}\n');
  });

  it('counts what a full disk does not take, says so once, and writes nothing after it', async () => {
    const errors: Error[] = [];
    // Every write to this device fails as on a full disk.
    const writer = new LineWriter({
      path: '/dev/full',
      clock: systemClock,
      isOwn: () => true,
      onLost: (error) => errors.push(error),
    });
    writer.write({ n: 1 });
    await eventually(() => expect(errors).toHaveLength(1));
    expect(errors[0]?.message).toContain('ENOSPC');
    for (let n = 2; n <= 11; n++) writer.write({ n });
    await writer.close();
    expect(writer.lost).toBe(11);
    expect(errors).toHaveLength(1);
  });

  it('keeps no more than 32 MiB for a disk that does not keep up', async () => {
    const errors: Error[] = [];
    const path = pathOf('lines');
    const writer = writerOf(path, (error) => errors.push(error));
    const line = { n: 0, text: 'x'.repeat(1 << 20) };
    // Without a turn of the event loop in between, nothing is written.
    for (let n = 0; n < 100; n++) writer.write(line);
    expect(errors).toHaveLength(1);
    expect(writer.lost).toBeGreaterThan(60);
    await writer.close();
    const written = readFileSync(path, 'utf8');
    expect(written.endsWith('"}\n')).toBe(true);
    expect(written.split('\n')).toHaveLength(100 - writer.lost + 1);
  });
});
