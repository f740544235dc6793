// `headroom sim compare`: compares two runs figure by figure, and finds the instant at which they begin to differ.

import { openTrace, type Trace } from '../sim/log/trace.js';
import { type Comparison, comparedRun, compareRuns } from '../sim/report/compare-runs.js';
import { comparedLocations } from '../sim/report/compared-figures.js';
import { writeReport } from '../sim/report/write-report.js';
import { toInstant } from '../src/wire/instants.js';
import { printJson, printLine, printTable } from './print.js';
import type { CompareFlags } from './sim-options.js';

/** Two runs of the same name are named after their folders. */
interface Named {
  readonly name: string;
  readonly trace: Trace;
}

function print([first, second]: readonly [Named, Named], comparison: Comparison): void {
  const { differsAtMs } = comparison;
  printLine(
    differsAtMs === undefined
      ? 'the two runs are the same'
      : `the same until ${toInstant(differsAtMs)}, then different`,
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

export async function compare(first: string, second: string, flags: CompareFlags): Promise<void> {
  const one = openTrace(first);
  try {
    const other = openTrace(second);
    try {
      await printComparison(
        [
          { name: first, trace: one },
          { name: second, trace: other },
        ],
        flags,
      );
    } finally {
      other.close();
    }
  } finally {
    one.close();
  }
}
