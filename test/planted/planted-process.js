// The process with the bugs. It runs an hour or a scenario with the ordered bug and reports the broken invariants.
import { readFileSync } from 'node:fs';

// The compiled files, because the bugs are planted into these.
const DIST = new URL('../../dist/', import.meta.url);
const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;

/** @type {typeof import('../../sim/world/hostile-hours.js')} */
const { runHostileHours } = await import(new URL('sim/world/hostile-hours.js', DIST).href);
/** @type {typeof import('../../sim/run/run-scenario.js')} */
const { runScenario } = await import(new URL('sim/run/run-scenario.js', DIST).href);
/** @type {typeof import('../../sim/scenario/parse-scenario.js')} */
const { parseScenario } = await import(new URL('sim/scenario/parse-scenario.js', DIST).href);
/** @type {typeof import('../../sim/world/world-folder.js')} */
const { removeWorldFolders } = await import(new URL('sim/world/world-folder.js', DIST).href);

// A bug may break the end of its world, too.
process.once('exit', removeWorldFolders);
process.once('SIGTERM', () => process.exit());

/**
 * @typedef {object} Order
 * @property {string} name of a bug, or empty for none
 * @property {number} seed
 * @property {number} [nodes]
 * @property {boolean} [sharded]
 * @property {boolean} [ocpp]
 * @property {string} [scenario]
 * @property {number} [minutes]
 */

/** @param {Order} order */
async function violationsOf({ seed, nodes, sharded = false, ocpp = false, scenario, minutes = 60 }) {
  if (scenario === undefined)
    return (
      await runHostileHours({
        seed,
        chargers: 2,
        durationMs: HOUR_MS,
        isFirstEnough: true,
        speaksOcpp: ocpp,
        ...(nodes === undefined ? {} : { nodes, isSharded: sharded }),
      })
    ).violations;
  const path = new URL(`../../scenarios/${scenario}`, import.meta.url);
  const played = parseScenario(readFileSync(path, 'utf8'), scenario, {
    seed,
    durationMs: minutes * MINUTE_MS,
  });
  return (await runScenario(played)).violations;
}

process.on('message', async (/** @type {Order} */ order) => {
  Object.assign(globalThis, { plantedBug: order.name });
  try {
    const violations = await violationsOf(order);
    process.send?.(violations.map(({ invariant }) => invariant));
  } catch (error) {
    process.send?.([`it threw ${error}`]);
  }
});
