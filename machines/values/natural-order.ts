// Order of ids and names in lists: numbers inside a text sort by value, so quay-2 comes before quay-10.

// The locale is fixed: a page of a list ends at an id, and each node must find the same ids after that one.
const collator = new Intl.Collator('en', { numeric: true });

/** For `sort`. Only equal texts are 0: if the collation finds no difference (`a-2`, `a-02`), the code units decide. */
export function compareNaturally(a: string, b: string): number {
  return collator.compare(a, b) || (a < b ? -1 : Number(a > b));
}
