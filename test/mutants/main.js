// `npm run mutants` runs the tests with one part of a machine missing, for every part in turn. Prints the test that
// fails, and the score of each machine.
import { runnerImport } from 'vite';
import { startVitest } from 'vitest/node';

const SESSIONS = ['test/machines/charger-session', 'test/machines/session-taken-up', 'test/machines/lease-'];
/** Tests likely to notice, quickest first. They run before the rest of FOLDERS. */
const NEAREST = {
  chargePoint: SESSIONS,
  cluster: [
    'test/service/enforced-limit',
    'test/service/clusters',
    'test/service/operator-live',
    'test/enforcement/clusters',
  ],
  connector: [
    'test/service/connector-schedules',
    'test/service/cancelled-profiles',
    'test/enforcement/throttle',
    'test/enforcement/simple-chargers',
    'test/service/operator-live',
    'test/service/live-status',
  ],
  overload: ['test/enforcement/overload'],
  lease: SESSIONS,
  location: [
    'test/service/location-limits',
    'test/service/enforced-limit',
    'test/service/operator-stream',
    'test/service/operator-limit',
    'test/service/site-meter',
    'test/service/peak-shaving',
    'test/service/cancelled-profiles',
  ],
  lpc: ['test/service/operator-limit', 'test/enforcement/limit-holds'],
  organization: ['test/service/organization-limits', 'test/service/cancelled-profiles', 'test/service/time'],
  profile: ['test/service/location-limits', 'test/service/time'],
  siteMeter: ['test/service/site-meter', 'test/service/peak-shaving'],
};
/** Tests of the service from outside, or of its actors together, that start no process of their own. */
const FOLDERS = ['test/actors/', 'test/service/', 'test/enforcement/'];
/** The tests in `FOLDERS` have no session of a charger behind the gateway. */
const SESSION_REST = ['test/machines/session-safety'];

/**
 * @param {string} mutant
 * @param {string[]} files
 * @returns {Promise<string | undefined>} the first test that fails, and its file
 */
async function whoNotices(mutant, files) {
  const vitest = await startVitest('test', files, {
    config: 'vitest.config.ts',
    watch: false,
    bail: 1,
    reporters: [{}],
    globalSetup: [],
    setupFiles: ['test/mutants/plant.ts'],
    exclude: ['test/mutants/**', 'test/service/postgres.test.ts', 'test/enforcement/killed.test.ts'],
    env: { HEADROOM_MUTANT: mutant },
  });
  const modules = vitest.state.getTestModules();
  await vitest.close();
  // A failed run is the desired result here.
  process.exitCode = 0;
  if (modules.length === 0) throw new Error(`no test file is called ${files.join(' or ')}`);
  for (const module of modules) {
    for (const test of module.children.allTests('failed'))
      return `${module.relativeModuleId} > ${test.fullName}`;
    if (!module.ok() && module.errors().length > 0)
      return `${module.relativeModuleId}: ${module.errors()[0]?.message}`;
  }
  return undefined;
}

const wanted = process.argv.slice(2);
/** @type {{ module: typeof import('./traces.js') }} */
const { module } = await runnerImport('./test/mutants/traces.ts');
const traces = new module.ScenarioTraces();
const chosen = module
  .allMutants()
  .filter(({ name }) => wanted.length === 0 || wanted.some((part) => name.includes(part)));
if (chosen.length === 0) throw new Error(`no mutant's name contains ${wanted.join(' or ')}`);

const survivors = [];
/** Mutants that change no trace. */
const untraced = [];
/** @type {Map<string, { killed: number, of: number }>} */
const scores = new Map();
for (const mutant of chosen) {
  const { name, machine } = mutant;
  const sinceMs = performance.now();
  const witness =
    (await whoNotices(name, NEAREST[machine] ?? FOLDERS)) ??
    (await whoNotices(name, NEAREST[machine] === SESSIONS ? SESSION_REST : FOLDERS));
  if (witness === undefined) survivors.push(name);
  const isTraced = !module.NEVER_TRACED.has(machine);
  const change = isTraced ? await traces.firstChangedBy(mutant) : undefined;
  if (isTraced && change === undefined) untraced.push(name);
  const trace = change === undefined ? 'no trace changes' : `it changes ${change}`;
  const seconds = ((performance.now() - sinceMs) / 1000).toFixed(0);
  console.log(`${name}\n    ${witness ?? 'SURVIVES'}; ${trace} (${seconds} s)`);
  const { killed, of } = scores.get(machine) ?? { killed: 0, of: 0 };
  const isKilled = witness !== undefined && (!isTraced || change !== undefined);
  scores.set(machine, { killed: killed + Number(isKilled), of: of + 1 });
}
console.log();
for (const [machine, { killed, of }] of scores) console.log(`${machine}: ${killed} of ${of} mutants killed.`);
console.log(`${untraced.length} of ${chosen.length} mutants change no trace.`);
for (const name of untraced) console.log(`  no trace changes: ${name}`);
console.log(`${survivors.length} of ${chosen.length} mutants survive all tests.`);
for (const name of survivors) console.log(`  survives: ${name}`);
process.exit(survivors.length + untraced.length > 0 ? 1 : 0);
