// A mistake of the person at the terminal, as every part tells it; in a file that loads nothing, for commands that do little.

/** A mistake in what was asked for or written into a file; its message names it and the way out. */
export class OperatorError extends Error {
  /** Whether the message is lines that begin with the file they are about, where editors look for it. */
  readonly beginsWithFile: boolean = false;
}
