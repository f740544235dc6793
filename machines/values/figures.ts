// Power as people read it: the tiles of the dashboard and the sentences of the service round alike.

/** kW with one decimal, without its unit, so that columns line up. */
export function kw(value: number): string {
  return value.toFixed(1);
}

/** kW with its unit. */
export function kwText(value: number): string {
  return `${kw(value)} kW`;
}
