// Converts instants from and to their form on the wire. It is separate from the schemas, which
// commands that only print an instant need not load.

/** UTC, milliseconds, `Z`, as in the contract. */
export function toInstant(epochMs: number): string {
  return new Date(epochMs).toISOString();
}

/** Epoch milliseconds of an instant that passed `instantSchema`; a finer fraction is cut. */
export function fromInstant(text: string): number {
  return Date.parse(text.toUpperCase());
}
