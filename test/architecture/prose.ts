// The rules of plain English, as far as a pattern can find a breach.
import type { Breach } from './rules.js';
import type { Source } from './sources.js';
import { isSyntaxNode, parse, type SyntaxNode } from './syntax.js';

const LEAST_WORDS = 4;
const INDIRECT_OPENING = /^(What|Whether|Where|Who|How|When|Why|Whom|Whose|As much|As many|So many)\b/;
const FREE_RELATIVE = /\b(what|those (that|who)|whoever|whatever|whom)\b/i;
const SPEECH = /\b(said|told|says|tells|tell|say|heard|hears)\b/i;

const MOST_WORDS = 45_000;
const LONG_SENTENCE_WORDS = 30;
const MOST_LONG_SENTENCES = 0.05;

const SUBJECT = /^[a-z][\w/-]*: [a-z]/;
const LONGEST_SUBJECT = 72;

interface SourceText {
  readonly line: number;
  readonly text: string;
}

/** Each block, and each run of `//` lines, as one line. */
export function commentsOf({ text }: Source): readonly SourceText[] {
  const comments: SourceText[] = [];
  const lines = text.split('\n').map((line) => line.trim());
  for (let at = 0; at < lines.length; at++) {
    const first = at;
    const isBlock = lines[at]?.startsWith('/*');
    if (!isBlock && !lines[at]?.startsWith('//')) continue;
    if (isBlock) while (at + 1 < lines.length && !lines[at]?.includes('*/')) at++;
    else while (lines[at + 1]?.startsWith('//')) at++;
    const parts = lines
      .slice(first, at + 1)
      .map((line) => line.replace(/^\/\/|^\/\*+|\*\/.*$|^\*/g, '').trim());
    comments.push({ line: first + 1, text: parts.filter((part) => part !== '').join(' ') });
  }
  return comments;
}

/** Texts in the code with a space: messages, descriptions and labels. A placeholder counts as one word. */
export function textsOf(source: Source): readonly SourceText[] {
  const texts: SourceText[] = [];
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) for (const each of value) visit(each);
    if (!isSyntaxNode(value)) return;
    const text = wordsOfLiteral(value);
    if (text?.includes(' '))
      texts.push({ line: source.text.slice(0, value.start).split('\n').length, text: text.trim() });
    for (const child of Object.values(value)) visit(child);
  };
  visit(parse(source));
  return texts;
}

function wordsOfLiteral(node: SyntaxNode): string | undefined {
  if (node.type === 'TemplateLiteral' && 'quasis' in node && Array.isArray(node.quasis))
    return node.quasis.map(({ value }: { readonly value: { readonly raw: string } }) => value.raw).join('…');
  const isText = node.type === 'Literal' || node.type === 'JSXText';
  return isText && 'value' in node && typeof node.value === 'string' ? node.value : undefined;
}

export function proseBreaches(source: Source): readonly Breach[] {
  return breachesOf(source, commentsOf(source));
}

export function textBreaches(source: Source): readonly Breach[] {
  return breachesOf(source, textsOf(source));
}

function breachesOf({ path }: Source, texts: readonly SourceText[]): readonly Breach[] {
  return texts.flatMap(({ line, text }) => {
    if (text.split(/\s+/).length < LEAST_WORDS) return [];
    // Names of code are no words.
    const words = text.replaceAll(/`[^`]*`|@param \w+/g, '');
    const reasons = [
      INDIRECT_OPENING.test(text) ? 'begin with the subject' : '',
      FREE_RELATIVE.test(words) ? 'use the noun of the field' : '',
      SPEECH.test(words) ? 'code sends, reports or receives' : '',
    ].filter((reason) => reason !== '');
    return reasons.length === 0 ? [] : [`${path}:${line}: ${reasons.join(', ')}: ${text}`];
  });
}

export function documentBreaches(documents: readonly Source[]): readonly Breach[] {
  const texts = documents.map(({ text }) => text.replaceAll(/```[\s\S]*?```/g, ''));
  const wordsOf = (text: string) => text.split(/\s+/).filter((word) => word !== '').length;
  const words = texts.reduce((sum, text) => sum + wordsOf(text), 0);
  const sentences = texts
    .flatMap((text) => text.replaceAll('\n', ' ').split(/(?<=[.:!?])\s+/))
    .filter((sentence) => wordsOf(sentence) >= LEAST_WORDS);
  const long = sentences.filter((sentence) => wordsOf(sentence) > LONG_SENTENCE_WORDS);
  const share = long.length / Math.max(1, sentences.length);
  return [
    ...(words > MOST_WORDS ? [`${words} words, ${MOST_WORDS} at most`] : []),
    ...(share > MOST_LONG_SENTENCES
      ? [`${long.length} of ${sentences.length} sentences have over ${LONG_SENTENCE_WORDS} words: ${long[0]}`]
      : []),
  ];
}

export function commitBreaches(subjects: readonly string[]): readonly Breach[] {
  return subjects.filter((subject) => !SUBJECT.test(subject) || subject.length > LONGEST_SUBJECT);
}
