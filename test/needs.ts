// Requirements of tests that a machine may lack: such a test is skipped, and the end of the run names the reason.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import type { TestOptions } from 'vitest';

declare module 'vitest' {
  interface TaskMeta {
    /** Requirements of the skipped test that this machine lacks. */
    missing?: string;
  }
}

/** Options for `describe` or `it`: skipped if one of `missing` is defined. `missingPrograms` returns such a name. */
export function needing(...missing: readonly (string | undefined)[]): TestOptions {
  const named = missing.filter((name) => name !== undefined);
  return named.length === 0 ? {} : { skip: true, meta: { missing: named.join(', ') } };
}

/** The missing ones of `programs`, or undefined if all are installed. */
export function missingPrograms(...programs: readonly string[]): string | undefined {
  // Any exit code will do: only a missing program cannot be started.
  const missing = programs.filter((program) => spawnSync(program, ['--version']).error !== undefined);
  return missing.length === 0 ? undefined : missing.join(', ');
}

/** `path` if it is missing, or undefined. */
export function missingFile(path: string): string | undefined {
  return existsSync(path) ? undefined : path;
}
