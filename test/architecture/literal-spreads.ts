// Finds spreads of a literal object. `{ ...{ a, b } }` equals `{ a, b }` and saves a line at most.
import type { Source } from './sources.js';
import { isSyntaxNode, parse } from './syntax.js';

/** A text search first is much cheaper than parsing all files. */
const MAY_HAVE_ONE = /\.\.\.[\s(]*\{/;

/** Lists each spread of a literal object, as `file:line`. */
export function literalSpreads(sources: readonly Source[]): readonly string[] {
  return sources
    .filter(({ text }) => MAY_HAVE_ONE.test(text))
    .flatMap((source) => spreadsBelow(parse(source), source));
}

function spreadsBelow(node: unknown, source: Source): readonly string[] {
  if (typeof node !== 'object' || node === null) return [];
  const below = Object.values(node).flatMap((child) => spreadsBelow(child, source));
  if (!isSyntaxNode(node) || !isLiteralSpread(node)) return below;
  return [`${source.path}:${source.text.slice(0, node.start).split('\n').length}`, ...below];
}

function isLiteralSpread(node: object): boolean {
  if (!('type' in node) || !('argument' in node) || !isSyntaxNode(node.argument)) return false;
  return (
    ['SpreadElement', 'JSXSpreadAttribute'].includes(String(node.type)) &&
    node.argument.type === 'ObjectExpression'
  );
}
