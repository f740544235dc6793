// What came of each seed of a campaign, a line of JSON each: a night that was interrupted goes on where it stopped.
import { appendFileSync, existsSync, readFileSync, truncateSync } from 'node:fs';
import type { SeedOutcome } from './campaign-seed.js';

/** What makes two runs of a seed the same: the state of the product, and how long and how large the runs are. */
export interface CampaignSubject {
  readonly commit: string;
  readonly hours: number;
  /** At each of two locations. */
  readonly chargers: number;
  /** That stand by for each other; one service if left out. */
  readonly nodes?: number | undefined;
  readonly sharded?: boolean | undefined;
  /** They speak OCPP; left out where they do not. */
  readonly ocpp?: boolean | undefined;
}

type Line = CampaignSubject & SeedOutcome;

export class CampaignLog {
  readonly #path: string;
  readonly #subject: CampaignSubject;
  readonly #outcomes: SeedOutcome[];

  /** Reads what is there; half a line at its end, of a campaign that was killed, is cut off. @throws Error where a line is none. */
  constructor(path: string, subject: CampaignSubject) {
    this.#path = path;
    this.#subject = subject;
    const text = existsSync(path) ? readFileSync(path, 'utf8') : '';
    const whole = text.slice(0, text.lastIndexOf('\n') + 1);
    if (whole.length < text.length) truncateSync(path, Buffer.byteLength(whole));
    this.#outcomes = whole
      .split('\n')
      .slice(0, -1)
      .map((line, i) => parsed(line, `${path}:${i + 1}`))
      .filter((line) => isOf(line, subject));
  }

  /** Of this subject, from earlier and from now. */
  get outcomes(): readonly SeedOutcome[] {
    return this.#outcomes;
  }

  has(seed: number): boolean {
    return this.#outcomes.some((outcome) => outcome.seed === seed);
  }

  add(outcome: SeedOutcome): void {
    this.#outcomes.push(outcome);
    const line: Line = { ...this.#subject, ...outcome };
    appendFileSync(this.#path, `${JSON.stringify(line)}\n`);
  }
}

function parsed(line: string, where: string): Line {
  try {
    const value: unknown = JSON.parse(line);
    if (typeof value === 'object' && value !== null && 'seed' in value && 'reached' in value)
      // Written by `add`, whose type it is.
      return value as Line;
  } catch {
    // Told below, like any other line that is none.
  }
  throw new Error(`${where}: is no outcome of a seed; name a file that a campaign wrote, or a new one`);
}

function isOf(line: Line, { commit, hours, chargers, nodes, sharded, ocpp }: CampaignSubject): boolean {
  if (line.ocpp !== ocpp) return false;
  const isAsLarge =
    line.hours === hours && line.chargers === chargers && line.nodes === nodes && line.sharded === sharded;
  return line.commit === commit && isAsLarge;
}
