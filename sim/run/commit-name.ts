// Which state of the product a run is of, so that its trace can be told from one of another state.
import { existsSync, readFileSync } from 'node:fs';
import { VERSION } from '../../src/version.js';

const SHOWN_DIGITS = 12;

/** The commit of the checkout this runs in, or the version where there is none. */
export function commitName(): string {
  // From source or, compiled, from dist/.
  const roots = ['../../.git/', '../../../.git/'].map((path) => new URL(path, import.meta.url));
  const root = roots.find((url) => existsSync(new URL('HEAD', url)));
  if (root === undefined) return VERSION;
  const head = readFileSync(new URL('HEAD', root), 'utf8').trim();
  const reference = head.startsWith('ref: ') ? new URL(head.slice('ref: '.length), root) : undefined;
  if (reference === undefined) return head.slice(0, SHOWN_DIGITS);
  return existsSync(reference) ? readFileSync(reference, 'utf8').trim().slice(0, SHOWN_DIGITS) : VERSION;
}
