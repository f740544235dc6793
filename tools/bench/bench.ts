// Shared parts of the benchmarks: medians, the machine, and one line of result.
import { cpus } from 'node:os';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** One figure of a benchmark. For a ratio, `measured` includes the reference in the same run. */
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

/** Prints the figures, one JSON line each; `tools/bench.js` collects them. */
export function report(figures: readonly Figure[]): void {
  for (const figure of figures) process.stdout.write(`${JSON.stringify({ figure })}\n`);
}

/** A line of explanation that belongs to the figures. */
export function remark(text: string): void {
  process.stdout.write(`${text}\n`);
}

export function percent(ratio: number): string {
  return `${(ratio * 100).toFixed(0)} %`;
}

/** Processor, cores and Node version, on which absolute numbers depend. */
export function machine(): string {
  const [first] = cpus();
  return `${first?.model.trim() ?? 'unknown processor'}, ${cpus().length} cores, Node ${process.version}`;
}

setFlagsFromString('--expose-gc');
/** A full collection, after which all remaining memory is in use. */
export const collectGarbage = runInNewContext('gc') as () => void;
