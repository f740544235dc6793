// Finds values of a raw document with their path, for checks across fields.

export type FieldPath = readonly (string | number)[];

/** One error with its path in the document. */
export interface FieldProblem {
  readonly path: FieldPath;
  readonly message: string;
}

export interface Found {
  readonly path: FieldPath;
  readonly value: unknown;
}

/** Every value at `pattern` below `root`; `*` stands for each element of a list. */
export function collect(root: Found, pattern: readonly string[]): readonly Found[] {
  const [step, ...rest] = pattern;
  if (step === undefined) return [root];
  const { value, path } = root;
  if (step === '*') {
    if (!Array.isArray(value)) return [];
    return value.flatMap((element: unknown, i) => collect({ path: [...path, i], value: element }, rest));
  }
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return [];
  return collect({ path: [...path, step], value: Reflect.get(value, step) }, rest);
}
