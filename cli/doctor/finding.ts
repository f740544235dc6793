// What a check of `headroom doctor` finds: one line, with the way out where all is not well.

export type Status = 'ok' | 'warn' | 'fail';

export interface Finding {
  readonly status: Status;
  readonly message: string;
  /** What to do; left out where nothing needs to be done. */
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
