// Explanations of the figures of a run, for its output and for the help of the command.
import { LEGEND } from '../sim/report/legend.js';

const WIDTH = 100;

/** Wrapped for a terminal; continuation lines of a term are indented. */
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
