// Instants in the viewer's time zone, with UTC in the tooltip.
const DAY_AND_TIME = new Intl.DateTimeFormat(undefined, {
  year: 'numeric',
  month: 'short',
  day: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
});
const TIME = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit' });

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
  return (isShort && isOfToday(at) ? TIME : DAY_AND_TIME).format(new Date(at));
}

/** Today in the viewer's zone. */
export function isOfToday(at: string): boolean {
  return new Date(at).toDateString() === new Date().toDateString();
}

export function utcText(at: string): string {
  return `${at.slice(0, 10)} ${at.slice(11, 23)} UTC`;
}
