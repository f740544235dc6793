// What callers are told of a value that cannot be taken: what it must be, and what came instead.
import { DomainError } from '../../machines/values/errors.js';

/** An issue as zod hands it to an error function. */
interface Issue {
  readonly input?: unknown;
}

/** For a schema of zod: one sentence for every way to fail. `what` follows "must be". */
export function mustBe(what: string): { readonly error: (issue: Issue) => string } {
  return {
    error: ({ input }) =>
      input === undefined ? `required: must be ${what}` : `must be ${what}${insteadOf(input)}`,
  };
}

/** The same where it is text that must be written in a certain way: what text came, its sender knows. */
export function mustBeText(what: string): { readonly error: (issue: Issue) => string } {
  const { error } = mustBe(what);
  return { error: (issue) => (typeof issue.input === 'string' ? `must be ${what}` : error(issue)) };
}

/** Refuses a parameter of the query; `rule` follows its name, as in "must be after from". */
export function wrongParameter(name: string, rule: string): DomainError {
  return new DomainError('INVALID_REQUEST_BODY', parameterMessage(name, rule));
}

/** The code of these errors names the body, so the message names the query. */
export function parameterMessage(name: string, rule: string): string {
  return `${name}: ${rule} (query parameter)`;
}

function insteadOf(value: unknown): string {
  if (typeof value === 'string') return ', not text';
  if (Array.isArray(value)) return ', not a list';
  if (typeof value === 'object' && value !== null) return ', not a group of fields';
  return `, not ${String(value)}`;
}
