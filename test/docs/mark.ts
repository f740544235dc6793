// What the info string of a fenced block says that the block is; a block that says nothing is a mistake.

/** How an example is held to what it says. Seconds as the names say. */
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
  /** What the command before it printed; with `live`, numbers and words that change are compared by their kind. */
  | { readonly kind: 'response'; readonly live: boolean }
  /** Lines that stand like this in a file of the tree. */
  | { readonly kind: 'excerpt'; readonly path: string }
  /** Not run, for a reason. */
  | { readonly kind: 'shown'; readonly reason: string };

export const UNMARKED = 'say what it is: run, start, file=NAME, response, excerpt=PATH or shown: REASON';

const USUAL_TIMEOUT_SECONDS = 30;
const WORD = /([a-z]+)(?:=(?:"([^"]*)"|(\S+)))?/g;

/**
 * The mark in `info`, what follows the language in a fence's info string.
 * @throws Error that says what is missing or not known.
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
