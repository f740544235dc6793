// The text of a mail: a subject with places and events, and one line for each event.
import type { EventRecord } from '../../ports/records.js';
import { toInstant } from '../../wire/instants.js';

const LINES_AT_MOST = 100;
const LONGEST_SUBJECT = 160;
const LONGEST_DETAIL = 300;
const PLACES_NAMED = 2;

/** @param names of locations, by id */
export function mailOf(
  events: readonly EventRecord[],
  names: ReadonlyMap<string, string>,
): { readonly subject: string; readonly text: string } {
  const placeOf = ({ locationId }: EventRecord) =>
    locationId === null ? 'the organization' : (names.get(locationId) ?? locationId);
  const places = [...new Set(events.map(placeOf))];
  const named = places.slice(0, PLACES_NAMED).join(', ');
  const where = places.length > PLACES_NAMED ? `${named} and ${places.length - PLACES_NAMED} more` : named;
  const happened = new Map<string, number>();
  for (const event of events) happened.set(titleOf(event), (happened.get(titleOf(event)) ?? 0) + 1);
  const counted = [...happened].map(([title, count]) => (count === 1 ? title : `${title} (${count})`));
  const lines = events.slice(0, LINES_AT_MOST).map((event) => {
    const { atMs, controllerUuid, connectorId } = event;
    const charger = [controllerUuid, connectorId].filter((id) => id !== null).join(' / ');
    const parts = [toInstant(atMs), placeOf(event), charger, titleOf(event), detailOf(event)];
    return parts
      .filter((part) => part !== '')
      .map(oneLine)
      .join(' | ');
  });
  const rest = events.length - lines.length;
  const afterId = events[lines.length - 1]?.id;
  if (rest > 0) lines.push(`and ${rest} more: GET /v1/events?after=${afterId}`);
  return {
    subject: oneLine(`${where}: ${counted.join(', ')}`).slice(0, LONGEST_SUBJECT),
    text: `${lines.join('\n')}\n`,
  };
}

/** Such as `alarm.began OFFLINE`. */
function titleOf({ type, data }: EventRecord): string {
  return typeof data.kind === 'string' ? `${type} ${data.kind}` : type;
}

function detailOf({ data }: EventRecord): string {
  const text = [data.reason, data.note, data.name, data.state].find((part) => typeof part === 'string');
  return typeof text === 'string' ? text.slice(0, LONGEST_DETAIL) : '';
}

/** A name may have line breaks, which would begin a header or another line of the list. */
function oneLine(text: string): string {
  return text.replace(/[\p{C}\p{Z}]+/gu, ' ').trim();
}
