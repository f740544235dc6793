// Collects the messages about a provisioning file as the lines that an operator reads.
import { expect } from 'vitest';
import { parseProvisioning } from '../../src/provisioning/parse-provisioning.js';
import { UnusableFileError } from '../../src/provisioning/parse-yaml.js';

/** All problems of the file, as file `site.yaml`. Empty if the file is usable. */
export function problemsOf(text: string): readonly string[] {
  try {
    parseProvisioning(text, 'site.yaml');
  } catch (error) {
    if (error instanceof UnusableFileError) return error.problems;
    throw error;
  }
  return [];
}

/** Expects exactly one line with `message` after `from` is replaced by `to`. */
export function expectRefused(text: string, from: string, to: string, message: string): void {
  expect(text).toContain(from);
  const problems = problemsOf(text.replace(from, to));
  expect(problems.filter((line) => line.includes(message))).toHaveLength(1);
}
