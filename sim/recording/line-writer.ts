// Appends lines to a file without anybody waiting for the disk; what cannot be written is counted, and the file ends there.
import { closeSync, createWriteStream, fstatSync, openSync, readSync } from 'node:fs';
import { StringDecoder } from 'node:string_decoder';
import type { Cancel, Clock } from '../../src/ports/clock.js';

export interface LineWriter {
  /** Takes the line at once, and forgets it where the file has ended. */
  write(line: object): void;
  /** Lines that are not in the file: all from the first one on that could not be written. */
  readonly lost: number;
  /** Writes what is left. */
  close(): Promise<void>;
}

const FLUSH_BYTES = 1 << 16;
const FLUSH_EVERY_MS = 500;
/** What may wait for a slow disk. */
const WAITING_BYTES = 1 << 25;

/**
 * Appends to `path`, which only its owner may read. `onLost` is told once, when the first line is lost.
 * @param isOwn whether a file that is there already may be gone on with, by its beginning.
 * @throws Error where it cannot be opened, or holds something else.
 */
export function openLineWriter(options: {
  readonly path: string;
  readonly clock: Clock;
  readonly isOwn: (beginning: string) => boolean;
  readonly onLost: (error: Error) => void;
}): LineWriter {
  const { path, clock, isOwn, onLost } = options;
  const fd = openAppending(path, isOwn);
  const stream = createWriteStream(path, { fd, flags: 'a' });
  let waiting = isMidLine(fd) ? '\n' : '';
  let sizeBytes: number | undefined;
  let lines = 0;
  let cancelFlush: Cancel | undefined;
  let hasEnded = false;
  let lost = 0;

  function end(error: Error): void {
    if (hasEnded) return;
    hasEnded = true;
    lost += lines;
    waiting = '';
    onLost(error);
  }
  stream.on('error', end);

  /** The service that began last goes on writing: two that write to one file would spoil both recordings. */
  function isOvertaken(): boolean {
    // What is being written may be in the file, or not yet.
    if (stream.writableLength > 0) return false;
    const foundBytes = fstatSync(fd).size;
    sizeBytes ??= foundBytes;
    return foundBytes > sizeBytes;
  }

  function flush(): void {
    cancelFlush?.();
    cancelFlush = undefined;
    if (waiting !== '' && isOvertaken()) end(new Error(`another process writes to ${path} now`));
    if (waiting === '') return;
    sizeBytes = (sizeBytes ?? 0) + Buffer.byteLength(waiting);
    const written = lines;
    stream.write(waiting, (error) => {
      if (error) lost += written;
    });
    waiting = '';
    lines = 0;
  }

  return {
    write(line) {
      // After a missing line, nobody could know what the next lines leave out.
      if (!hasEnded && stream.writableLength > WAITING_BYTES)
        end(new Error(`more than ${WAITING_BYTES} bytes wait to be written`));
      if (hasEnded) {
        lost++;
        return;
      }
      waiting += `${JSON.stringify(line)}\n`;
      lines++;
      if (waiting.length >= FLUSH_BYTES) flush();
      else cancelFlush ??= clock.after(FLUSH_EVERY_MS, flush);
    },
    get lost() {
      return lost;
    },
    close() {
      flush();
      return new Promise((resolve) => {
        stream.once('close', resolve);
        if (stream.destroyed) resolve();
        else stream.end();
      });
    },
  };
}

const BEGINNING_BYTES = 4096;

function openAppending(path: string, isOwn: (beginning: string) => boolean): number {
  const fd = openSync(path, 'a+', 0o600);
  const beginning = Buffer.alloc(BEGINNING_BYTES);
  const read = readSync(fd, beginning, 0, BEGINNING_BYTES, 0);
  if (read === 0 || isOwn(new StringDecoder().write(beginning.subarray(0, read)))) return fd;
  closeSync(fd);
  throw new Error(`${path} is there already, and holds something else`);
}

/** The service that wrote it before may have been stopped within a line. */
function isMidLine(fd: number): boolean {
  const { size } = fstatSync(fd);
  const last = Buffer.alloc(1);
  return size > 0 && readSync(fd, last, 0, 1, size - 1) === 1 && last.toString() !== '\n';
}
