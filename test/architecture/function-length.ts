// How long functions are: each file is parsed, and every function, method and arrow is measured.
import type { Source } from './sources.js';
import { isSyntaxNode, parse, type SyntaxNode } from './syntax.js';

export const MOST_LINES = 60;

/** Functions longer than `MOST_LINES`, as `file name`; what has no name is called by what it is assigned to. */
export function longFunctions(sources: readonly Source[]): readonly string[] {
  return sources.flatMap((source) => longBelow(parse(source), source, 'anonymous'));
}

function longBelow(node: unknown, source: Source, name: string): readonly string[] {
  if (typeof node !== 'object' || node === null) return [];
  const ownName = nameOf(node) ?? name;
  const below = Object.values(node).flatMap((child) => longBelow(child, source, ownName));
  return isSyntaxNode(node) && isFunction(node) && linesOf(node, source) > MOST_LINES
    ? [`${source.path} ${ownName}`, ...below]
    : below;
}

function isFunction({ type }: SyntaxNode): boolean {
  return ['FunctionDeclaration', 'FunctionExpression', 'ArrowFunctionExpression'].includes(type);
}

function linesOf({ start, end }: SyntaxNode, { text }: Source): number {
  return text.slice(start, end).split('\n').length;
}

/** The name of a function (`id`), a variable (`id`), a method or a field (`key`). */
function nameOf(node: object): string | undefined {
  const named = ('id' in node && node.id) || ('key' in node && node.key);
  if (typeof named !== 'object' || named === null || !('name' in named)) return undefined;
  return typeof named.name === 'string' ? named.name : undefined;
}
