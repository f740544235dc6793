// The recorded past of a world: it reads the same from memory and file, and a long one takes no memory.
import { readdirSync, readlinkSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { EventLog, PastBytes } from '../../../sim/log/event-log.js';
import type { TraceEvent } from '../../../sim/log/trace-event.js';
import { eventually } from '../../eventually.js';

const EVENTS = 60_000;
const STEP_MS = 1000;
const PIECE_BYTES = 1 << 16;

setFlagsFromString('--expose-gc');
const collect: () => void = runInNewContext('gc');

/** Alternating power and limits at one of three locations, like the events of a world. */
function event(nth: number): TraceEvent {
  const [atMs, locationId] = [nth * STEP_MS, `site-${nth % 3}`];
  return nth % 7 === 0
    ? { atMs, kind: 'limit', locationId, limitW: 10_000 + (nth % 999) }
    : { atMs, kind: 'power', locationId, powerW: nth };
}

function logOver(bytes: PastBytes): EventLog {
  const events = new EventLog(bytes);
  for (let nth = 0; nth < EVENTS; nth++) events.add(event(nth));
  return events;
}

/**
 * Bytes of all buffers in use. V8 frees unused buffers on a background thread, at any time after their collection.
 * For this collection V8 frees them first. Other tests of this process keep the background thread.
 */
function bufferBytes(): number {
  setFlagsFromString('--no-concurrent-array-buffer-sweeping');
  collect();
  setFlagsFromString('--concurrent-array-buffer-sweeping');
  return process.memoryUsage().arrayBuffers;
}

/** Number of open files of this process without a name. */
function spilled(): number {
  const links = readdirSync('/proc/self/fd').map((file) => {
    try {
      return readlinkSync(`/proc/self/fd/${file}`);
    } catch {
      // This descriptor served the reading of the folder, and is closed by now.
      return '';
    }
  });
  return links.filter((link) => link.includes('headroom-past-') && link.endsWith('(deleted)')).length;
}

describe('A log of past events', () => {
  it('reads the same from a file as from memory', () => {
    const before = spilled();
    const held = logOver(new PastBytes(Number.POSITIVE_INFINITY));
    expect(spilled()).toBe(before);
    const filed = logOver(new PastBytes(0));
    expect(spilled()).toBe(before + 1);
    expect([...filed.events()]).toEqual(Array.from({ length: EVENTS }, (_, nth) => event(nth)));
    for (const count of [1, 12_345, 33_333, EVENTS]) {
      const instant = count * STEP_MS;
      expect(filed.hash(count)).toBe(held.hash(count));
      expect(filed.countBefore(instant)).toBe(count);
      expect(filed.stateAt(instant).newest()).toEqual(held.stateAt(instant).newest());
      expect(filed.stateAt(instant, count - 1).newest()).toEqual(held.stateAt(instant, count - 1).newest());
    }
  });

  it('uses constant memory as it grows, and releases its file after its last use', async () => {
    const before = spilled();
    let log: PastBytes | undefined = new PastBytes();
    const grow = () => {
      for (let i = 0; i < 256; i++) log?.append(new Uint8Array(PIECE_BYTES).fill(i));
      return bufferBytes();
    };
    const first = grow();
    // 16 MiB more.
    expect(grow() - first).toBeLessThan(2 ** 20);
    expect(log.read(PIECE_BYTES, PIECE_BYTES)).toEqual(new Uint8Array(PIECE_BYTES).fill(1));
    expect(() => log?.read(2 ** 25, 1)).toThrow(RangeError);
    expect(spilled()).toBe(before + 1);
    log = undefined;
    await eventually(() => {
      collect();
      expect(spilled()).toBeLessThanOrEqual(before);
    });
  });
});
