// A draw against its limit as a bar; the figures beside it say the same.

/** `value` of `limit`, both in one unit. Above the limit it is coloured so, and screen readers hear the percentage. */
export function MeterBar({ value, limit }: { readonly value: number; readonly limit: number }) {
  const share = shareOf(value, limit);
  const level = share > 1.005 ? 'over' : share > 0.9 ? 'near' : 'under';
  return (
    <>
      <span class={`meter ${level}`} aria-hidden="true">
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
