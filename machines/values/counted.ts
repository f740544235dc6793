// A count with its noun, for sentences.

/** `1 connector`, `2 connectors`. `many` is the noun for every count but one. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}
