// Random draws of an attack from its seed: numbers, choices, and values that an honest sender would not write.
import { uniformInt } from 'pure-rand/distribution/uniformInt';
import { mersenne } from 'pure-rand/generator/mersenne';
import type { RandomGenerator } from 'pure-rand/types/RandomGenerator';

/** JSON texts of values: wrong types, numbers beyond the range of a double, texts with NUL, deep and huge values. */
const HOSTILE_VALUES = [
  ...['null', 'true', '""', '"x"', '[]', '{}', '-1', '-0', '0', '1e999', '-1e999', '1e-999'],
  ...['9007199254740993', '0.1e1', 'NaN', '01', '"\\u0000"', '"\\ud800"', '"\u0000"', '[[[]]]'],
  ...['"2026-13-45T99:99:99Z"', '"0001-01-01T00:00:00Z"', '{"__proto__":{"x":1}}', '{"toString":1}'],
  `${'['.repeat(2_000)}${']'.repeat(2_000)}`,
  `"${'x'.repeat(20_000)}"`,
  `"${'ä'.repeat(3_000)}"`,
];

/** Path segments, topic levels and names that do not exist. */
const HOSTILE_NAMES = [
  ...['%zz', '%', '%00', '%2e%2e%2f', '..', '.', '%ff%fe', "'%20or%201=1--", '%0d%0aX:1', '__proto__', '*'],
  ...[
    'constructor',
    '+',
    '#',
    '%F0%9F%94%8C',
    '%ED%A0%80',
    '~',
    '-1',
    '1e999',
    '{locationId}',
    'a'.repeat(3_000),
  ],
];

export class Dice {
  readonly #rng: RandomGenerator;

  constructor(seed: number) {
    this.#rng = mersenne(seed);
  }

  /** A whole number from 0 to `bound` less one. */
  below(bound: number): number {
    return uniformInt(this.#rng, 0, bound - 1);
  }

  isOneIn(count: number): boolean {
    return this.below(count) === 0;
  }

  pick<T>(choices: readonly T[]): T {
    const chosen = choices[this.below(choices.length)];
    if (chosen === undefined) throw new Error('nothing to choose from');
    return chosen;
  }

  bytes(count: number): Buffer {
    return Buffer.from(Array.from({ length: count }, () => this.below(256)));
  }

  name(): string {
    return this.pick(HOSTILE_NAMES);
  }

  /** `body` as JSON with one mistake; one in eight has none. */
  json(body: object): string {
    const fields = Object.entries(body).map(([name, value]): [string, string] => [
      JSON.stringify(name),
      JSON.stringify(value),
    ]);
    const text = (of: readonly (readonly [string, string])[]) =>
      `{${of.map(([name, value]) => `${name}:${value}`).join(',')}}`;
    const at = this.below(Math.max(1, fields.length));
    const wrong = this.pick(HOSTILE_VALUES);
    switch (this.below(8)) {
      case 0:
        return text(fields);
      case 1:
        return text(fields.filter((_, i) => i !== at));
      case 2:
        return text([...fields, ['"more"', wrong]]);
      case 3:
        // A duplicate name.
        return text([...fields, [fields[at]?.[0] ?? '"a"', wrong]]);
      case 4:
        return text(fields).slice(0, this.below(text(fields).length));
      case 5:
        return wrong;
      default:
        return text(fields.map(([name, value], i) => [name, i === at ? wrong : value]));
    }
  }

  /** The same bytes, of which up to three are replaced. */
  flipped(bytes: Buffer): Buffer {
    const broken = Buffer.from(bytes);
    if (broken.length === 0) return broken;
    for (let i = 0; i <= this.below(3); i++) broken[this.below(broken.length)] = this.below(256);
    return broken;
  }
}
