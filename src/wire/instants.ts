// How an instant is written on the wire; apart from the shapes, which commands that only print one need not load.

/** An instant as the contract writes it: UTC, milliseconds, `Z`. */
export function toInstant(epochMs: number): string {
  return new Date(epochMs).toISOString();
}

/** Epoch milliseconds of an instant that passed `instantSchema`; a finer fraction is cut. */
export function fromInstant(text: string): number {
  return Date.parse(text.toUpperCase());
}
