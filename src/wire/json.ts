// JSON of all answers and events. No number has more than nine decimals, so sums of kW show no binary noise.

const DECIMALS = 9;
const HAS_MORE = new RegExp(`\\.\\d{${DECIMALS + 1}}|\\de-`);

/** Few answers have a number with more decimals. So the text is searched first, and built again only then. */
export function toJson(value: object): string {
  const text = JSON.stringify(value);
  return HAS_MORE.test(text) ? JSON.stringify(value, (_name, held: unknown) => rounded(held)) : text;
}

function rounded(held: unknown): unknown {
  return typeof held === 'number' && !Number.isInteger(held) ? Number(held.toFixed(DECIMALS)) : held;
}
