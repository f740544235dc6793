// Stores the outcome of each seed as a line of JSON, so that an interrupted campaign can go on.
import { appendFileSync, existsSync, readFileSync, statSync, truncateSync } from 'node:fs';
import { z } from 'zod';
import { OperatorError } from '../../src/ports/operator-error.js';
import type { SeedOutcome } from './campaign.js';
import { RARE_BRANCHES, type RareBranch } from './reached.js';

/** Two runs of a seed are the same if the code, the length and the size are the same. */
export interface CampaignSubject {
  /** For human readers of the file. */
  readonly commit: string;
  /** Digest of the compiled product, which may differ from its commit. */
  readonly code: string;
  readonly hours: number;
  /** Number at each of two locations. */
  readonly chargers: number;
  /** Number of nodes that stand by for each other; one service if left out. */
  readonly nodes?: number | undefined;
  readonly sharded?: boolean | undefined;
  /** The chargers use OCPP; left out if they do not. */
  readonly ocpp?: boolean | undefined;
}

const wholeSchema = z.int().nonnegative();
/** A line of any version: fields that distinguish its subject may be missing. */
const lineSchema = z.object({
  commit: z.string(),
  code: z.string().optional(),
  hours: z.number(),
  chargers: z.number(),
  nodes: z.number().optional(),
  sharded: z.boolean().optional(),
  ocpp: z.boolean().optional(),
  seed: wholeSchema,
  violation: z
    .object({ atMs: z.number(), invariant: z.string(), target: z.string(), detail: z.string() })
    .optional(),
  violations: wholeSchema,
  reached: z.array(z.tuple([z.string(), wholeSchema])),
  messages: wholeSchema,
  faults: wholeSchema,
});
type Line = z.output<typeof lineSchema>;

const NEWLINE = 0x0a;
/** Start of every line. */
const BEGINNING = '{"commit":';

export class CampaignLog {
  readonly #path: string;
  readonly #subject: CampaignSubject;
  readonly #outcomes = new Map<number, SeedOutcome>();
  #sizeBytes: number;

  /**
   * Reads the existing file, and cuts off half a line at its end, which a killed campaign leaves.
   * @throws OperatorError if a line is no outcome; the file then stays unchanged
   */
  constructor(path: string, subject: CampaignSubject) {
    this.#path = path;
    this.#subject = subject;
    const bytes = existsSync(path) ? readFileSync(path) : Buffer.alloc(0);
    this.#sizeBytes = bytes.lastIndexOf(NEWLINE) + 1;
    const lines = bytes.toString('utf8', 0, this.#sizeBytes).split('\n').slice(0, -1);
    for (const [i, text] of lines.entries()) {
      const line = parsed(text, `${path}:${i + 1}`);
      if (isOf(line, subject)) this.#outcomes.set(line.seed, outcomeOf(line));
    }
    const half = bytes.toString('utf8', this.#sizeBytes);
    if (half === '') return;
    if (!half.startsWith(BEGINNING) && !BEGINNING.startsWith(half))
      throw noOutcome(`${path}:${lines.length + 1}`);
    truncateSync(path, this.#sizeBytes);
  }

  /** Outcomes of this subject, from earlier and from now. */
  get outcomes(): readonly SeedOutcome[] {
    return [...this.#outcomes.values()];
  }

  has(seed: number): boolean {
    return this.#outcomes.has(seed);
  }

  /** @throws OperatorError if another campaign writes to the file */
  add(outcome: SeedOutcome): void {
    if ((statSync(this.#path, { throwIfNoEntry: false })?.size ?? 0) !== this.#sizeBytes)
      throw new OperatorError(
        `${this.#path}: another campaign writes it, too; run one at a time, or each with a file of its own`,
      );
    this.#outcomes.set(outcome.seed, outcome);
    const line = Buffer.from(`${JSON.stringify({ ...this.#subject, ...outcome })}\n`);
    appendFileSync(this.#path, line);
    this.#sizeBytes += line.length;
  }
}

function noOutcome(where: string): OperatorError {
  return new OperatorError(`${where}: is no outcome of a seed; name the file of a campaign, or a new one`);
}

function parsed(text: string, where: string): Line {
  try {
    return lineSchema.parse(JSON.parse(text));
  } catch {
    throw noOutcome(where);
  }
}

/** Branches whose names have changed do not belong to this version of the product. */
function outcomeOf({ seed, violation, violations, reached, messages, faults }: Line): SeedOutcome {
  const known = reached.flatMap(([name, count]) =>
    Object.hasOwn(RARE_BRANCHES, name) ? [[name as RareBranch, count] as const] : [],
  );
  return { seed, violation, violations, reached: known, messages, faults };
}

function isOf(line: Line, { code, hours, chargers, nodes, sharded, ocpp }: CampaignSubject): boolean {
  const isSameWorld = line.nodes === nodes && line.sharded === sharded && line.ocpp === ocpp;
  return line.code === code && line.hours === hours && line.chargers === chargers && isSameWorld;
}
