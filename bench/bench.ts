// What every benchmark shares: medians, the machine it ran on, one line of result.
import { cpus } from 'node:os';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** One figure of a benchmark: what was measured, beside its reference in the same run where it is a ratio. */
export interface Figure {
  readonly name: string;
  readonly measured: string;
  readonly goal: string;
  readonly met: boolean;
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
}

/** Prints the figures, one JSON line each, for `bench/main.ts` to gather. */
export function report(figures: readonly Figure[]): void {
  for (const figure of figures) process.stdout.write(`${JSON.stringify({ figure })}\n`);
}

/** A line of explanation that belongs beside the figures. */
export function remark(text: string): void {
  process.stdout.write(`${text}\n`);
}

export function percent(ratio: number): string {
  return `${(ratio * 100).toFixed(0)} %`;
}

/** Processor, cores and Node version: what the absolute numbers depend on. */
export function machine(): string {
  const [first] = cpus();
  return `${first?.model.trim() ?? 'unknown processor'}, ${cpus().length} cores, Node ${process.version}`;
}

setFlagsFromString('--expose-gc');
/** A full collection, so that what is still in use can be told from what is not yet collected. */
export const collectGarbage = runInNewContext('gc') as () => void;
