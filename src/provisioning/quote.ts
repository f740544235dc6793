// Text out of a file, which may be anything, as an error shows it.

const LONGEST_QUOTED = 60;
/** What no terminal obeys, and one can read. */
const PLAIN = /^[^\p{Cc}\p{Cf}]*$/u;

function shortened(text: string): string {
  return text.length > LONGEST_QUOTED ? `${text.slice(0, LONGEST_QUOTED)}…` : text;
}

/** In quotes, not too long, and without what a terminal would obey. */
export function quote(text: string): string {
  // JSON leaves DEL and the second set of control characters as they are.
  return JSON.stringify(shortened(text)).replace(/[\u007f-\u009f]/g, '?');
}

/** As it is where that is plain to read, otherwise quoted. */
export function quotedIfOdd(text: string): string {
  return text.length <= LONGEST_QUOTED && PLAIN.test(text) ? text : quote(text);
}
