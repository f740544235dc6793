// Bar that shows a power against its limit; the figures next to it carry the same information.

const ABOVE_FROM_SHARE = 1.005;

/** `value` of `limit`, both in one unit. Above `redAbove` the bar is red; screen readers read the percentage. */
export function MeterBar({
  value,
  limit,
  redAbove = limit,
  isOver = isAbove(value, redAbove),
}: {
  readonly value: number;
  readonly limit: number;
  /** Default: `limit`. Higher while chargers may still follow an older, higher limit. */
  readonly redAbove?: number;
  /** True forces red; if undefined, the value decides. */
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

/** Used share of `limit`; 1 is all of it. */
export function shareOf(value: number, limit: number): number {
  if (limit > 0) return value / limit;
  return value > 0 ? 1 : 0;
}

/** Tolerates the excess of a car that is following a new limit. */
export function isAbove(value: number, limit: number): boolean {
  return shareOf(value, limit) > ABOVE_FROM_SHARE;
}
