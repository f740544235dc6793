// Works out the contract's results slowly from all submissions. Shares no code with machines/.

export interface Submission {
  /** Time at which the submission arrived, for queries about the knowledge at an instant. */
  readonly atMs: number;
  readonly target: string;
  readonly priority: number;
  readonly limitKw: number;
  readonly startsAtMs: number;
  readonly endsAtMs: number;
}

/** In order of arrival. */
export interface History {
  readonly submissions: Submission[];
  readonly permanentLimitsKw: number[];
}

export type Phase = 'SCHEDULED' | 'ACTIVE' | 'EXPIRED';

const PRIORITIES = [10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0];

/** Section 3.1, by the wording of its table. */
export function phaseAt(submission: Submission, t: number): Phase {
  if (t < submission.startsAtMs && t < submission.endsAtMs) return 'SCHEDULED';
  if (t < submission.endsAtMs) return 'ACTIVE';
  return 'EXPIRED';
}

/** The submissions of `target` that no other one has replaced, highest priority first (section 1). */
export function heldBy(history: History, target: string): Submission[] {
  return PRIORITIES.flatMap((priority) =>
    history.submissions.filter((s) => s.target === target && s.priority === priority).slice(-1),
  );
}

/** Cancels a profile: from then on, its priority counts as never submitted. */
export function cancelIn(history: History, target: string, priority: number): void {
  const others = history.submissions.filter((s) => s.target !== target || s.priority !== priority);
  history.submissions.splice(0, history.submissions.length, ...others);
}

/** The submission that decides at `t`, if any. */
export function decidingAt(history: History, target: string, t: number): Submission | undefined {
  return heldBy(history, target).filter((s) => phaseAt(s, t) === 'ACTIVE')[0];
}

/** The limit in force at `t`. undefined without a submission and without any permanent limit. */
export function effectiveKwAt(history: History, target: string, t: number): number | undefined {
  return decidingAt(history, target, t)?.limitKw ?? history.permanentLimitsKw.at(-1);
}

/** Every instant after `t` at which a submission of one of `targets` begins or ends, soonest first. */
export function boundariesAfter(history: History, targets: readonly string[], t: number): number[] {
  return targets
    .flatMap((target) => heldBy(history, target))
    .filter((s) => s.startsAtMs < s.endsAtMs)
    .flatMap((s) => [s.startsAtMs, s.endsAtMs])
    .filter((instant) => instant > t)
    .sort((a, b) => a - b);
}

/** Submissions that changed phase between two instants. */
export function crossedBetween(history: History, target: string, since: number, now: number) {
  return heldBy(history, target)
    .map((s) => ({ priority: s.priority, from: phaseAt(s, since), to: phaseAt(s, now) }))
    .filter(({ from, to }) => from !== to);
}

/** The limit and priority at every millisecond of `[fromMs, toMs)`. */
export function everyMillisecond(history: History, target: string, fromMs: number, toMs: number) {
  const moments: { limitKw: number | undefined; priority: number | undefined }[] = [];
  for (let t = fromMs; t < toMs; t++) {
    moments.push({
      limitKw: effectiveKwAt(history, target, t),
      priority: decidingAt(history, target, t)?.priority,
    });
  }
  return moments;
}

/** Section 2.8, one member at a time. A member without a binding share has no entry. */
export function sharesOf(
  capKw: number | null,
  isActive: boolean,
  setLimitsKw: ReadonlyMap<string, number>,
): Map<string, number> {
  const shares = new Map<string, number>();
  if (capKw === null || !isActive) return shares;
  const sum = [...setLimitsKw.values()].reduce((a, b) => a + b, 0);
  for (const [member, setKw] of setLimitsKw) shares.set(member, sum > capKw ? setKw * (capKw / sum) : setKw);
  return shares;
}

export function smallestOf(...limitsKw: readonly (number | undefined)[]): number {
  return limitsKw.filter((kw) => kw !== undefined).sort((a, b) => a - b)[0] ?? Number.POSITIVE_INFINITY;
}

/** The lowest of all limits. Shares are granted in whole watts, so a share below one watt counts as 0. */
export function limitInForceKw(
  effectiveKw: number,
  connectionKw: number | undefined,
  sharesKw: Iterable<number>,
): number {
  const wattsOf = (kw: number) => Math.floor(kw * 1000 + 1e-6);
  const leastW = Math.min(...[...sharesKw].map(wattsOf));
  const underShares = leastW < wattsOf(effectiveKw) ? leastW / 1000 : effectiveKw;
  return Math.min(underShares, connectionKw ?? underShares);
}
