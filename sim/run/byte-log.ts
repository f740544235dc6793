// Bytes that are appended and read again: what is old lies in a file, so that a long past takes no memory.
import { closeSync, mkdtempSync, openSync, readSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Of one log, which is enough for a day of twenty connectors: smaller pasts need no file. */
const MOST_HELD_BYTES = 1 << 20;

/** A past may be read as long as anybody has it, so its file is closed once nobody has. */
const ofNobody = new FinalizationRegistry<number>(closeSync);

export class ByteLog {
  readonly #mostHeldBytes: number;
  /** The newest pieces, by where they begin, oldest first. */
  readonly #held = new Map<number, Uint8Array>();
  #heldBytes = 0;
  #sizeBytes = 0;
  #file: number | undefined;

  constructor(mostHeldBytes = MOST_HELD_BYTES) {
    this.#mostHeldBytes = mostHeldBytes;
  }

  /** @returns where `piece` begins. It is not copied. */
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

  /** The piece of `sizeBytes` that begins at `begin`. */
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
    // Without a name it is gone with who has it open, however the process ends.
    rmSync(folder, { recursive: true });
    ofNobody.register(this, file);
    return file;
  }
}
