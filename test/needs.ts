// What a test needs and a machine may lack: such a test is skipped, and the end of the run says why.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import type { TestOptions } from 'vitest';

declare module 'vitest' {
  interface TaskMeta {
    /** What this machine lacks for a test that is skipped. */
    missing?: string;
  }
}

/** Options for `describe` or `it`: skipped where one of `missing` names something, such as `missingPrograms` does. */
export function needing(...missing: readonly (string | undefined)[]): TestOptions {
  const named = missing.filter((name) => name !== undefined);
  return named.length === 0 ? {} : { skip: true, meta: { missing: named.join(', ') } };
}

/** Those of `programs` that are not installed, or undefined where all are. */
export function missingPrograms(...programs: readonly string[]): string | undefined {
  // Whatever a program says to this: what is not there cannot be started.
  const missing = programs.filter((program) => spawnSync(program, ['--version']).error !== undefined);
  return missing.length === 0 ? undefined : missing.join(', ');
}

/** `path` where it is missing, or undefined. */
export function missingFile(path: string): string | undefined {
  return existsSync(path) ? undefined : path;
}
