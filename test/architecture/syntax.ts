// Parses a source into a syntax tree, for rules that the text alone cannot check.
import { parseSync } from 'vite';
import type { Source } from './sources.js';

export interface SyntaxNode {
  readonly type: string;
  readonly start: number;
  readonly end: number;
}

/** @throws Error if the file is not valid TypeScript */
export function parse({ path, text }: Source): object {
  const { program, errors } = parseSync(path, text);
  if (errors[0] !== undefined) throw new Error(`${path}: ${errors[0].message}`);
  return program;
}

export function isSyntaxNode(value: unknown): value is SyntaxNode {
  return typeof value === 'object' && value !== null && 'type' in value && 'start' in value && 'end' in value;
}
