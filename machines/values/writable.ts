// Write access behind a view: a ledger hands out entries to read, and only the ledger writes them.

/** `T` with writable fields. The contents of its lists stay read-only. */
export type Writable<T> = { -readonly [K in keyof T]: T[K] };
