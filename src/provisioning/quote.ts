// Quotes text of a file, which may contain anything, for error messages.

const LONGEST_QUOTED = 60;
/** No control or format characters, which a terminal would obey or hide. */
const PLAIN = /^[^\p{Cc}\p{Cf}]*$/u;

function shortened(text: string): string {
  return text.length > LONGEST_QUOTED ? `${text.slice(0, LONGEST_QUOTED)}…` : text;
}

/** In quotes, shortened, and without characters that a terminal would obey. */
export function quote(text: string): string {
  // JSON leaves DEL and the second set of control characters as they are.
  return JSON.stringify(shortened(text)).replace(/[\u007f-\u009f]/g, '?');
}

/** Plain text as it is, otherwise quoted. */
export function quotedIfOdd(text: string): string {
  return text.length <= LONGEST_QUOTED && PLAIN.test(text) ? text : quote(text);
}
