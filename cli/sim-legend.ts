// What the figures of a run mean, below them and in the help of the command that prints them.
import { LEGEND } from '../sim/report/legend.js';

const WIDTH = 100;

/** Wrapped for a terminal; each word's lines after the first are indented. */
export function legendLines(): readonly string[] {
  return LEGEND.flatMap(([name, meaning]) => wrapped(`${name}: ${meaning}`));
}

function wrapped(text: string): readonly string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + word.length >= WIDTH) {
      lines.push(line);
      line = '   ';
    }
    line += line === '' ? word : ` ${word}`;
  }
  return [...lines, line];
}
