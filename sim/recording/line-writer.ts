// Appends lines to a file without a wait for the disk. A failed write ends the file; later lines are counted as lost.
import { closeSync, createWriteStream, fstatSync, openSync, readSync, type WriteStream } from 'node:fs';
import { StringDecoder } from 'node:string_decoder';
import type { Cancel, Clock } from '../../src/ports/clock.js';

const FLUSH_BYTES = 1 << 16;
const FLUSH_EVERY_MS = 500;
/** Upper bound of the bytes that are queued for a slow disk. */
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
   * Appends to `path`, which only its owner may read. The first lost line calls `onLost`, once.
   * @param options.isOwn judges by the first bytes of an existing file whether the writer may append to it.
   * @throws Error if the file cannot be opened, or holds something else.
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

  /** Number of lines that the file lacks: all from the first failed write on. */
  get lost(): number {
    return this.#lost;
  }

  /** Takes the line at once, and drops it if the file has ended. */
  write(line: object): void {
    // A gap ends the file: a reader could not find out which lines it lacks.
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

  /** The service that started last keeps the file: two writers would damage both recordings. */
  #isOvertaken(): boolean {
    // Bytes of a write in progress may or may not be in the file yet.
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

/** The previous service may have been killed in the middle of a line. */
function isMidLine(fd: number): boolean {
  const { size } = fstatSync(fd);
  const last = Buffer.alloc(1);
  return size > 0 && readSync(fd, last, 0, 1, size - 1) === 1 && last.toString() !== '\n';
}
