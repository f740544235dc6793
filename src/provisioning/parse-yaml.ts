// Parses a YAML file by a zod schema. It reports all errors at once, each with its line and field.

import { closest, distance } from 'fastest-levenshtein';
import {
  type Document,
  isAlias,
  isMap,
  isNode,
  isScalar,
  isSeq,
  LineCounter,
  parseDocument,
  visit,
  YAMLParseError,
} from 'yaml';
import { z } from 'zod';
import { OperatorError } from '../ports/operator-error.js';
import { plainRuleAlone } from '../wire/plain-errors.js';
import { type FieldPath, type FieldProblem, formatPath } from './cross-checks.js';
import { quote } from './quote.js';

/** A file that cannot be used; `problems` are lines `file:line:column field.path: error, rule`. */
export class UnusableFileError extends OperatorError {
  override readonly beginsWithFile = true;
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join('\n'));
    this.name = 'UnusableFileError';
    this.problems = problems;
  }
}

/** Rules for a kind of file. */
export interface YamlShape<S extends z.ZodType> {
  readonly schema: S;
  /** Checks across fields of the raw document, which may have any shape. */
  readonly crossCheck?: (content: unknown) => readonly FieldProblem[];
  /** Checks across fields of a document whose every field is valid by itself. */
  readonly check?: (data: z.output<S>) => readonly FieldProblem[];
  /** Fields whose values are never shown. */
  readonly secrets: readonly string[];
}

export interface YamlContent<T> {
  readonly data: T;
  /** `file:line:column` of a field, for errors that are found later. */
  place(path: FieldPath): string;
}

/** Most problems in one report; the rest follows after these are fixed. */
const MOST_PROBLEMS = 100;

/** Ten times the size for 10,000 connectors, one on each line. */
const LONGEST_TEXT = 16_000_000;

/** The options of a union that match the discriminator of `value`. */
function optionsOf(schema: z.ZodDiscriminatedUnion, value: unknown): readonly z.ZodType[] {
  const options = schema.options as readonly z.ZodObject[];
  const { discriminator } = schema.def;
  const means = valueAt(value, [discriminator]);
  return options.filter(({ shape }) => (shape[discriminator] as z.ZodType).safeParse(means).success);
}

/** The names of the fields at `path`, for suggestions. */
function fieldsAt(schema: z.ZodType, path: FieldPath, value: unknown): readonly string[] {
  if (schema instanceof z.ZodDefault || schema instanceof z.ZodOptional) {
    return fieldsAt(schema.unwrap() as z.ZodType, path, value);
  }
  if (schema instanceof z.ZodPipe) {
    const written = schema.in instanceof z.ZodTransform ? schema.out : schema.in;
    return fieldsAt(written as z.ZodType, path, value);
  }
  if (schema instanceof z.ZodDiscriminatedUnion) {
    return optionsOf(schema, value).flatMap((option) => fieldsAt(option, path, value));
  }
  const [step, ...rest] = path;
  const below = step === undefined ? undefined : valueAt(value, [step]);
  if (schema instanceof z.ZodArray) return fieldsAt(schema.element as z.ZodType, rest, below);
  if (!(schema instanceof z.ZodObject)) return [];
  if (step === undefined) return Object.keys(schema.shape);
  const next: unknown = schema.shape[step];
  return next instanceof z.ZodType ? fieldsAt(next, rest, below) : [];
}

/** `did you mean …`, or a list of all names. */
export function suggest(text: string, known: readonly string[]): string {
  if (known.length === 0) return 'there is none';
  const near = closest(text, known);
  const isLikely = distance(text.toLowerCase(), near.toLowerCase()) <= Math.max(2, text.length / 3);
  return isLikely ? `did you mean "${near}"?` : `must be one of ${known.join(', ')}`;
}

function describeValue(value: unknown, isSecret: boolean): string {
  if (value === undefined) return 'is missing';
  if (value === null) return 'is empty';
  if (isSecret) return 'is not usable';
  if (typeof value === 'object') return Array.isArray(value) ? 'is a list' : 'is a group of fields';
  return `is ${typeof value === 'string' ? quote(value) : String(value)}`;
}

function valueAt(root: unknown, path: FieldPath): unknown {
  return path.reduce<unknown>(
    (value, step) =>
      typeof value === 'object' && value !== null && Object.hasOwn(value, step)
        ? Reflect.get(value, step)
        : undefined,
    root,
  );
}

function shapeProblems<S extends z.ZodType>(
  issue: z.core.$ZodIssue,
  root: unknown,
  { schema, secrets }: YamlShape<S>,
): readonly FieldProblem[] {
  const path = issue.path.filter((step) => typeof step !== 'symbol');
  if (issue.code === 'unrecognized_keys') {
    const known = fieldsAt(schema, path, root);
    return issue.keys.slice(0, MOST_PROBLEMS).map((key) => ({
      path: [...path, key],
      message: `is not a field known here; ${suggest(key, known)}`,
    }));
  }
  const value = valueAt(root, path);
  const isSecret = secrets.some((name) => name === path.at(-1));
  const wantsText = typeof value === 'number' && issue.message.startsWith('must be text');
  const advice = wantsText ? `; write it in quotes${isSecret ? '' : `: "${value}"`}` : '';
  return [{ path, message: `${describeValue(value, isSecret)}; ${issue.message}${advice}` }];
}

function startOf(node: unknown): number | undefined {
  return isNode(node) ? node.range?.[0] : undefined;
}

/** Offset of the key or list element at `path`, or of the nearest existing one around it. */
function offsetOf(document: Document, path: FieldPath): number {
  let node: unknown = document.contents;
  let offset = startOf(node) ?? 0;
  for (const step of path) {
    const inside = isAlias(node) ? node.resolve(document) : node;
    const pair = isMap(inside)
      ? inside.items.find(({ key }) => isScalar(key) && String(key.value) === step)
      : undefined;
    node = isSeq(inside) ? inside.get(step, true) : pair?.value;
    offset = startOf(pair?.key ?? node) ?? offset;
  }
  return offset;
}

/** One message of the parser is meant for programmers. */
function messageOf({ code, message }: YAMLParseError): string {
  return code === 'MULTIPLE_DOCS' ? 'must be one document; another begins here' : message;
}

/** At most as many as one report shows. */
function repeatedKeys(document: Document): readonly YAMLParseError[] {
  const repeated: YAMLParseError[] = [];
  visit(document, {
    Map(_, { items }) {
      const known = new Set<unknown>();
      for (const { key } of items) {
        if (!isScalar(key)) continue;
        if (known.has(key.value)) {
          const [from = 0, to = from] = key.range ?? [];
          repeated.push(new YAMLParseError([from, to], 'DUPLICATE_KEY', 'Map keys must be unique'));
        }
        known.add(key.value);
        if (repeated.length === MOST_PROBLEMS) return visit.BREAK;
      }
      return undefined;
    },
  });
  return repeated;
}

/** The document of `text`. Excessive length or depth is reported like any other problem. */
function documentOf(text: string, fileName: string, lineCounter: LineCounter): Document {
  if (text.length > LONGEST_TEXT) {
    throw new UnusableFileError([`${fileName} YAML: must be at most ${LONGEST_TEXT / 1_000_000} MB`]);
  }
  const odd = text.indexOf('\ufffd');
  if (odd !== -1) {
    const line = text.slice(0, odd).split('\n').length;
    throw new UnusableFileError([`${fileName}:${line}:1 YAML: is not UTF-8; save the file as UTF-8`]);
  }
  const tooDeep = new UnusableFileError([`${fileName} YAML: is nested too deeply`]);
  try {
    // The parser's own check compares each key with all before it.
    const document = parseDocument(text, { lineCounter, prettyErrors: false, uniqueKeys: false });
    // The parser passes on the engine's message.
    if (document.errors.some(({ message }) => message.startsWith('Maximum call stack'))) throw tooDeep;
    if (document.errors.length === 0) document.errors.push(...repeatedKeys(document));
    return document;
  } catch (error) {
    throw error instanceof RangeError ? tooDeep : error;
  }
}

/** The document as plain data. A broken or excessive alias is reported like any other problem. */
function plainData(document: Document, fileName: string): unknown {
  try {
    return document.toJS();
  } catch (error) {
    throw new UnusableFileError([`${fileName} YAML: ${error instanceof Error ? error.message : error}`]);
  }
}

/**
 * The file's content, valid and with defaults filled in.
 * @param text YAML 1.2.
 * @param fileName the name of the file in errors.
 * @throws UnusableFileError with every problem, in the order of the file; a hundred at most.
 */
export function parseYaml<S extends z.ZodType>(
  text: string,
  fileName: string,
  shape: YamlShape<S>,
): YamlContent<z.output<S>> {
  const lineCounter = new LineCounter();
  const document = documentOf(text, fileName, lineCounter);
  const placeAt = (offset: number): string => {
    const { line, col } = lineCounter.linePos(offset);
    return `${fileName}:${Math.max(line, 1)}:${Math.max(col, 1)}`;
  };
  if (document.errors.length > 0) {
    throw new UnusableFileError(
      document.errors.slice(0, MOST_PROBLEMS).map((e) => `${placeAt(e.pos[0])} YAML: ${messageOf(e)}`),
    );
  }
  const content = plainData(document, fileName);
  const parsed = shape.schema.safeParse(content, { error: plainRuleAlone });
  const issues = parsed.error?.issues.slice(0, MOST_PROBLEMS) ?? [];
  const found = [
    ...issues.flatMap((issue) => shapeProblems(issue, content, shape)),
    ...(shape.crossCheck?.(content) ?? []),
    ...(parsed.success ? (shape.check?.(parsed.data) ?? []) : []),
  ]
    .slice(0, MOST_PROBLEMS)
    .map((problem) => ({ ...problem, offset: offsetOf(document, problem.path) }));
  if (parsed.success && found.length === 0) {
    return { data: parsed.data, place: (path) => placeAt(offsetOf(document, path)) };
  }
  found.sort((a, b) => a.offset - b.offset);
  throw new UnusableFileError(
    found.map(({ offset, path, message }) => `${placeAt(offset)} ${formatPath(path) || 'file'}: ${message}`),
  );
}
