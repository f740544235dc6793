// A module loader hook that replaces one exact piece of text in one compiled file, and nothing where it is not found once.

/** @type {import('./plants.js').Plant} */
let plant;

/** @param {import('./plants.js').Plant} data */
export function initialize(data) {
  plant = data;
}

/** @type {import('node:module').LoadHook} */
export async function load(url, context, nextLoad) {
  const loaded = await nextLoad(url, context);
  if (!url.endsWith(`/dist/${plant.file}`)) return loaded;
  const source = String(loaded.source);
  const parts = source.split(plant.text);
  if (parts.length !== 2)
    throw new Error(`${plant.name}: its text stands ${parts.length - 1} times in ${plant.file}, not once`);
  return { ...loaded, source: parts.join(plant.bug) };
}
