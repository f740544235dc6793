// A draw against its limit as a bar; the figures beside it say the same.

const ABOVE_FROM_SHARE = 1.005;

/** `value` of `limit`, both in one unit. Above `redAbove` it is red; screen readers hear the percentage. */
export function MeterBar({
  value,
  limit,
  redAbove = limit,
  isOver = isAbove(value, redAbove),
}: {
  readonly value: number;
  readonly limit: number;
  /** The limit where left out; more where chargers may still be following a lower limit. */
  readonly redAbove?: number;
  /** Red, whatever the value; where left out, the value decides. */
  readonly isOver?: boolean | undefined;
}) {
  const share = shareOf(value, limit);
  return (
    <>
      <span class={isOver ? 'meter over' : 'meter'} aria-hidden="true">
        <span class="fill" style={{ transform: `scaleX(${Math.min(share, 1)})` }} />
      </span>
      <span class="visually-hidden">{Math.round(100 * share)} %</span>
    </>
  );
}

/** How much of `limit` is used: 1 is all of it. */
export function shareOf(value: number, limit: number): number {
  if (limit > 0) return value / limit;
  return value > 0 ? 1 : 0;
}

/** Whether `value` exceeds `limit` by more than a car may for a moment while it follows a new limit. */
export function isAbove(value: number, limit: number): boolean {
  return shareOf(value, limit) > ABOVE_FROM_SHARE;
}
