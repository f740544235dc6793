// Loaded before everything else (`node --import …/register.js?NAME`): from then on the process has that bug; without a name,
// the one that `globalThis.plantedBug` names at the time.
import { register } from 'node:module';
import { PLANTS } from './plants.js';

const name = decodeURIComponent(new URL(import.meta.url).search.slice(1));
if (name !== '' && !PLANTS.some((each) => each.name === name)) throw new Error(`no bug is called ${name}`);
Object.assign(globalThis, { plantedBug: name });
register('./load-planted.js', import.meta.url);
