// Power as text for people: the dashboard's tiles and the service's sentences round alike.

/** kW with one decimal, without its unit, so that columns line up. */
export function kw(value: number): string {
  return value.toFixed(1);
}

export function kwText(value: number): string {
  return `${kw(value)} kW`;
}
