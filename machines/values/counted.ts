// How many of something there are, as a sentence says it.

/** `1 connector`, `2 connectors`; `many` is how more than one, or none, are called. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}
