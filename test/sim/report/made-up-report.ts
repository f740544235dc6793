import { openTrace, TraceWriter } from '../../../sim/log/trace.js';
import { comparedRun } from '../../../sim/report/compare-runs.js';
import { type Summary, SummaryFold } from '../../../sim/report/summary.js';
import { writeReport } from '../../../sim/report/write-report.js';
import { DAY_MS, DAY_START_MS, type MadeUpWorld, madeUpWorld } from '../log/made-up-world.js';

/** Writes `trace.log` and `report.html` of a made-up world into `dir`. */
export async function madeUpReport(
  dir: string,
  world: MadeUpWorld,
  name = 'A made-up day',
  unmet: readonly string[] = [],
  compared?: { readonly differsAtMs?: number },
): Promise<Summary> {
  const tracePath = `${dir}/trace.log`;
  const writer = new TraceWriter(tracePath, {
    scenario: name,
    seed: world.seed,
    commit: '0123456789abcdef',
    startsAtMs: DAY_START_MS,
    utcOffsetMs: 7_200_000,
    grid: [],
  });
  const sums = new SummaryFold(DAY_START_MS);
  for (const event of madeUpWorld(world)) {
    writer.add(event);
    sums.add(event);
  }
  const endsAtMs = DAY_START_MS + (world.durationMs ?? DAY_MS);
  writer.finish(endsAtMs);
  const summary = sums.finish(endsAtMs);
  const trace = openTrace(tracePath);
  const beside = compared && (await comparedRun(trace, 'The day before', summary, compared.differsAtMs));
  await writeReport(`${dir}/report.html`, trace, summary, unmet, beside);
  trace.close();
  return summary;
}
