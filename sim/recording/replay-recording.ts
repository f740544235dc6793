// Tells the production service once more what a recorded one was told, and compares what both decided.
import type { EpochMs } from '../../machines/values/time.js';
import type { LocationLive } from '../../src/wire/operator-locations.js';
import { toInstant } from '../../src/wire/rest.js';
import type { DecidedLimit } from './recording-line.js';
import { type RecordedTurn, readRecording } from './recording-reader.js';
import { type ReplayedLife, ReplayLostError, replayLife } from './replayed-life.js';

export interface RecordingReplay {
  /** How often the service was started. */
  readonly lives: number;
  /** Things that reached it. */
  readonly turns: number;
  readonly startsAtMs: EpochMs;
  readonly endsAtMs: EpochMs;
  /** Limits that were decided the same, and otherwise or not at all. */
  readonly agreed: number;
  readonly differing: number;
  /** The first that differs, in words. */
  readonly first?: { readonly atMs: EpochMs; readonly message: string };
  /** The line within which the file ends, or a life of the service did. */
  readonly cutAtLine?: number;
  /** Every location as the service knew it at the instant that was asked for. */
  readonly locations?: readonly LocationLive[];
}

/**
 * Up to `untilMs`, or to the end. @throws Error where `path` is no recording.
 */
export async function replayRecording(path: string, untilMs?: EpochMs): Promise<RecordingReplay> {
  let life: ReplayedLife | undefined;
  let isLost = false;
  let lives = 0;
  let turns = 0;
  let agreed = 0;
  let differing = 0;
  let first: RecordingReplay['first'];
  let startsAtMs: EpochMs | undefined;
  let endsAtMs: EpochMs = 0;
  let cutAtLine: number | undefined;

  function differ(atMs: EpochMs, message: string): void {
    differing++;
    first ??= { atMs, message };
  }

  function compare({ input, limits, isWhole }: RecordedTurn, made: readonly DecidedLimit[]): void {
    const compared = isWhole ? Math.max(limits.length, made.length) : limits.length;
    for (let i = 0; i < compared; i++) {
      const problem = differenceOf(limits[i], made[i]);
      if (problem === undefined) agreed++;
      else differ(input.at, problem);
    }
  }

  async function take(turn: RecordedTurn): Promise<void> {
    turns++;
    endsAtMs = turn.input.at;
    // What a service does that has lost its way tells nothing; the next life begins on its own rows.
    if (isLost || life === undefined) {
      differing += turn.limits.length;
      return;
    }
    try {
      compare(turn, await life.take(turn));
    } catch (error) {
      if (!(error instanceof ReplayLostError)) throw error;
      isLost = true;
      differ(turn.input.at, `the service cannot be told the rest of this life: ${error.message}`);
    }
  }

  for await (const part of readRecording(path)) {
    if (part.kind === 'cut') cutAtLine = part.line;
    else if (part.kind === 'turn') {
      startsAtMs ??= part.turn.input.at;
      if (untilMs !== undefined && part.turn.input.at > untilMs) break;
      await take(part.turn);
    } else {
      life = replayLife(part.life);
      isLost = false;
      lives++;
    }
  }
  const locations = untilMs === undefined || untilMs < (startsAtMs ?? 0) ? undefined : life?.at(untilMs);
  return {
    lives,
    turns,
    agreed,
    differing,
    startsAtMs: startsAtMs ?? endsAtMs,
    endsAtMs,
    ...(first === undefined ? {} : { first }),
    ...(cutAtLine === undefined ? {} : { cutAtLine }),
    ...(locations === undefined ? {} : { locations }),
  };
}

/** In words; undefined where both are the same. */
function differenceOf(
  recorded: DecidedLimit | undefined,
  made: DecidedLimit | undefined,
): string | undefined {
  const shown = recorded ?? made;
  if (shown === undefined) return undefined;
  if (recorded !== undefined && made !== undefined && isSame(recorded, made)) return undefined;
  const name = `${shown.controllerUuid}/${shown.connectorId} of ${shown.locationId}`;
  return `${name} was told ${toldAs(recorded, shown)}, and is now told ${toldAs(made, shown)}`;
}

function isSame(a: DecidedLimit, b: DecidedLimit): boolean {
  const names = new Set([...Object.keys(a), ...Object.keys(b)]);
  return [...names].every((name) => Reflect.get(a, name) === Reflect.get(b, name));
}

function toldAs(limit: DecidedLimit | undefined, shown: DecidedLimit): string {
  if (limit === undefined) return 'nothing';
  const { limitA, thenA, ttlS, reason, epoch, seq, ref } = limit;
  const told = `${limitA} A, then ${thenA} A (${reason}, ${epoch}/${seq}, ref ${ref}, ${ttlS} s)`;
  const isOther = limit.controllerUuid !== shown.controllerUuid || limit.connectorId !== shown.connectorId;
  return isOther ? `${told} for ${limit.controllerUuid}/${limit.connectorId}` : told;
}

/** An instant and what differs there, for people. */
export function formatDifference({
  atMs,
  message,
}: {
  readonly atMs: EpochMs;
  readonly message: string;
}): string {
  return `${toInstant(atMs)} ${message}`;
}
