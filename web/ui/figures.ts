// How figures are written: the same number of decimals everywhere, so that columns line up.

/** kW with one decimal, without its unit. */
export function kw(value: number): string {
  return value.toFixed(1);
}

/** kW with its unit. */
export function kwText(value: number): string {
  return `${kw(value)} kW`;
}
