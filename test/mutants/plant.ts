// A setup file for the tests of a process. It plants the mutant that `HEADROOM_MUTANT` names, once for all test files.
import { MACHINES, mutantsOf } from './mutants.js';

const PLANTED = Symbol.for('headroom mutant');

if (!Reflect.has(globalThis, PLANTED)) {
  const name = process.env.HEADROOM_MUTANT;
  const mutant = [...MACHINES.values()].flatMap(mutantsOf).find((each) => each.name === name);
  if (mutant === undefined) throw new Error(`no mutant is called ${name}`);
  mutant.plant();
  Reflect.set(globalThis, PLANTED, name);
}
