// Instants in the viewer's time zone, with UTC where the pointer rests.
const DAY_AND_TIME = new Intl.DateTimeFormat(undefined, {
  year: 'numeric',
  month: 'short',
  day: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
});
const TIME = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit' });

/** `at` as the contract writes it. Today's instants are shown without their day where `isShort`. */
export function Time({ at, isShort = false }: { readonly at: string; readonly isShort?: boolean }) {
  return (
    <time dateTime={at} title={utcText(at)}>
      {localText(at, isShort)}
    </time>
  );
}

/** Day and time in the viewer's zone, or the time alone where `isShort` and the day is today. */
export function localText(at: string, isShort = false): string {
  return (isShort && isOfToday(at) ? TIME : DAY_AND_TIME).format(new Date(at));
}

/** Whether `at` is of the day it is now in the viewer's zone. */
export function isOfToday(at: string): boolean {
  return new Date(at).toDateString() === new Date().toDateString();
}

export function utcText(at: string): string {
  return `${at.slice(0, 10)} ${at.slice(11, 23)} UTC`;
}
