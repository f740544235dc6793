// Reads a provisioning file and tells everything that is wrong with it at once, each with its line and field.
import { closest, distance } from 'fastest-levenshtein';
import { type Document, isAlias, isMap, isNode, isScalar, isSeq, LineCounter, parseDocument } from 'yaml';
import { z } from 'zod';
import { crossCheck, type FieldPath, type FieldProblem, formatPath } from './cross-checks.js';
import { type ProvisioningFile, provisioningSchema } from './provisioning-schema.js';

/** A file that cannot be used; `problems` are lines `file:line:column field.path: what is wrong, what it must be`. */
export class ProvisioningFileError extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join('\n'));
    this.name = 'ProvisioningFileError';
    this.problems = problems;
  }
}

const SECRETS: readonly unknown[] = ['key', 'clientSecret', 'mqttPassword'];

/** The names of the fields at `path`, for suggestions. */
function fieldsAt(schema: z.ZodType, path: FieldPath): readonly string[] {
  if (schema instanceof z.ZodDefault || schema instanceof z.ZodOptional) {
    return fieldsAt(schema.unwrap() as z.ZodType, path);
  }
  const [step, ...rest] = path;
  if (schema instanceof z.ZodArray) return fieldsAt(schema.element as z.ZodType, rest);
  if (!(schema instanceof z.ZodObject)) return [];
  if (step === undefined) return Object.keys(schema.shape);
  const next: unknown = schema.shape[step];
  return next instanceof z.ZodType ? fieldsAt(next, rest) : [];
}

function unknownField(key: string, path: FieldPath): FieldProblem {
  const known = fieldsAt(provisioningSchema, path);
  const near = closest(key, known);
  const likely = distance(key.toLowerCase(), near.toLowerCase()) <= Math.max(2, key.length / 3);
  const advice = likely ? `did you mean "${near}"?` : `must be one of ${known.join(', ')}`;
  return { path: [...path, key], message: `is not a field known here; ${advice}` };
}

function describeValue(value: unknown, path: FieldPath): string {
  if (value === undefined) return 'is missing';
  if (value === null) return 'is empty';
  if (SECRETS.includes(path.at(-1))) return 'is not usable';
  if (typeof value === 'object') return Array.isArray(value) ? 'is a list' : 'is a group of fields';
  return `is ${JSON.stringify(value)}`;
}

function valueAt(root: unknown, path: FieldPath): unknown {
  return path.reduce<unknown>(
    (value, step) => (typeof value === 'object' && value !== null ? Reflect.get(value, step) : undefined),
    root,
  );
}

function shapeProblems(issue: z.core.$ZodIssue, root: unknown): readonly FieldProblem[] {
  const path = issue.path.filter((step) => typeof step !== 'symbol');
  if (issue.code === 'unrecognized_keys') return issue.keys.map((key) => unknownField(key, path));
  const value = valueAt(root, path);
  const secret = SECRETS.includes(path.at(-1));
  const wantsText = typeof value === 'number' && issue.message.startsWith('must be text');
  const advice = wantsText ? `; write it in quotes${secret ? '' : `: "${value}"`}` : '';
  return [{ path, message: `${describeValue(value, path)}; ${issue.message}${advice}` }];
}

function startOf(node: unknown): number | undefined {
  return isNode(node) ? node.range?.[0] : undefined;
}

/** Offset of the key or list element at `path`, or of the nearest thing around it that exists. */
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

/** The document as plain data; an alias that leads nowhere, or to too much, is told like any other problem. */
function plainData(document: Document, fileName: string): unknown {
  try {
    return document.toJS();
  } catch (error) {
    throw new ProvisioningFileError([`${fileName} YAML: ${error instanceof Error ? error.message : error}`]);
  }
}

/**
 * The file's content, valid and with defaults filled in.
 * @param text YAML 1.2.
 * @param fileName how errors name the file.
 * @throws ProvisioningFileError with every problem, in the order of the file.
 */
export function parseProvisioning(text: string, fileName: string): ProvisioningFile {
  const lineCounter = new LineCounter();
  const document = parseDocument(text, { lineCounter, prettyErrors: false });
  const place = (offset: number): string => {
    const { line, col } = lineCounter.linePos(offset);
    return `${fileName}:${Math.max(line, 1)}:${Math.max(col, 1)}`;
  };
  if (document.errors.length > 0) {
    throw new ProvisioningFileError(document.errors.map((e) => `${place(e.pos[0])} YAML: ${e.message}`));
  }
  const content = plainData(document, fileName);
  const parsed = provisioningSchema.safeParse(content);
  const found = [
    ...(parsed.error?.issues.flatMap((issue) => shapeProblems(issue, content)) ?? []),
    ...crossCheck(content),
  ].map((problem) => ({ ...problem, offset: offsetOf(document, problem.path) }));
  if (parsed.success && found.length === 0) return parsed.data;
  found.sort((a, b) => a.offset - b.offset);
  throw new ProvisioningFileError(
    found.map(({ offset, path, message }) => `${place(offset)} ${formatPath(path) || 'file'}: ${message}`),
  );
}
