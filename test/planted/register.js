// Loaded first (`node --import …/register.js?NAME`). From then on the process has the named bug. Without a name, it has
// the current bug of `globalThis.plantedBug`.
import { register } from 'node:module';
import { PLANTS } from './plants.js';

const name = decodeURIComponent(new URL(import.meta.url).search.slice(1));
if (name !== '' && !PLANTS.some((each) => each.name === name)) throw new Error(`no bug is called ${name}`);
Object.assign(globalThis, { plantedBug: name });
register('./load-planted.js', import.meta.url);
