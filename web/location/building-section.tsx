// The building behind the same connection: its load and the remaining capacity as a bar, as figures and as a sentence.

import { kwText } from '../../machines/values/figures.js';
import type { SiteMeterView } from '../../src/wire/site-meter.js';
import { Badge } from '../ui/badge.js';
import { Figure, FigureRow } from './figure-row.js';

const STATE_WORDS: Readonly<Record<string, string>> = {
  FADING: 'reading late',
  STALE: 'meter silent',
  DISTRUSTED: 'meter cannot be right',
};

export function BuildingSection({
  siteMeter,
  actualKw,
}: {
  readonly siteMeter: SiteMeterView | null;
  readonly actualKw: number;
}) {
  if (siteMeter === null) return null;
  const { state, buildingKw, reserveKw, leavesKw, connectionKw, powerKw, explanation } = siteMeter;
  const words = STATE_WORDS[state];
  return (
    <section class="panel stack" aria-label="Building">
      <h2>Building {words !== undefined && <Badge tone="warning">{words}</Badge>}</h2>
      <StackedBar
        parts={[
          { kw: Math.max(0, buildingKw), of: 'building' },
          { kw: reserveKw, of: 'reserve' },
          { kw: actualKw, of: 'chargers' },
        ]}
        wholeKw={connectionKw}
      />
      <FigureRow>
        <Figure name="Building" note="the most it was in the last minute">
          {kwText(buildingKw)}
        </Figure>
        <Figure name="Reserve" note="kept free for it to rise">
          {kwText(reserveKw)}
        </Figure>
        <Figure name="Chargers draw" note={`of ${kwText(leavesKw)} that are left for them`}>
          {kwText(actualKw)}
        </Figure>
        <Figure name="Meter" note={`of the ${kwText(connectionKw)} of the connection`}>
          {powerKw === null ? '–' : kwText(powerKw)}
        </Figure>
      </FigureRow>
      <p class="cause">{explanation}</p>
    </section>
  );
}

interface Part {
  readonly kw: number;
  readonly of: 'building' | 'reserve' | 'chargers';
}

/** Hidden from screen readers, because the figures below carry the same information. */
function StackedBar({ parts, wholeKw }: { readonly parts: readonly Part[]; readonly wholeKw: number }) {
  return (
    <span class="stacked" aria-hidden="true">
      {parts.map(({ kw, of }) => (
        <span
          key={of}
          class={of}
          style={{ flexBasis: `${Math.min(100, (100 * kw) / Math.max(wholeKw, 1e-9))}%` }}
        />
      ))}
    </span>
  );
}
