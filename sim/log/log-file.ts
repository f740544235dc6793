// Form of every event log on disk: sections of checked blocks. A trace is one section; each start of a recorded service
// appends one.
import {
  closeSync,
  createWriteStream,
  existsSync,
  fstatSync,
  mkdtempSync,
  openSync,
  readSync,
  rmSync,
  type WriteStream,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crc32, deflateRawSync, inflateRawSync } from 'node:zlib';
import type { EpochMs } from '../../machines/values/time.js';
import type { Cancel, Clock } from '../../src/ports/clock.js';
import { OperatorError } from '../../src/ports/operator-error.js';

export type LogKind = 'trace' | 'recording';

/** Version of the form. Release 0.2 wrote recordings as lines of JSON, and traces as SQLite files. */
const FORMATS: Readonly<Record<LogKind, number>> = { trace: 4, recording: 2 };

/** A section begins with this line. JSON has no line feed within a text, so no block of a recording holds it. */
const sectionMark = (kind: LogKind) => Buffer.from(`headroom ${kind} ${FORMATS[kind]}\n`);
const MARK = /^headroom (trace|recording) (\d{1,9})\n/;
const OLD_RECORDING = '{"kind":"life","format":';
const OLD_TRACE = 'SQLite format 3';
/** Long enough for each of these beginnings. */
const BEGINNING_BYTES = 40;

/**
 * `head`: subject of the section, as JSON. `names`: names in the following events. `state`: the events that make up the
 * state at that place. `entries`: the log itself. `end`: the last block of a finished trace.
 */
export type BlockKind = 'head' | 'names' | 'state' | 'entries' | 'end';

export interface Block {
  readonly kind: BlockKind;
  /** Position in the log. */
  readonly begin: number;
  /** Size with its header. */
  readonly sizeBytes: number;
  /** The content is compressed. */
  readonly isPacked: boolean;
  /** Number of entries in the block, and the instants of its first and its last one. */
  readonly entries: number;
  readonly firstAtMs: EpochMs;
  readonly lastAtMs: EpochMs;
}

/** Bytes of a log, in a file or in memory. */
export interface LogBytes {
  readonly sizeBytes: number;
  read(begin: number, sizeBytes: number): Uint8Array;
}

export interface GrowingLog extends LogBytes {
  /** @returns the position of `piece`. The log may keep `piece` itself. */
  append(piece: Uint8Array): number;
}

/**
 * A block begins with a line of text, so that a recording is text as a whole: kind, coding and size of the content,
 * number of entries, the instants of the first and the last one, and a checksum of all this and the content.
 */
const HEADER =
  /^(head|names|state|entries|end) *(packed|plain) *(\d{10}) (\d{10}) (\d{16}) (\d{16}) [\da-f]{8}\n$/;
const HEADER_BYTES = 80;
/** Part of the header before the checksum. */
const CHECKED_BYTES = 70;
/** Gives most of the compression for a small part of the time. */
const COMPRESSION_LEVEL = 3;

type BlockOptions = Partial<Pick<Block, 'isPacked' | 'entries' | 'firstAtMs' | 'lastAtMs'>>;

function bytesOfBlock(
  kind: BlockKind,
  content: Uint8Array | string,
  { isPacked = false, entries = 0, firstAtMs = 0, lastAtMs = 0 }: BlockOptions = {},
): Uint8Array {
  const plain = typeof content === 'string' ? Buffer.from(content) : content;
  const stored = isPacked ? deflateRawSync(plain, { level: COMPRESSION_LEVEL }) : plain;
  const fields = [
    kind.padEnd(7),
    isPacked ? 'packed' : 'plain ',
    digits(stored.length, 10),
    digits(entries, 10),
    digits(firstAtMs, 16),
    digits(lastAtMs, 16),
  ].join(' ');
  return Buffer.concat([Buffer.from(`${fields} ${checksumOf(fields, stored)}\n`), stored]);
}

function digits(value: number, count: number): string {
  return String(value).padStart(count, '0');
}

function checksumOf(fields: string, content: Uint8Array): string {
  return crc32(content, crc32(fields)).toString(16).padStart(8, '0');
}

/** Begins the section of a trace. */
export function beginTrace(log: GrowingLog, subject: object): void {
  log.append(sectionMark('trace'));
  appendBlock(log, 'head', JSON.stringify(subject));
}

export function appendBlock(
  log: GrowingLog,
  kind: BlockKind,
  content: Uint8Array | string,
  options: BlockOptions = {},
): Block {
  const bytes = bytesOfBlock(kind, content, options);
  return blockIn(bytes, log.append(bytes));
}

/** The block at `begin`; undefined if the log ends before the end of the block. @throws RangeError for other bytes */
function blockAt(log: LogBytes, begin: number): Block | undefined {
  if (begin + HEADER_BYTES > log.sizeBytes) return undefined;
  const block = blockIn(log.read(begin, HEADER_BYTES), begin);
  return begin + block.sizeBytes > log.sizeBytes ? undefined : block;
}

/** @param bytes the block, or its header. */
function blockIn(bytes: Uint8Array, begin: number): Block {
  const header = HEADER.exec(bufferOf(bytes).toString('latin1', 0, HEADER_BYTES));
  if (header === null) throw new RangeError(`byte ${begin} begins no block`);
  const [, kind = '', coding, size, entries, firstAtMs, lastAtMs] = header;
  return {
    // The expression allows only these kinds.
    kind: kind as BlockKind,
    begin,
    sizeBytes: HEADER_BYTES + Number(size),
    isPacked: coding === 'packed',
    entries: Number(entries),
    firstAtMs: Number(firstAtMs),
    lastAtMs: Number(lastAtMs),
  };
}

/** @throws RangeError if the block is not as it was written. */
export function contentOf(log: LogBytes, { begin, sizeBytes, isPacked }: Block): Buffer {
  const block = bufferOf(log.read(begin, sizeBytes));
  const stored = block.subarray(HEADER_BYTES);
  const header = block.toString('latin1', 0, HEADER_BYTES - 1);
  if (!header.endsWith(checksumOf(header.slice(0, CHECKED_BYTES), stored)))
    throw new RangeError(`the block at byte ${begin} is not as it was written`);
  return isPacked ? inflateRawSync(stored) : stored;
}

/** The same bytes, without a copy. */
function bufferOf({ buffer, byteOffset, length }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, length);
}

/** The blocks of a trace, from their headers alone, up to the last complete one. */
export function blocksOfTrace(log: LogBytes): Generator<Block> {
  return blocksFrom(log, sectionMark('trace').length);
}

function* blocksFrom(log: LogBytes, begin: number): Generator<Block> {
  for (
    let block = blockAt(log, begin);
    block !== undefined;
    block = blockAt(log, block.begin + block.sizeBytes)
  )
    yield block;
}

/** `cut`: the rest of the section is missing, because its process was killed while it wrote. */
export type LogPart = { readonly kind: BlockKind | 'cut'; readonly content: Buffer };

/** The contents of all blocks of a recording, in all its sections. @throws RangeError at a damaged place. */
export function* partsOf(log: LogBytes): Generator<LogPart> {
  const mark = sectionMark('recording');
  for (let begin = 0; begin < log.sizeBytes; ) {
    const end = nextMark(log, begin + mark.length, mark);
    const section: LogBytes = { sizeBytes: end, read: (...place) => log.read(...place) };
    let place = begin + mark.length;
    for (const block of blocksFrom(section, place)) {
      yield { kind: block.kind, content: contentOf(section, block) };
      place = block.begin + block.sizeBytes;
    }
    if (place < end) yield { kind: 'cut', content: Buffer.alloc(0) };
    begin = end;
  }
}

const SEARCHED_BYTES = 1 << 20;

/** Position of the first mark from `begin` on, or the end of the log. */
function nextMark(log: LogBytes, begin: number, mark: Buffer): number {
  for (let place = begin; place < log.sizeBytes; place += SEARCHED_BYTES) {
    // The pieces overlap by a mark.
    const piece = log.read(place, Math.min(SEARCHED_BYTES + mark.length, log.sizeBytes - place));
    const found = bufferOf(piece).indexOf(mark);
    if (found !== -1) return place + found;
  }
  return log.sizeBytes;
}

/** A file that is read and written at once, by the process that needs it. */
export class LogFile implements GrowingLog {
  readonly #fd: number;
  #sizeBytes: number;

  private constructor(fd: number) {
    this.#fd = fd;
    this.#sizeBytes = fstatSync(fd).size;
  }

  /** Creates an empty file, and replaces an existing one. */
  static create(path: string): LogFile {
    return new LogFile(openSync(path, 'w+'));
  }

  /** A file without a name: the operating system removes it when the process ends, in any way. */
  static nameless(): LogFile {
    const folder = mkdtempSync(join(tmpdir(), 'headroom-past-'));
    const file = new LogFile(openSync(join(folder, 'events'), 'wx+', 0o600));
    rmSync(folder, { recursive: true });
    return file;
  }

  /**
   * Opens the log at `path`.
   * @throws OperatorError if the file is missing, is no log of this kind, or has another version
   */
  static open(path: string, kind: LogKind): LogFile {
    if (!existsSync(path)) throw new OperatorError(`There is no ${kind} at ${path}`);
    const file = new LogFile(openSync(path, 'r'));
    const problem = problemOf(beginningOf(file), kind);
    if (problem === undefined) return file;
    file.close();
    throw new OperatorError(`${path} ${problem}`);
  }

  get sizeBytes(): number {
    return this.#sizeBytes;
  }

  append(piece: Uint8Array): number {
    const begin = this.#sizeBytes;
    for (let done = 0; done < piece.length; )
      done += writeSync(this.#fd, piece, done, piece.length - done, begin + done);
    this.#sizeBytes += piece.length;
    return begin;
  }

  read(begin: number, sizeBytes: number): Uint8Array {
    const piece = new Uint8Array(sizeBytes);
    for (let done = 0; done < sizeBytes; ) {
      const read = readSync(this.#fd, piece, done, sizeBytes - done, begin + done);
      if (read === 0) throw new RangeError(`the log has no byte ${begin + done}`);
      done += read;
    }
    return piece;
  }

  close(): void {
    closeSync(this.#fd);
  }
}

function beginningOf(log: LogBytes): string {
  return bufferOf(log.read(0, Math.min(log.sizeBytes, BEGINNING_BYTES))).toString('latin1');
}

/** The reason not to use a file as a log of `kind`, and a remedy; undefined if the file is usable. */
function problemOf(beginning: string, kind: LogKind): string | undefined {
  const [, found, format] = MARK.exec(beginning) ?? [];
  if (found === kind && Number(format) === FORMATS[kind]) return undefined;
  if (found === kind)
    return `has format ${format}, and this release reads format ${FORMATS[kind]}: use the release that wrote it`;
  if (kind === 'recording' && beginning.startsWith(OLD_RECORDING))
    return 'is a recording of release 0.2 or older: replay it with that release';
  if (kind === 'trace' && beginning.startsWith(OLD_TRACE))
    return 'is a trace of release 0.2 or older: run its scenario again, or replay it with that release';
  return `is no ${kind}`;
}

/** True if the file at `path` is a recording, of any version. */
export function isRecordingFile(path: string): boolean {
  const fd = openSync(path, 'r');
  try {
    const bytes = Buffer.alloc(BEGINNING_BYTES);
    const beginning = bytes.toString('latin1', 0, readSync(fd, bytes, 0, BEGINNING_BYTES, 0));
    return isRecording(beginning);
  } finally {
    closeSync(fd);
  }
}

function isRecording(beginning: string): boolean {
  return beginning.startsWith(OLD_RECORDING) || MARK.exec(beginning)?.[1] === 'recording';
}

const FLUSH_CHARACTERS = 1 << 16;
const FLUSH_EVERY_MS = 500;
/** Upper bound of the bytes that are queued for a slow disk. */
const QUEUED_BYTES = 1 << 25;

/**
 * Appends sections to a recording without a wait for the disk. A failed write ends the file; later lines are counted as
 * lost.
 */
export class RecordingFile {
  readonly #path: string;
  readonly #clock: Clock;
  readonly #onLost: (error: Error) => void;
  readonly #fd: number;
  readonly #stream: WriteStream;
  #pending = '';
  #linesPending = 0;
  #sizeBytes: number | undefined;
  #cancelFlush: Cancel | undefined;
  #hasEnded = false;
  #lost = 0;

  /**
   * Only the owner of the process may read the file. The first lost line calls `onLost`, once.
   * @throws OperatorError if the file holds something else, or has another version
   */
  constructor(options: {
    readonly path: string;
    readonly clock: Clock;
    readonly onLost: (error: Error) => void;
  }) {
    this.#path = options.path;
    this.#clock = options.clock;
    this.#onLost = options.onLost;
    this.#fd = openAppending(options.path);
    this.#stream = createWriteStream(options.path, { fd: this.#fd, flags: 'a' });
    this.#stream.on('error', (error) => this.#end(error));
  }

  /** Number of lines that the file lacks: all from the first failed write on. */
  get lost(): number {
    return this.#lost;
  }

  /** Begins a section. The next start after a kill has a section of its own, and ends an incomplete one. */
  begin(head: object): void {
    this.#flush();
    const mark = sectionMark('recording');
    this.#write(Buffer.concat([mark, bytesOfBlock('head', `${JSON.stringify(head)}\n`)]), 1);
  }

  /** Takes the line at once, and drops it if the file has ended. */
  add(line: object): void {
    if (this.#hasEnded) {
      this.#lost++;
      return;
    }
    this.#pending += `${JSON.stringify(line)}\n`;
    this.#linesPending++;
    if (this.#pending.length >= FLUSH_CHARACTERS) this.#flush();
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
    this.#lost += this.#linesPending;
    this.#pending = '';
    this.#linesPending = 0;
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
    if (this.#linesPending === 0) return;
    const [text, lines] = [this.#pending, this.#linesPending];
    this.#pending = '';
    this.#linesPending = 0;
    this.#write(bytesOfBlock('entries', text, { entries: lines }), lines);
  }

  #write(bytes: Uint8Array, lines: number): void {
    // A gap ends the file: a reader could not find out which lines it lacks.
    if (!this.#hasEnded && this.#stream.writableLength > QUEUED_BYTES)
      this.#end(new Error(`more than ${QUEUED_BYTES} bytes wait to be written`));
    if (!this.#hasEnded && this.#isOvertaken())
      this.#end(new Error(`another process writes to ${this.#path} now`));
    if (this.#hasEnded) {
      this.#lost += lines;
      return;
    }
    this.#sizeBytes = (this.#sizeBytes ?? 0) + bytes.length;
    this.#stream.write(bytes, (error) => {
      if (error) this.#lost += lines;
    });
  }
}

function openAppending(path: string): number {
  const fd = openSync(path, 'a+', 0o600);
  const bytes = Buffer.alloc(BEGINNING_BYTES);
  const beginning = bytes.toString('latin1', 0, readSync(fd, bytes, 0, BEGINNING_BYTES, 0));
  const problem = fstatSync(fd).size === 0 ? undefined : problemOf(beginning, 'recording');
  if (problem === undefined) return fd;
  closeSync(fd);
  throw new OperatorError(
    isRecording(beginning)
      ? `${path} ${problem}, and record to another file`
      : `${path} is there already, and holds something else`,
  );
}
