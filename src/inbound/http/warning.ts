// The header of a success that its caller should think about once more (RFC 7234 section 5.5).
import type { Headers } from './refusal.js';

const LONGEST = 600;

/** `Warning: 199 headroom "text"`: in printable ASCII, cut where it is too long for the headers of a proxy. */
export function warning(text: string): Headers {
  const printable = text.replace(/[^ -~]/g, '?');
  const cut = printable.length > LONGEST ? `${printable.slice(0, LONGEST - 3)}...` : printable;
  return { warning: `199 headroom "${cut.replace(/["\\]/g, '\\$&')}"` };
}
