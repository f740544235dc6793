// A module loader hook that adds the bug of each expression in PLANTS. `globalThis.plantedBug` selects the active bug.
import { PLANTS } from './plants.js';

/** @type {import('node:module').LoadHook} */
export async function load(url, context, nextLoad) {
  const loaded = await nextLoad(url, context);
  const plants = PLANTS.filter(({ file }) => url.endsWith(`/dist/${file}`));
  if (plants.length === 0) return loaded;
  return { ...loaded, source: plants.reduce(withBug, String(loaded.source)) };
}

/**
 * @param {string} source
 * @param {import('./plants.js').Plant} plant
 */
function withBug(source, { name, file, text, bug, within = text }) {
  const chosen = `(globalThis.plantedBug === '${name}' ? (${bug}) : (${text}))`;
  const [before, after, ...others] = source.split(within);
  const parts = within.split(text);
  if (after === undefined || others.length > 0 || parts.length !== 2)
    throw new Error(`${name}: its text does not stand once in ${file}`);
  return `${before}${parts.join(chosen)}${after}`;
}
