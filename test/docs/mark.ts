// The mark of a fenced block, from its info string. A block without one is a mistake.

/** Kinds of examples, each with its own check. */
export type Mark =
  /** Run to its end; with `until`, stopped as soon as its output contains that text. */
  | {
      readonly kind: 'run';
      readonly session: string;
      readonly until?: string;
      readonly timeoutSeconds: number;
    }
  /** Started and left running until the session ends; ready when its output contains `until`. */
  | {
      readonly kind: 'start';
      readonly session: string;
      readonly until?: string;
      readonly timeoutSeconds: number;
    }
  /** Written to a file beside the commands. */
  | { readonly kind: 'file'; readonly name: string }
  /** Output of the command before it; with `live`, variable numbers and words are compared by their kind. */
  | { readonly kind: 'response'; readonly live: boolean }
  /** Lines that occur in a file of the tree. */
  | { readonly kind: 'excerpt'; readonly path: string }
  /** Not run, for a reason. */
  | { readonly kind: 'shown'; readonly reason: string };

export const UNMARKED = 'say what it is: run, start, file=NAME, response, excerpt=PATH or shown: REASON';

const USUAL_TIMEOUT_SECONDS = 30;
const WORD = /([a-z]+)(?:=(?:"([^"]*)"|(\S+)))?/g;

/**
 * The mark in `info`, the text after the language in a fence's info string.
 * @throws Error that names a missing or unknown part
 */
export function parseMark(info: string): Mark {
  const shown = /^shown:\s*(.*)$/.exec(info);
  if (shown !== null) {
    const reason = shown[1] ?? '';
    if (reason === '') throw new Error('shown: needs its reason');
    return { kind: 'shown', reason };
  }
  const words = [...info.matchAll(WORD)].map(([, word = '', quoted, plain]) => ({
    word,
    value: quoted ?? plain,
  }));
  const leftOver = info.replaceAll(WORD, '').trim();
  const [first, ...options] = words;
  if (first === undefined || leftOver !== '') throw new Error(UNMARKED);
  return markOf(first.word, first.value, new Map(options.map(({ word, value }) => [word, value])));
}

function markOf(word: string, value: string | undefined, options: Map<string, string | undefined>): Mark {
  const known: Readonly<Record<string, readonly string[]>> = {
    run: ['until', 'timeout'],
    start: ['until', 'timeout'],
    response: ['live'],
    file: [],
    excerpt: [],
  };
  const strange = [...options.keys()].find((option) => known[word]?.includes(option) !== true);
  if (known[word] === undefined || strange !== undefined) throw new Error(UNMARKED);
  const isNamed = word === 'file' || word === 'excerpt';
  if ((isNamed && value === undefined) || (word === 'response' && value !== undefined))
    throw new Error(UNMARKED);
  if (word === 'response') return { kind: 'response', live: options.has('live') };
  if (isNamed && value !== undefined) {
    return word === 'file' ? { kind: 'file', name: value } : { kind: 'excerpt', path: value };
  }
  const until = options.get('until');
  return {
    kind: word === 'start' ? 'start' : 'run',
    session: value ?? '',
    ...(until === undefined ? {} : { until }),
    timeoutSeconds: Number(options.get('timeout') ?? USUAL_TIMEOUT_SECONDS),
  };
}
