// Appends lines to a file without anybody waiting for the disk; what cannot be written is counted, and the file ends there.
import { closeSync, createWriteStream, fstatSync, openSync, readSync, type WriteStream } from 'node:fs';
import { StringDecoder } from 'node:string_decoder';
import type { Cancel, Clock } from '../../src/ports/clock.js';

const FLUSH_BYTES = 1 << 16;
const FLUSH_EVERY_MS = 500;
/** What may wait for a slow disk. */
const WAITING_BYTES = 1 << 25;

export class LineWriter {
  readonly #path: string;
  readonly #clock: Clock;
  readonly #onLost: (error: Error) => void;
  readonly #fd: number;
  readonly #stream: WriteStream;
  #waiting: string;
  #linesWaiting = 0;
  #sizeBytes: number | undefined;
  #cancelFlush: Cancel | undefined;
  #hasEnded = false;
  #lost = 0;

  /**
   * Appends to `path`, which only its owner may read. `onLost` is told once, when the first line is lost.
   * @param options.isOwn whether a file that is there already may be gone on with, by its beginning.
   * @throws Error where it cannot be opened, or holds something else.
   */
  constructor(options: {
    readonly path: string;
    readonly clock: Clock;
    readonly isOwn: (beginning: string) => boolean;
    readonly onLost: (error: Error) => void;
  }) {
    this.#path = options.path;
    this.#clock = options.clock;
    this.#onLost = options.onLost;
    this.#fd = openAppending(options.path, options.isOwn);
    this.#stream = createWriteStream(options.path, { fd: this.#fd, flags: 'a' });
    this.#stream.on('error', (error) => this.#end(error));
    this.#waiting = isMidLine(this.#fd) ? '\n' : '';
  }

  /** Lines that are not in the file: all from the first one on that could not be written. */
  get lost(): number {
    return this.#lost;
  }

  /** Takes the line at once, and forgets it where the file has ended. */
  write(line: object): void {
    // After a missing line, nobody could know what the next lines leave out.
    if (!this.#hasEnded && this.#stream.writableLength > WAITING_BYTES)
      this.#end(new Error(`more than ${WAITING_BYTES} bytes wait to be written`));
    if (this.#hasEnded) {
      this.#lost++;
      return;
    }
    this.#waiting += `${JSON.stringify(line)}\n`;
    this.#linesWaiting++;
    if (this.#waiting.length >= FLUSH_BYTES) this.#flush();
    else this.#cancelFlush ??= this.#clock.after(FLUSH_EVERY_MS, () => this.#flush());
  }

  /** Writes what is left. */
  close(): Promise<void> {
    this.#flush();
    return new Promise((resolve) => {
      this.#stream.once('close', resolve);
      if (this.#stream.destroyed) resolve();
      else this.#stream.end();
    });
  }

  #end(error: Error): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#lost += this.#linesWaiting;
    this.#waiting = '';
    this.#onLost(error);
  }

  /** The service that began last goes on writing: two that write to one file would spoil both recordings. */
  #isOvertaken(): boolean {
    // What is being written may be in the file, or not yet.
    if (this.#stream.writableLength > 0) return false;
    const foundBytes = fstatSync(this.#fd).size;
    this.#sizeBytes ??= foundBytes;
    return foundBytes > this.#sizeBytes;
  }

  #flush(): void {
    this.#cancelFlush?.();
    this.#cancelFlush = undefined;
    if (this.#waiting !== '' && this.#isOvertaken())
      this.#end(new Error(`another process writes to ${this.#path} now`));
    if (this.#waiting === '') return;
    this.#sizeBytes = (this.#sizeBytes ?? 0) + Buffer.byteLength(this.#waiting);
    const written = this.#linesWaiting;
    this.#stream.write(this.#waiting, (error) => {
      if (error) this.#lost += written;
    });
    this.#waiting = '';
    this.#linesWaiting = 0;
  }
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
