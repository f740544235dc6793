// Compares the output in a document with the output of its command, and lists the differences.

/** Wildcard for a part of a text, further keys of an object, or further items of an array. */
const ANYTHING = '…';
const INSTANT = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?Z$/;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export interface Comparison {
  /** Any number matches a number, and any word a word. */
  readonly live: boolean;
  /** All commands so far. An instant or id in them must appear unchanged; others differ from run to run. */
  readonly commands: string;
}

/** Differences between `actual` and `shown`, both the text of a JSON value. */
export function differencesOfJson(shown: string, actual: string, comparison: Comparison): readonly string[] {
  const parsed = parseJson(actual);
  if (parsed === undefined) return [`the output is not JSON: ${actual}`];
  return differences('answer', JSON.parse(shown), parsed.value, comparison);
}

function parseJson(text: string): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
}

function differences(at: string, shown: unknown, actual: unknown, comparison: Comparison): string[] {
  if (shown === ANYTHING) return [];
  if (comparison.live && (shown === null || actual === null)) return [];
  const different = [`${at} is ${JSON.stringify(actual)}, shown is ${JSON.stringify(shown)}`];
  if (Array.isArray(shown)) {
    return Array.isArray(actual) ? differencesOfItems(at, shown, actual, comparison) : different;
  }
  if (isObject(shown)) return isObject(actual) ? differencesOfKeys(at, shown, actual, comparison) : different;
  const same = comparison.live ? typeof shown === typeof actual : isSame(shown, actual, comparison);
  return same ? [] : different;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function differencesOfItems(
  at: string,
  shown: readonly unknown[],
  actual: readonly unknown[],
  comparison: Comparison,
): string[] {
  const named = shown.at(-1) === ANYTHING ? shown.slice(0, -1) : shown;
  const fits = named === shown ? actual.length === named.length : actual.length >= named.length;
  if (!fits) return [`${at} has ${actual.length} items, ${named.length} are shown`];
  return named.flatMap((item, index) => differences(`${at}[${index}]`, item, actual[index], comparison));
}

function differencesOfKeys(
  at: string,
  shown: Record<string, unknown>,
  actual: Record<string, unknown>,
  comparison: Comparison,
): string[] {
  const { [ANYTHING]: more, ...named } = shown;
  const unknown = Object.keys(actual).filter((key) => more === undefined && !(key in named));
  return [
    ...unknown.map((key) => `${at}.${key} is not shown`),
    ...Object.entries(named).flatMap(([key, value]) =>
      key in actual
        ? differences(`${at}.${key}`, value, actual[key], comparison)
        : [`${at}.${key} is not there`],
    ),
  ];
}

function isSame(shown: unknown, actual: unknown, { commands }: Comparison): boolean {
  if (typeof shown !== 'string' || typeof actual !== 'string') return shown === actual;
  if (shown.includes(ANYTHING)) return linePattern(shown, false).test(actual);
  for (const kind of [INSTANT, UUID]) {
    if (kind.test(shown) && kind.test(actual)) return shown === actual || !commands.includes(shown);
  }
  return shown === actual;
}

/** Lines of `shown` that `actual` lacks, in the order of `shown`. */
export function differencesOfText(
  shown: string,
  actual: string,
  { live }: Pick<Comparison, 'live'>,
): readonly string[] {
  const lines = actual.split(/\r?\n/);
  let from = 0;
  for (const line of shown.split('\n').filter((text) => text.trim() !== '')) {
    const found = lines.findIndex((text, index) => index >= from && linePattern(line, live).test(text));
    if (found === -1) return [`"${line}" is not (or not there) in the output:\n${actual}`];
    from = found + 1;
  }
  return [];
}

function linePattern(line: string, live: boolean): RegExp {
  const literal = line.trim().replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
  const loose = live ? literal.replaceAll(/\d+(\\\.\d+)?/g, '\\d+(\\.\\d+)?') : literal;
  return new RegExp(`^\\s*${loose.replaceAll(ANYTHING, '.*')}\\s*$`);
}
