// Energy by day as bars, the value of the bar under the pointer, and a summary as text.
import { useState } from 'preact/hooks';
import type { PeriodEnergy } from '../../src/features/energy/contract.js';

const DAY_MS = 86_400_000;
/** Bars of more days touch each other. */
const SPACED_DAYS = 62;

const DAY_TEXT = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short', timeZone: 'UTC' });

interface Day {
  readonly day: string;
  readonly energyKwh: number;
  readonly integratedKwh: number;
}

/** Days are dates of the location, so they have the same names in each zone of a viewer. */
export function DayBars({
  days,
  fromDay,
  toDay,
}: {
  readonly days: readonly PeriodEnergy[];
  readonly fromDay: string;
  /** Excluded. */
  readonly toDay: string;
}) {
  const [pointed, setPointed] = useState<Day>();
  const bars = barsOf(days, fromDay, toDay);
  const most = bars.reduce((before, day) => (day.energyKwh > before.energyKwh ? day : before));
  const totalKwh = bars.reduce((sum, { energyKwh }) => sum + energyKwh, 0);
  const integratedKwh = bars.reduce((sum, day) => sum + day.integratedKwh, 0);
  const middle = bars[Math.floor(bars.length / 2)];
  const marks = [bars[0], bars.length > 2 ? middle : undefined, bars.length > 1 ? bars.at(-1) : undefined];
  return (
    <figure class="chart" aria-label="Energy by day">
      <p class="small quiet day-bars-top" aria-hidden="true">
        {most.energyKwh.toFixed(1)} kWh
      </p>
      <div
        class={bars.length > SPACED_DAYS ? 'day-bars dense' : 'day-bars'}
        aria-hidden="true"
        onPointerLeave={() => setPointed(undefined)}
      >
        {bars.map((bar) => (
          <span key={bar.day} onPointerEnter={() => setPointed(bar)}>
            <span style={{ height: `${(100 * bar.energyKwh) / Math.max(most.energyKwh, 0.001)}%` }} />
          </span>
        ))}
      </div>
      <p class="small quiet day-bars-axis" aria-hidden="true">
        {marks.map((mark) => mark && <span key={mark.day}>{textOf(mark.day)}</span>)}
      </p>
      <p class="readout small quiet" aria-hidden="true">
        {pointed === undefined
          ? 'Point at a bar to read it.'
          : `${textOf(pointed.day)}: ${pointed.energyKwh.toFixed(1)} kWh`}
      </p>
      <figcaption class="small">
        {totalKwh.toFixed(1)} kWh
        {bars.length === 1
          ? ` on ${textOf(most.day)}.`
          : ` in ${bars.length} days, most on ${textOf(most.day)} with ${most.energyKwh.toFixed(1)} kWh.`}
        {integratedKwh > 0 && ` ${integratedKwh.toFixed(1)} kWh of it are from power, without a register.`}
      </figcaption>
    </figure>
  );
}

/** Each day of the span, also without energy. */
function barsOf(days: readonly PeriodEnergy[], fromDay: string, toDay: string): readonly Day[] {
  const known = new Map(days.map((each) => [each.period, each]));
  return Array.from({ length: Math.max(1, daysBetween(fromDay, toDay)) }, (_, nth) => {
    const day = dayAfter(fromDay, nth);
    const { energyKwh = 0, integratedKwh = 0 } = known.get(day) ?? {};
    return { day, energyKwh, integratedKwh };
  });
}

export function daysBetween(fromDay: string, toDay: string): number {
  return (Date.parse(toDay) - Date.parse(fromDay)) / DAY_MS;
}

export function dayAfter(day: string, days = 1): string {
  return new Date(Date.parse(day) + days * DAY_MS).toISOString().slice(0, 10);
}

function textOf(day: string): string {
  return DAY_TEXT.format(Date.parse(day));
}
