// Writes lines to stdout or stderr without waiting: their reader may be slow or gone, their disk full.
import { constants, openSync, write, writeSync } from 'node:fs';
import { isatty } from 'node:tty';
import { keepAliveUntil, systemClock } from './clock.js';
import type { Cancel } from './ports/clock.js';

/** Buffer for a slow reader; lines that do not fit are dropped. */
const BUFFER_BYTES = 1_048_576;
/** Time of failed writes (full disk, lost reader) after which all buffered lines are dropped. */
const FAILING_AT_MOST_MS = 1_000;
const CHUNK_BYTES = 16_384;
/** Lines are collected up to this size or time, so that a request does not pay for a system call. */
const GATHER_BYTES = 4_096;
const GATHER_MS = 500;
const RETRY_MS = 100;
const FLUSH_WITHIN_MS = 500;
const NOTHING = Buffer.alloc(0);
const LINE_FEED = 10;

interface WriterEvents {
  readonly onDropped?: (lines: number) => void;
  /** The buffer is empty again after `dropped` lines were dropped. */
  readonly onRecovered?: (dropped: number) => void;
}

export class LineWriter {
  readonly #descriptor: number;
  readonly #events: WriterEvents;
  #lines: string[] = [];
  #chunk: Buffer = NOTHING;
  /** Of the lines and of the rest of the chunk. */
  #bufferedBytes = 0;
  #isWriting = false;
  #cancelTimer: Cancel | undefined;
  #failingSinceMs: number | undefined;
  #isInsideLine = false;
  #dropped = 0;
  #flushed = new Set<() => void>();

  /**
   * Takes the stream of the process and not its descriptor: Node makes a pipe or socket behind it non-blocking. A
   * blocking write would hold a thread of the pool, and the process could not exit.
   */
  constructor({ fd }: { readonly fd: number }, events: WriterEvents = {}) {
    this.#descriptor = nonBlocking(fd);
    this.#events = events;
    process.on('exit', () => this.#writeLast());
  }

  /** Takes `line`, which ends with a line feed. Does not throw. */
  write(line: string): void {
    const bytes = Buffer.byteLength(line);
    if (this.#bufferedBytes + bytes > BUFFER_BYTES) {
      this.#drop(1);
      return;
    }
    const wasShort = this.#bufferedBytes < GATHER_BYTES;
    this.#lines.push(line);
    this.#bufferedBytes += bytes;
    if (this.#isWriting) return;
    if (wasShort && this.#bufferedBytes >= GATHER_BYTES) this.#writeSome();
    else this.#cancelTimer ??= systemClock.after(GATHER_MS, () => this.#writeSome());
  }

  /** Resolves when everything is written, and after 500 ms in any case. */
  flush(): Promise<void> {
    if (this.#bufferedBytes === 0) return Promise.resolve();
    if (!this.#isWriting) this.#writeSome();
    return new Promise((resolve) => {
      const end = () => {
        cancel();
        this.#flushed.delete(end);
        resolve();
      };
      const cancel = keepAliveUntil(FLUSH_WITHIN_MS, end);
      this.#flushed.add(end);
    });
  }

  #writeSome(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    if (this.#bufferedBytes === 0) return;
    if (this.#chunk.length === 0) this.#chunk = this.#takeChunk();
    this.#isWriting = true;
    write(this.#descriptor, this.#chunk, (error, written) => {
      this.#isWriting = false;
      if (error !== null || written === 0) this.#onFailure(error);
      else this.#onWritten(written);
    });
  }

  #onWritten(bytes: number): void {
    this.#failingSinceMs = undefined;
    this.#isInsideLine = this.#chunk[bytes - 1] !== LINE_FEED;
    this.#chunk = this.#chunk.subarray(bytes);
    this.#bufferedBytes -= bytes;
    if (this.#bufferedBytes > 0) {
      this.#writeSome();
      return;
    }
    this.#onEmpty();
    const dropped = this.#dropped;
    this.#dropped = 0;
    if (dropped > 0) this.#events.onRecovered?.(dropped);
  }

  #onFailure(error: NodeJS.ErrnoException | null): void {
    // A slow reader may continue at any time.
    if (error !== null && error.code !== 'EAGAIN') {
      const nowMs = systemClock.monotonicMs();
      this.#failingSinceMs ??= nowMs;
      if (nowMs - this.#failingSinceMs >= FAILING_AT_MOST_MS) {
        this.#dropAll();
        return;
      }
    }
    this.#cancelTimer = systemClock.after(RETRY_MS, () => this.#writeSome());
  }

  #dropAll(): void {
    const lineFeeds = this.#chunk.filter((byte, i) => byte === LINE_FEED && i > 0).length;
    this.#drop(lineFeeds + this.#lines.length);
    this.#chunk = NOTHING;
    this.#lines = [];
    this.#bufferedBytes = 0;
    this.#onEmpty();
  }

  #drop(lines: number): void {
    this.#dropped += lines;
    this.#events.onDropped?.(lines);
  }

  #takeChunk(): Buffer {
    let bytes = 0;
    const rest = this.#lines.findIndex((line) => {
      bytes += Buffer.byteLength(line);
      return bytes >= CHUNK_BYTES;
    });
    const lines = this.#lines.splice(0, rest === -1 ? this.#lines.length : rest + 1).join('');
    if (!this.#isInsideLine) return Buffer.from(lines);
    // The last line was written in part before its rest was dropped: the next lines do not continue it.
    this.#bufferedBytes++;
    return Buffer.from(`\n${lines}`);
  }

  #onEmpty(): void {
    for (const end of this.#flushed) end();
  }

  /** At the exit of the process, as far as possible without waiting. */
  #writeLast(): void {
    // The pool still finishes a chunk that is being written.
    let rest = Buffer.concat([this.#isWriting ? NOTHING : this.#chunk, Buffer.from(this.#lines.join(''))]);
    try {
      while (rest.length > 0) rest = rest.subarray(writeSync(this.#descriptor, rest));
    } catch {
      // The lines are lost: neither their reader nor the metrics are left.
    }
  }
}

/**
 * A stopped terminal blocks like a pipe without a reader, and Node leaves
 * it blocking. Opened again it can be non-blocking.
 */
function nonBlocking(descriptor: number): number {
  if (!isatty(descriptor)) return descriptor;
  try {
    return openSync(
      `/proc/self/fd/${descriptor}`,
      constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY,
    );
  } catch {
    return descriptor;
  }
}
