// The order of test files: what takes long begins first, so that at the end no processor waits for the other.
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Longest first, whether they compute or wait for leases, processes and pages: others compute meanwhile. */
const LONG = [
  'test/docs/examples',
  'test/mutants/survival',
  'test/gateway/ocpp-gateway',
  'test/bench/cluster',
  'test/gateway/csms-proxy',
  'test/planted/',
  'test/cli/sim-run',
  'test/outbound/knex/postgres',
  'test/durability/',
  'test/sim/run/scenario-runs',
  'test/sim/world/',
  'test/cli/',
  'test/web/',
  'test/sim/enforced-site',
  'test/mutants/',
  'test/sim/recording/recording',
  'test/sim/report/report-page',
  'test/sim/entry',
  'test/outbound/knex/',
  'test/machines/fused-site',
  'test/machines/location-supervisor',
  'test/service/tenant-isolation',
  'test/service/health',
  'test/service/standby',
  'test/service/one-answer',
  'test/docs/sample-charger',
  'test/docs/references',
  'test/sim/checks/',
  'test/sim/run/',
  'test/enforcement/',
  'test/bench/',
  'test/gateway/',
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
