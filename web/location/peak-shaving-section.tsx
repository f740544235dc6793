// Peak shaving: the used energy of the billed window as a bar, as figures and as a sentence.

import { kwText } from '../../machines/values/figures.js';
import type { PeakShavingView } from '../../src/wire/peak-shaving.js';
import { localText } from '../ui/time.js';
import { Figure, FigureRow } from './figure-row.js';

export function PeakShavingSection({ peakShaving }: { readonly peakShaving: PeakShavingView | null }) {
  if (peakShaving === null) return null;
  const { limitKw, usedKwh, allowedKwh, leavesKw, windowEndsAt, explanation } = peakShaving;
  const share = Math.min(1, usedKwh / Math.max(allowedKwh, 1e-9));
  return (
    <section class="panel stack" aria-label="Peak shaving">
      <h2>Peak shaving</h2>
      {/* Hidden from screen readers, because the figures below carry the same information. */}
      <span class="stacked" aria-hidden="true">
        <span class="chargers" style={{ flexBasis: `${100 * share}%` }} />
      </span>
      <FigureRow>
        <Figure name="Used" note={`of ${allowedKwh} kWh until ${localText(windowEndsAt)}`}>
          {`${usedKwh} kWh`}
        </Figure>
        <Figure name="Average" note="that the import keeps to">
          {kwText(limitKw)}
        </Figure>
        <Figure name="Left for chargers" note="for the rest of the window">
          {kwText(leavesKw)}
        </Figure>
      </FigureRow>
      <p class="cause">{explanation}</p>
    </section>
  );
}
