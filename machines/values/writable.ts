// The writing side of a view: a ledger hands out entries to read, and alone writes them.

/** `T` with fields that can be written. Of its lists the contents still cannot. */
export type Writable<T> = { -readonly [K in keyof T]: T[K] };
