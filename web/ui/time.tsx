// Instants in the viewer's time zone, or in another one for the whole page, with UTC in the tooltip.
const FORMS = {
  dayAndTime: {
    year: 'numeric',
    month: 'short',
    day: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
  },
  time: { hour: '2-digit', minute: '2-digit', second: '2-digit' },
  clock: { hour: '2-digit', minute: '2-digit' },
  day: { day: 'numeric', month: 'short' },
} as const satisfies Readonly<Record<string, Intl.DateTimeFormatOptions>>;

const formats = new Map<keyof typeof FORMS, Intl.DateTimeFormat>();
let shownZone: string | undefined;

/** From now on the page shows every instant in this time zone. */
export function showTimesIn(timeZone: string): void {
  shownZone = timeZone;
  formats.clear();
}

export function instantText(form: keyof typeof FORMS, atMs: number): string {
  const held = formats.get(form);
  const format =
    held ??
    new Intl.DateTimeFormat(undefined, {
      ...FORMS[form],
      ...(shownZone === undefined ? {} : { timeZone: shownZone }),
    });
  formats.set(form, format);
  return format.format(atMs);
}

/** A date whose local fields are those of the instant in the shown time zone. */
export function zonedDate(atMs: number, inZone: (date: Date, zone: string) => Date): Date {
  const date = new Date(atMs);
  return shownZone === undefined ? date : inZone(date, shownZone);
}

/** `at` in the form of the contract. With `isShort`, an instant of today is shown without its day. */
export function Time({ at, isShort = false }: { readonly at: string; readonly isShort?: boolean }) {
  return (
    <time dateTime={at} title={utcText(at)}>
      {localText(at, isShort)}
    </time>
  );
}

/** Day and time in the viewer's zone; with `isShort`, an instant of today has no day. */
export function localText(at: string, isShort = false): string {
  return instantText(isShort && isOfToday(at) ? 'time' : 'dayAndTime', Date.parse(at));
}

/** An instant within a sentence of the service; the only group, so that `split` keeps it. */
export const INSTANT = /(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z)/g;

/** `sentence` of the service with its instants in the viewer's zone. */
export function inLocalTime(sentence: string): string {
  return sentence.replace(INSTANT, (at) => localText(at, true));
}

/** Today in the viewer's zone. A page with a time zone of its own shows a run, which has no today. */
export function isOfToday(at: string): boolean {
  return shownZone === undefined && new Date(at).toDateString() === new Date().toDateString();
}

export function utcText(at: string): string {
  return `${at.slice(0, 10)} ${at.slice(11, 23)} UTC`;
}
