// Finding of a check of `headroom doctor`: one line, with a remedy if there is a problem.

export type Status = 'ok' | 'warn' | 'fail';

export interface Finding {
  readonly status: Status;
  readonly message: string;
  /** Remedy; absent if none is needed. */
  readonly wayOut?: string;
}

export function ok(message: string): Finding {
  return { status: 'ok', message };
}

export function warn(message: string, wayOut: string): Finding {
  return { status: 'warn', message, wayOut };
}

export function fail(message: string, wayOut: string): Finding {
  return { status: 'fail', message, wayOut };
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
