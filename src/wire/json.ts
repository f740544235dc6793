// The JSON of every answer and event: no number in it has more than nine decimals, so sums of kW show no binary noise.

const DECIMALS = 9;
const HAS_MORE = new RegExp(`\\.\\d{${DECIMALS + 1}}|\\de-`);

/** `value` as JSON. Few answers hold a number with more decimals, so the text is searched first and made again only then. */
export function toJson(value: object): string {
  const text = JSON.stringify(value);
  return HAS_MORE.test(text) ? JSON.stringify(value, (_name, held: unknown) => rounded(held)) : text;
}

function rounded(held: unknown): unknown {
  return typeof held === 'number' && !Number.isInteger(held) ? Number(held.toFixed(DECIMALS)) : held;
}
