// The sums over all locations, in large figures.

import { kw } from '../../machines/values/figures.js';
import type { LocationSummary } from '../../src/wire/operator-locations.js';
import { DrawnKw, estimateText, sumOfEstimates } from '../ui/drawn.js';
import { MeterBar } from '../ui/meter-bar.js';

type Count = 'connectors' | 'lockedConnectors' | 'silentConnectors' | 'openAlarms';

export function Totals({ locations }: { readonly locations: readonly LocationSummary[] }) {
  const sum = (figure: (location: LocationSummary) => number) =>
    locations.reduce((total, location) => total + figure(location), 0);
  const actualKw = sum((location) => location.actualKw);
  const estimatedKw = sumOfEstimates(locations.map((location) => location.estimatedKw));
  const gridLimitKw = sum((location) => location.gridLimitKw);
  const count = (name: Count) => sum((location) => location[name]).toLocaleString();
  return (
    <dl class="totals panel">
      <div class="draw">
        <dt>Drawn now</dt>
        <dd>
          <DrawnKw actualKw={actualKw} estimate={estimateText(estimatedKw)} />{' '}
          <span class="quiet">of {kw(gridLimitKw)} kW</span>
        </dd>
        <dd>
          <MeterBar value={actualKw} limit={gridLimitKw} />
        </dd>
      </div>
      <Total name="Connectors" value={count('connectors')} />
      <Total name="Locked" value={count('lockedConnectors')} />
      <Total name="Silent" value={count('silentConnectors')} />
      <Total name="Alarms" value={count('openAlarms')} />
    </dl>
  );
}

function Total({ name, value }: { readonly name: string; readonly value: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}
