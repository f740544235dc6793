// An append-only log of bytes. Old bytes move to a file, so that a long past needs no memory.
import { closeSync, mkdtempSync, openSync, readSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Memory of one log. A day of twenty connectors fits into it, so a shorter past needs no file. */
const MOST_HELD_BYTES = 1 << 20;

/** A past stays readable as long as a reference to it exists; the garbage collector then closes the file. */
const ofNobody = new FinalizationRegistry<number>(closeSync);

export class ByteLog {
  readonly #mostHeldBytes: number;
  /** The newest pieces by their position in the log, oldest first. */
  readonly #held = new Map<number, Uint8Array>();
  #heldBytes = 0;
  #sizeBytes = 0;
  #file: number | undefined;

  constructor(mostHeldBytes = MOST_HELD_BYTES) {
    this.#mostHeldBytes = mostHeldBytes;
  }

  /** @returns the position of `piece` in the log. The log keeps `piece` itself, not a copy. */
  append(piece: Uint8Array): number {
    const begin = this.#sizeBytes;
    this.#held.set(begin, piece);
    this.#heldBytes += piece.length;
    this.#sizeBytes += piece.length;
    for (const [place, oldest] of this.#held) {
      if (this.#heldBytes <= this.#mostHeldBytes) break;
      this.#write(oldest, place);
      this.#held.delete(place);
      this.#heldBytes -= oldest.length;
    }
    return begin;
  }

  /** The piece of `sizeBytes` at position `begin`. */
  read(begin: number, sizeBytes: number): Uint8Array {
    return this.#held.get(begin) ?? this.#readFile(begin, sizeBytes);
  }

  #write(piece: Uint8Array, place: number): void {
    this.#file ??= this.#openFile();
    for (let done = 0; done < piece.length; )
      done += writeSync(this.#file, piece, done, piece.length - done, place + done);
  }

  #readFile(begin: number, sizeBytes: number): Uint8Array {
    const piece = new Uint8Array(sizeBytes);
    for (let done = 0; done < sizeBytes; ) {
      const read = readSync(this.#file ?? -1, piece, done, sizeBytes - done, begin + done);
      if (read === 0) throw new RangeError(`nothing was appended at ${begin + done}`);
      done += read;
    }
    return piece;
  }

  #openFile(): number {
    const folder = mkdtempSync(join(tmpdir(), 'headroom-past-'));
    const file = openSync(join(folder, 'events'), 'wx+', 0o600);
    // The file has no name, so the operating system removes it when the process ends, in any way.
    rmSync(folder, { recursive: true });
    ofNobody.register(this, file);
    return file;
  }
}
