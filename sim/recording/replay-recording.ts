// Replays the inputs of a recording into the production service, and compares the limits of both.
import type { EpochMs } from '../../machines/values/time.js';
import { toInstant } from '../../src/wire/instants.js';
import type { LocationLive } from '../../src/wire/operator-locations.js';
import type { DecidedLimit, Life } from './recording-line.js';
import { type RecordedTurn, readRecording } from './recording-reader.js';
import { ReplayedLife, ReplayLostError } from './replayed-life.js';

export interface RecordingReplay {
  /** Number of starts of the service. */
  readonly lives: number;
  /** Number of inputs. */
  readonly turns: number;
  readonly startsAtMs: EpochMs;
  readonly endsAtMs: EpochMs;
  /** Number of limits that are equal in both, and number of limits that differ or exist in only one. */
  readonly agreed: number;
  readonly differing: number;
  /** The first difference, as text. */
  readonly first?: { readonly atMs: EpochMs; readonly message: string };
  /** Number of the incomplete line, if a life of the service ends in one. */
  readonly cutAtLine?: number;
  /** State of every location at the requested instant. */
  readonly locations?: readonly LocationLive[];
}

/** Replays up to `untilMs`, or to the end. @throws Error if `path` is not a recording. */
export async function replayRecording(path: string, untilMs?: EpochMs): Promise<RecordingReplay> {
  const replay = new Replay();
  for await (const part of readRecording(path)) {
    if (part.kind === 'life') replay.begin(part.life);
    else if (part.kind === 'cut') replay.cutAt(part.line);
    else if (untilMs !== undefined && part.turn.input.at > untilMs) {
      replay.noteStart(part.turn);
      break;
    } else await replay.play(part.turn);
  }
  return replay.result(untilMs);
}

class Replay {
  #life: ReplayedLife | undefined;
  #isLost = false;
  #lives = 0;
  #turns = 0;
  #agreed = 0;
  #differing = 0;
  #first: RecordingReplay['first'];
  #startsAtMs: EpochMs | undefined;
  #endsAtMs: EpochMs = 0;
  #cutAtLine: number | undefined;

  begin(life: Life): void {
    this.#life = new ReplayedLife(life);
    this.#isLost = false;
    this.#lives++;
  }

  cutAt(line: number): void {
    this.#cutAtLine = line;
  }

  noteStart({ input }: RecordedTurn): void {
    this.#startsAtMs ??= input.at;
  }

  async play(turn: RecordedTurn): Promise<void> {
    this.noteStart(turn);
    this.#turns++;
    this.#endsAtMs = turn.input.at;
    // After one input that the service cannot take, its later decisions prove nothing. The next life begins on its own
    // rows.
    if (this.#isLost || this.#life === undefined) {
      this.#differing += turn.limits.length;
      return;
    }
    try {
      this.#compare(turn, await this.#life.play(turn));
    } catch (error) {
      if (!(error instanceof ReplayLostError)) throw error;
      this.#isLost = true;
      this.#differ(turn.input.at, `the service cannot be told the rest of this life: ${error.message}`);
    }
  }

  result(untilMs: EpochMs | undefined): RecordingReplay {
    const startsAtMs = this.#startsAtMs;
    const locations =
      untilMs === undefined || untilMs < (startsAtMs ?? 0) ? undefined : this.#life?.at(untilMs);
    return {
      lives: this.#lives,
      turns: this.#turns,
      agreed: this.#agreed,
      differing: this.#differing,
      startsAtMs: startsAtMs ?? this.#endsAtMs,
      endsAtMs: this.#endsAtMs,
      ...(this.#first === undefined ? {} : { first: this.#first }),
      ...(this.#cutAtLine === undefined ? {} : { cutAtLine: this.#cutAtLine }),
      ...(locations === undefined ? {} : { locations }),
    };
  }

  #compare({ input, limits, isWhole }: RecordedTurn, made: readonly DecidedLimit[]): void {
    const compared = isWhole ? Math.max(limits.length, made.length) : limits.length;
    for (let i = 0; i < compared; i++) {
      const problem = differenceOf(limits[i], made[i]);
      if (problem === undefined) this.#agreed++;
      else this.#differ(input.at, problem);
    }
  }

  #differ(atMs: EpochMs, message: string): void {
    this.#differing++;
    this.#first ??= { atMs, message };
  }
}

/** The difference as text; undefined if both are equal. */
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

export function formatDifference({
  atMs,
  message,
}: {
  readonly atMs: EpochMs;
  readonly message: string;
}): string {
  return `${toInstant(atMs)} ${message}`;
}
