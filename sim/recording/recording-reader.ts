// Reads a recording turn by turn, up to its last complete line: a killed service may leave an incomplete one.
import { closeSync, createReadStream, openSync, readSync } from 'node:fs';
import { createInterface } from 'node:readline';
import {
  type DecidedLimit,
  FORMAT,
  type Input,
  isRecording,
  type Life,
  type Line,
  parseLine,
} from './recording-line.js';

const BEGINNING_BYTES = 64;

/** One input of the service, and the results of this input. */
export interface RecordedTurn {
  readonly input: Input;
  /** Generated identifiers and sent limits, in order. */
  readonly ids: readonly string[];
  readonly limits: readonly DecidedLimit[];
  /** False for the last turn of a life: its results may be missing from the file. */
  readonly isWhole: boolean;
}

/**
 * `life` begins a life of the service. `cut`: the line at this place is incomplete, and the rest of the life is
 * missing.
 */
export type RecordingPart =
  | { readonly kind: 'life'; readonly life: Life }
  | { readonly kind: 'turn'; readonly turn: RecordedTurn }
  | { readonly kind: 'cut'; readonly line: number };

/** @throws Error if there is no recording at `path`, or a line has an unknown format. */
export async function* readRecording(path: string): AsyncGenerator<RecordingPart> {
  let open: { readonly input: Input; readonly ids: string[]; readonly limits: DecidedLimit[] } | undefined;
  let broken: number | undefined;
  let number = 0;

  function* finishTurn(isWhole: boolean): Generator<RecordingPart> {
    if (open !== undefined) yield { kind: 'turn', turn: { ...open, isWhole } };
    open = undefined;
  }

  function* take(line: Line): Generator<RecordingPart> {
    if (line.kind === 'id') open?.ids.push(line.id);
    else if (line.kind === 'limit') open?.limits.push(withoutKind(line));
    else {
      yield* finishTurn(line.kind !== 'life');
      if (line.kind === 'life') yield { kind: 'life', life: line };
      else open = { input: line, ids: [], limits: [] };
    }
  }

  for await (const text of createInterface({
    input: createReadStream(path),
    crlfDelay: Number.POSITIVE_INFINITY,
  })) {
    number++;
    const line = parseLine(text);
    if (number === 1 && line?.kind !== 'life') throw new Error(notReadable(path, text));
    // A line may be incomplete only at the end of a life: the next line begins another life, or there is none.
    if (broken !== undefined) {
      if (line?.kind !== 'life') throw new Error(`${path}:${broken}: this is no line of a recording`);
      yield* finishTurn(false);
      yield { kind: 'cut', line: broken };
      broken = undefined;
    }
    if (line === undefined) broken = number;
    else yield* take(line);
  }
  if (number === 0) throw new Error(notReadable(path, ''));
  yield* finishTurn(false);
  if (broken !== undefined) yield { kind: 'cut', line: broken };
}

export function isRecordingFile(path: string): boolean {
  const beginning = Buffer.alloc(BEGINNING_BYTES);
  const fd = openSync(path, 'r');
  try {
    const read = readSync(fd, beginning, 0, BEGINNING_BYTES, 0);
    return isRecording(beginning.toString('latin1', 0, read));
  } finally {
    closeSync(fd);
  }
}

function notReadable(path: string, first: string): string {
  return isRecording(first)
    ? `${path} was recorded in another way than this version reads (format ${FORMAT})`
    : `${path} is no recording`;
}

function withoutKind({ kind: _, ...limit }: DecidedLimit & { readonly kind: 'limit' }): DecidedLimit {
  return limit;
}
