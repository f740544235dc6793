// The order of test files: what takes long begins first, so that at the end no processor waits for the other.
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** By processor time, longest first; then folders whose files start processes and pages, and wait for them. */
const LONG = [
  'test/mutants/',
  'test/outbound/knex/postgres',
  'test/docs/examples',
  'test/planted/',
  'test/sim/run/scenario-runs',
  'test/sim/world/',
  'test/durability/',
  'test/cli/',
  'test/outbound/knex/',
  'test/service/health',
  'test/service/one-answer',
  'test/enforcement/',
  'test/bench/',
  'test/web/',
];

export default class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return sorted.sort((a, b) => rankOf(a) - rankOf(b));
  }
}

function rankOf({ moduleId }: TestSpecification): number {
  const rank = LONG.findIndex((part) => moduleId.includes(`/${part}`));
  return rank === -1 ? LONG.length : rank;
}
