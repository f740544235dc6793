// The order of test files: long ones begin first, and files that compute run beside files that wait.
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Files that mostly wait for leases, processes, databases and pages. Longest first. */
const WAITING = [
  'test/docs/examples',
  'test/bench/cluster',
  'test/gateway/ocpp-gateway',
  'test/gateway/csms-proxy',
  'test/outbound/knex/postgres',
  'test/durability/',
  'test/service/sharded',
  'test/cli/demo',
  'test/sim/log/recording.test',
  'test/sim/enforced-site',
  'test/cli/serve',
  'test/web/',
  'test/cli/',
  'test/sim/report/report-page',
  'test/outbound/knex/',
  'test/service/health',
  'test/service/standby',
  'test/docs/',
  'test/gateway/',
  'test/bench/',
];

/** Files that keep a processor busy. Longest first. */
const COMPUTING = [
  'test/sim/baseline',
  'test/sim/world/nodes',
  'test/sim/run/rehearsal-cells',
  'test/sim/run/scenario-runs',
  'test/sim/world/',
  'test/sim/entry',
  'test/planted/',
  'test/mutants/',
  'test/service/tenant-isolation',
  'test/sim/checks/',
  'test/machines/turns',
  'test/machines/location-supervisor',
  'test/machines/fused-site',
  'test/sim/run/',
  'test/sim/scenario/parse-scenario',
  'test/service/one-answer',
  'test/password-check',
  'test/enforcement/',
];

export default class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const waiting = listed(sorted, WAITING);
    const computing = listed(sorted, COMPUTING);
    const others = sorted.filter((file) => !waiting.includes(file) && !computing.includes(file));
    return [...mixed(waiting, computing), ...others];
  }
}

/** The files whose path has one of `parts`, in the order of `parts`. */
function listed(files: readonly TestSpecification[], parts: readonly string[]): readonly TestSpecification[] {
  const rankOf = ({ moduleId }: TestSpecification) =>
    parts.findIndex((part) => moduleId.includes(`/${part}`));
  return files.filter((file) => rankOf(file) !== -1).sort((a, b) => rankOf(a) - rankOf(b));
}

/** All lists, each in its own order, mixed so that they end together. */
function mixed<T>(...lists: readonly (readonly T[])[]): readonly T[] {
  return lists
    .flatMap((list) => list.map((item, i) => ({ item, share: i / list.length })))
    .sort((a, b) => a.share - b.share)
    .map(({ item }) => item);
}
