// Loaded before everything else (`node --import …/register.js?NAME`): from then on the file of that bug loads with it inside.
import { register } from 'node:module';
import { PLANTS } from './plants.js';

const name = decodeURIComponent(new URL(import.meta.url).search.slice(1));
const plant = PLANTS.find((each) => each.name === name);
if (plant === undefined) throw new Error(`no bug is called ${name}`);
register('./load-planted.js', import.meta.url, { data: plant });
