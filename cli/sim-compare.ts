// `headroom sim compare`: compares two runs figure by figure, and finds the instant at which they begin to differ.

import { type Comparison, comparedRun, compareRuns } from '../sim/report/compare-runs.js';
import { comparedLocations } from '../sim/report/compared-figures.js';
import { writeReport } from '../sim/report/write-report.js';
import { openTraceReader, type TraceReader } from '../sim/trace/trace-reader.js';
import { OperatorError } from '../src/ports/operator-error.js';
import { toInstant } from '../src/wire/instants.js';
import { printJson, printLine, printTable } from './print.js';
import type { CompareFlags } from './sim-options.js';
import { traceFileOf } from './sim-replay.js';

/** Two runs of the same name are named after their folders. */
interface Named {
  readonly name: string;
  readonly trace: TraceReader;
}

function print([first, second]: readonly [Named, Named], comparison: Comparison): void {
  const { differsAtMs } = comparison;
  printLine(
    differsAtMs === undefined
      ? 'all is the same'
      : `the same until ${toInstant(differsAtMs)}, where they part`,
  );
  for (const { locationId, figures } of comparedLocations(comparison.first, comparison.second)) {
    printLine('');
    printTable(
      [locationId, first.name, second.name],
      figures.map((figure) => [figure.name, figure.first, figure.second]),
    );
  }
}

/** Prints both runs, or writes the report of the first run with the figures of the second. */
export async function printComparison(
  [first, second]: readonly [Named, Named],
  { out, json }: CompareFlags,
): Promise<Comparison> {
  const comparison = await compareRuns(first.trace, second.trace);
  const { differsAtMs } = comparison;
  if (json) {
    const locations = comparedLocations(comparison.first, comparison.second);
    printJson({
      first: first.name,
      second: second.name,
      differsAt: differsAtMs && toInstant(differsAtMs),
      locations,
    });
  } else print([first, second], comparison);
  if (out === undefined) return comparison;
  const beside = await comparedRun(second.trace, second.name, comparison.second, differsAtMs);
  await writeReport(out, first.trace, comparison.first, [], beside);
  if (!json) printLine(`\nreport ${out}`);
  return comparison;
}

/** @throws OperatorError if there is no run. */
export async function openRun(path: string): Promise<TraceReader> {
  return openTraceReader(traceFileOf(path)).catch((error: Error) => {
    throw new OperatorError(error.message);
  });
}

export async function compare(first: string, second: string, flags: CompareFlags): Promise<void> {
  const one = await openRun(first);
  try {
    const other = await openRun(second);
    try {
      await printComparison(
        [
          { name: first, trace: one },
          { name: second, trace: other },
        ],
        flags,
      );
    } finally {
      await other.close();
    }
  } finally {
    await one.close();
  }
}
