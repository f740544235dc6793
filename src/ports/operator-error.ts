// A mistake of the person at the terminal. The file imports nothing, for commands that do little.

/** A mistake in a request or in a file. The message names it and a remedy. */
export class OperatorError extends Error {
  /** The message has lines that begin with the file's name, so that editors can open it. */
  readonly beginsWithFile: boolean = false;
}
