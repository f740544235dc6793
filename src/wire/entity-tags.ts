// Entity tags (RFC 9110 section 8.8.3), and the precondition `If-Match` (section 13.1.1).
import { DomainError } from '../../machines/values/errors.js';

/** A strong tag of these values: other values have another tag. */
export function entityTagOf(...values: readonly unknown[]): string {
  return `"${hashOf(JSON.stringify(values))}"`;
}

/** 64 bits in base 36: cyrb53 by bryc, with all bits of both halves. */
function hashOf(text: string): string {
  let [high, low] = [0xdeadbeef, 0x41c6ce57];
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    high = Math.imul(high ^ unit, 0x9e3779b1);
    low = Math.imul(low ^ unit, 0x5f356495);
  }
  const mixed = (one: number, other: number) =>
    (Math.imul(one ^ (one >>> 16), 0x85ebca6b) ^ Math.imul(other ^ (other >>> 13), 0xc2b2ae35)) >>> 0;
  return [mixed(high, low), mixed(low, high)].map((half) => half.toString(36)).join('-');
}

const TAG = '(?:W/)?"[!#-~\\x80-\\xff]*"';
const LIST = new RegExp(`^(?:\\*|${TAG}(?:[ \\t]*,[ \\t]*${TAG})*)$`);
const TAGS = /(?:W\/)?"[^"]*"/g;

/**
 * A weak tag matches nothing.
 * @param ifMatch the header; without it nothing is required
 * @param noun of the thing that the tag belongs to
 * @throws DomainError PRECONDITION_FAILED, or INVALID_REQUEST_BODY for a header that is no list of tags
 */
export function requireMatch(ifMatch: string | undefined, entityTag: string, noun: string): void {
  if (ifMatch === undefined) return;
  const given = ifMatch.trim();
  if (!LIST.test(given))
    throw new DomainError(
      'INVALID_REQUEST_BODY',
      'If-Match: must be the ETag of an answer, with its quotes, or a list of such, or *',
    );
  if (given === '*' || given.match(TAGS)?.includes(entityTag) === true) return;
  throw new DomainError(
    'PRECONDITION_FAILED',
    `If-Match: the ${noun} has changed since that ETag; read it again, and send the change with its new ETag.`,
  );
}
