// Error texts for invalid values: the rule, and the kind of the value that came instead.
import type { z } from 'zod';
import { DomainError } from '../../machines/values/errors.js';

/** The part of a zod issue that these functions use. */
interface Issue {
  readonly input?: unknown;
}

/** For a zod schema: one sentence for every way to fail. The argument follows "must be". */
export function mustBe(what: string): { readonly error: (issue: Issue) => string } {
  return {
    error: ({ input }) =>
      input === undefined ? `required: must be ${what}` : `must be ${what}${insteadOf(input, what)}`,
  };
}

/** The same for text in a certain form. Its sender has the text, so the message does not repeat it. */
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

function insteadOf(value: unknown, rule: string): string {
  if (typeof value === 'string') return ', not text';
  if (Array.isArray(value)) return rule.startsWith('a list') ? `, not of ${value.length}` : ', not a list';
  if (typeof value === 'object' && value !== null) return ', not a group of fields';
  return `, not ${String(value)}`;
}

const NOUNS: Readonly<Record<string, string>> = {
  object: 'a group of fields: { … }',
  record: 'a group of fields: { … }',
  string: 'text',
  array: 'a list',
  tuple: 'a list',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
};

/**
 * The rule of an issue, for `safeParse(value, { error: plainRule })`. It applies if the schema has no text of its own.
 */
export const plainRule: z.core.$ZodErrorMap = (issue) => {
  const rule = ruleOf(issue);
  if (rule === undefined) return undefined;
  const isOfTexts = issue.code === 'invalid_value' && typeof issue.values[0] === 'string';
  return (isOfTexts ? mustBeText(rule) : mustBe(rule)).error(issue);
};

/** As `plainRule`, for a reader who gets the value beside the rule. */
export const plainRuleAlone: z.core.$ZodErrorMap = (issue) => {
  const rule = ruleOf(issue);
  return rule === undefined ? undefined : `must be ${rule}`;
};

function ruleOf(issue: z.core.$ZodRawIssue): string | undefined {
  switch (issue.code) {
    case 'invalid_type':
      return NOUNS[issue.expected] ?? issue.expected;
    case 'too_small':
      return boundOf(issue.origin, issue.inclusive === false ? 'more than' : 'at least', issue.minimum);
    case 'too_big':
      return boundOf(issue.origin, issue.inclusive === false ? 'less than' : 'at most', issue.maximum);
    case 'invalid_value':
      return issue.values.length === 1 ? String(issue.values[0]) : `one of ${issue.values.join(', ')}`;
    case 'not_multiple_of':
      return `a multiple of ${issue.divisor}`;
    case 'invalid_format':
      return `text in the form ${issue.pattern ?? issue.format}`;
    case 'invalid_union':
      return 'in one of the forms that this field has';
    default:
      return undefined;
  }
}

function boundOf(origin: string, side: string, bound: number | bigint): string {
  if (origin === 'string') return `text of ${side} ${bound} characters`;
  return origin === 'array' || origin === 'set' ? `a list of ${side} ${bound}` : `${side} ${bound}`;
}
